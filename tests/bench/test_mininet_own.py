"""The table of Mininet's own tests: what unittest says is read right."""

from pathlib import Path

from tests.bench.mininet_own import OwnTest, results, row

SAID = """testBasic (__main__.testWalkthrough.testBasic)
Test basic CLI commands (help, nodes, net, dump) ... ok
testRemoteController (__main__.testWalkthrough.testRemoteController)
Test Mininet using Pox controller ... skipped 'Github is not reachable; cannot download Pox'
testPing (__main__.testNets.testPing) ... *** Creating network
*** Done
ok
testSwitches (__main__.testWalkthrough.testSwitches)
Run iperf test using user and ovsk switches ... ERROR
testLink (__main__.testWalkthrough.testLink) ... FAIL
"""


def test_each_test_has_its_result() -> None:
    skipped = "skipped 'Github is not reachable; cannot download Pox'"
    assert results(SAID) == [
        OwnTest("testBasic", "ok", "testWalkthrough.testBasic"),
        OwnTest("testRemoteController", skipped, "testWalkthrough.testRemoteController"),
        OwnTest("testPing", "ok", "testNets.testPing"),
        OwnTest("testSwitches", "ERROR", "testWalkthrough.testSwitches"),
        OwnTest("testLink", "FAIL", "testWalkthrough.testLink"),
    ]
    told, fine = row(Path("mininet/test/test_walkthrough.py"), results(SAID))
    assert told == (
        "| mininet: walkthrough | 2 of 4 | `testSwitches`: its program, the reference user switch, is in no "
        "distribution; `testLink`: FAIL; 1 skipped by themselves: Github is not reachable; cannot download Pox |"
    )
    assert not fine  # testLink has no reason
    assert row(Path("mininet/test/test_nets.py"), results("ImportError: cannot import name"))[1] is False
