"""`landspeed mn`: Mininet scripts as they are, in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from landspeed.cli.main import split_program
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.emu.script_net import as_scenario, explained
from tests.support.command import landspeed


@pytest.mark.parametrize(
    ("words", "own", "scripts"),
    [
        ("mn lab.py --seed 3 -v", "mn", "lab.py --seed 3 -v"),
        ("mn --seed 3 lab.py a", "mn --seed 3", "lab.py a"),
        ("mn --seed=3 --quiet lab.py", "mn --seed=3 --quiet", "lab.py"),
        ("mn --topo tree,2 --test pingall", "mn", "--topo tree,2 --test pingall"),
        ("-v mn --memory 2GiB -- --seed 3", "-v mn --memory 2GiB", "--seed 3"),
        ("mn --help", "mn --help", ""),
    ],
)
def test_words_from_the_first_foreign_one_on_are_the_scripts(words: str, own: str, scripts: str) -> None:
    assert split_program(words.split()) == (own.split(), scripts.split())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "no script given; write one, as in: landspeed mn lab.py"),
        (("nowhere.py",), "nowhere.py: no such file; write a Mininet script's path, or options of mn"),
        (("--line", "fast", "--test", "none"), "--line fast: "),
        (("--as-scenario", str(Path(__file__)), "--test", "none"), "it is there already; write another name"),
    ],
)
def test_bad_words_are_told_before_anything_starts(words: tuple[str, ...], complaint: str) -> None:
    done = landspeed("mn", *words)
    assert done.returncode == 2
    assert complaint in done.stderr


def end(node: str, interface: str, limit: int, delay_s: float, rate: str) -> dict[str, object]:
    """One end of a link as tc tells it, of a TCLink of Mininet."""
    netem = {"kind": "netem", "options": {"limit": limit, "delay": {"delay": delay_s, "jitter": 0}}}
    htb = f"class htb 5:1 root leaf 10: prio 0 rate {rate} ceil {rate} burst 15Kb cburst 1600b "
    return {"node": node, "interface": interface, "qdiscs": [{"kind": "htb"}, netem], "classes": [htb]}


NET = {
    "hosts": ["h1", "h2"],
    "switches": ["s1"],
    "links": [
        {"ends": [end("h1", "h1-eth0", 1000, 0.05, "1Gbit"), end("s1", "s1-eth1", 1000, 0.05, "1Gbit")]},
        {
            "ends": [
                {"node": "h2", "interface": "h2-eth0", "qdiscs": [], "classes": []},
                end("s1", "s1-eth2", 100, 0.01, "10Mbit"),
            ]
        },
    ],
}


def test_a_net_is_explained_with_what_is_odd_about_it() -> None:
    told = "\n".join(explained(NET))
    assert "h1 → s1 (h1-eth0): htb 1.000 Gbit/s, burst 15360 B; netem: delay 50.000 ms, at most 1000 packets" in told
    # 1 Gbit/s × 50 ms / 1514 B = 4128 packets on their way
    assert "netem holds 1000 packets, and 4128 are on their way at the full rate: max_queue_size=8256" in told
    assert "15360 B in a burst pass at once" in told
    assert "h2 → s1 (h2-eth0): no queue, no line" in told
    # 50 + 50 + 10 + 0 ms; 10 Mbit/s × 110 ms / 8
    assert "h1 to h2: round-trip time 110.000 ms by the delays alone, slowest line 10.00 Mbit/s, BDP 137500 B" in told


def test_a_net_becomes_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(as_scenario(NET, "lab"))
    links = load_scenario(file).scenario.all_links
    assert [link.one_way_delay for link in links] == [50_000_000, 0]
    assert [link.line_rate for link in links] == [10**9, 10**11]
    assert links[1].reverse is not None
    assert (links[1].reverse.one_way_delay, links[1].reverse.line_rate) == (10_000_000, 10_000_000)
    # 100 packets of 1514 B, less the 12.5 kB that are on their way
    assert links[1].reverse.queue is not None
    assert links[1].reverse.queue.bytes == 138_900
