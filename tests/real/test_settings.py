"""What plays set on a host: nothing before its former value is written down, nothing twice, and `restore` undoes it."""

import base64
import os
from pathlib import Path

import pytest

from tests.support.settings_fixtures import Ask, Modules, Programs, saved


def test_a_value_is_set_once_and_comes_back(tmp_path: Path, shared: Modules, ask: Ask, restore: Ask) -> None:
    choice, number = tmp_path / "choice", tmp_path / "number"
    choice.write_text("always\n")
    number.write_text("4096 131072\t6291456\n")
    settings = (
        {"kind": "sysfs", "name": str(choice), "value": "never", "why": "a source says so"},
        {"kind": "sysfs", "name": str(number), "value": "4096 4096 9000000", "at_least": True},
    )
    dry = ask(*settings, check_mode=True)
    assert (choice.read_text(), saved(shared)) == ("always\n", [])
    assert dry["advice"][0] == f"sysfs {choice}: always → never: a source says so"
    first = ask(*settings)
    assert dry["diff"] == first["diff"] == {
        "before": f"sysfs {choice}: always\nsysfs {number}: 4096 131072 6291456\n",
        "after": f"sysfs {choice}: never\nsysfs {number}: 4096 131072 9000000\n",
    }  # fmt: skip
    assert (choice.read_text(), number.read_text()) == ("never", "4096 131072 9000000")
    assert saved(shared) == [(str(choice), "always"), (str(number), "4096 131072 6291456")]
    again = ask(*settings)
    assert (first["changed"], again["changed"]) == (True, False)
    assert restore(check_mode=True)["changed"] is True
    assert choice.read_text() == "never"
    done = restore()
    assert done["restored"] == [f"sysfs {number}", f"sysfs {choice}"]  # the last one first
    assert (choice.read_text(), number.read_text()) == ("always", "4096 131072 6291456")
    assert not shared["state"].FOLDER.exists()
    assert restore()["changed"] is False


def test_what_another_module_changes_is_written_down(tmp_path: Path, shared: Modules, ask: Ask, restore: Ask) -> None:
    """A file that is not there yet, and one that is."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("before")
    settings = [{"kind": "path", "name": str(path)} for path in (new, old)]
    assert ask(*settings)["changed"] is False
    for path in (new, old):
        path.write_text("after")
    assert restore()["restored"] == [f"path {old}", f"path {new}"]
    assert (new.exists(), old.read_text()) == (False, "before")


def test_what_a_host_does_not_have_or_keep_is_said(tmp_path: Path, shared: Modules, ask: Ask) -> None:
    missing = {"kind": "sysctl", "name": "net.ipv4.tcp_no_such_setting", "value": "1"}
    deaf = {"kind": "sysfs", "name": "/dev/null", "value": "1"}
    folder = {"kind": "sysfs", "name": str(tmp_path), "value": "1"}
    told = ask(missing, deaf, folder)
    assert (told["failed"], told["changed"]) == (False, False)
    assert told["unavailable"] == [
        "net.ipv4.tcp_no_such_setting: No such file or directory",
        "/dev/null stays  though 1 was set",
        f"{tmp_path}: Is a directory",
    ]
    told = ask(missing, {**deaf, "required": True})
    assert (told["failed"], told["msg"]) == (True, "/dev/null stays  though 1 was set")


OFFLOADS = (
    "Features for eth7:\ntcp-segmentation-offload: {}\ngeneric-receive-offload: on\nrx-vlan-offload: on [fixed]\n"
)


def test_of_a_nic_only_what_differs_is_set(programs: Programs, shared: Modules, ask: Ask, restore: Ask) -> None:
    programs.said["ethtool -k eth7"] = OFFLOADS.format("off")
    values = {"tcp-segmentation-offload": "on", "generic-receive-offload": "on"}
    item = {"kind": "offload", "name": "eth7", "value": values}
    told = ask(item)
    assert programs.changes("ethtool -K") == ["ethtool -K eth7 tcp-segmentation-offload on"]
    assert told["unavailable"][0].startswith("eth7 stays ")  # this driver says yes, and does not do it
    programs.said["ethtool -k eth7"] = OFFLOADS.format("on")
    assert ask(item)["changed"] is False
    assert saved(shared) == [("eth7", {"tcp-segmentation-offload": "off", "generic-receive-offload": "on"})]
    told = ask({**item, "value": {"rx-vlan-offload": "off"}})
    assert told["unavailable"] == ["eth7: this driver has no rx-vlan-offload to set"]
    programs.changes()
    assert restore()["restored"] == ["offload eth7"]
    assert programs.changes("ethtool -K") == ["ethtool -K eth7 tcp-segmentation-offload off"]


def test_each_part_is_set_on_its_own_where_one_cannot_be(programs: Programs, shared: Modules, ask: Ask) -> None:
    """One is fixed, one is refused by the driver; the others are set, and only those are saved."""
    one, two = "ethtool -K eth7 tcp-segmentation-offload on", "ethtool -K eth7 generic-receive-offload on"
    shown = "Features for eth7:\ntcp-segmentation-offload: {}\n"
    shown += "generic-receive-offload: off\nlarge-receive-offload: on [fixed]\n"
    programs.said["ethtool -k eth7"] = shown.format("off")
    programs.broken |= {"ethtool -K eth7 tcp-segmentation-offload on generic-receive-offload on", two}
    programs.then = {one: {"ethtool -k eth7": shown.format("on")}}
    values = {"tcp-segmentation-offload": "on", "generic-receive-offload": "on", "large-receive-offload": "off"}
    item = {"kind": "offload", "name": "eth7", "value": values}
    told = ask(item)
    assert told["changed"] is True
    assert told["diff"]["after"] == "offload eth7: generic-receive-offload off, tcp-segmentation-offload on\n"
    assert told["unavailable"] == ["eth7: this driver has no large-receive-offload to set", f"{two}: not supported"]
    former = {"tcp-segmentation-offload": "off", "generic-receive-offload": "off"}
    assert saved(shared) == [("eth7", former)]
    programs.changes()
    # What was refused is known, and would not be a change: so `attempt` sees whether all that can be is in force.
    told = ask(item, check_mode=True)
    assert (told["changed"], told["unavailable"][1]) == (False, f"{two}: not supported")
    programs.said["ethtool -k eth7"] = shown.format("off")
    assert ask(item, check_mode=True)["changed"] is True


def test_a_change_that_fails_half_way_is_undone(programs: Programs, ask: Ask) -> None:
    programs.said["ethtool -k eth7"] = OFFLOADS.format("off")
    programs.broken.add("ethtool -K")
    told = ask({"kind": "offload", "name": "eth7", "value": {"tcp-segmentation-offload": "on"}, "required": True})
    assert told["msg"] == "ethtool -K eth7 tcp-segmentation-offload on: not supported"
    assert len([line for line in programs.asked if line.startswith("ethtool -k")]) > 2  # it looked again to undo it


def test_a_nic_that_has_nothing_to_set_or_is_gone(programs: Programs, shared: Modules, ask: Ask, restore: Ask) -> None:
    programs.said["ethtool -k eth7"] = "Features for eth7:\n"
    item = {"kind": "offload", "name": "eth7", "value": {"tcp-segmentation-offload": "on"}}
    assert ask(item)["unavailable"] == ["eth7: ethtool -k shows nothing to set"]
    programs.said["ethtool -k eth7"] = OFFLOADS.format("off")
    ask(item)
    programs.broken.add("ethtool -k")
    assert restore()["restored"] == ["offload eth7"]
    assert not shared["state"].FOLDER.exists()


def test_a_tree_of_qdiscs_is_replaced_root_first_and_known_again(programs: Programs, ask: Ask, restore: Ask) -> None:
    """tc shows other units than it was given: what it showed once is what it will show."""
    wanted = ["root handle 1: netem limit 1000 delay 132000us", "parent 1:1 handle 2: tbf rate 100000000bit burst 9040"]
    item = {"kind": "qdisc", "name": "eth7", "value": wanted}
    show, none = "tc qdisc show dev eth7", "qdisc noqueue 0: root refcnt 2"
    netem = "qdisc netem 1: root refcnt 2 limit 1000 delay 132ms"
    programs.then = {"tc qdisc add": {show: netem}, "tc qdisc del": {show: none}}
    programs.said[show] = none
    ask(item)
    added = [f"tc qdisc add dev eth7 {line}" for line in wanted]
    assert programs.changes("tc qdisc del", "tc qdisc add") == added
    assert ask(item)["changed"] is False
    programs.said[show] = netem.replace("132", "131")  # somebody changed it since
    assert ask(item)["changed"] is True
    assert programs.changes("tc qdisc del", "tc qdisc add") == ["tc qdisc del dev eth7 root", *added]
    assert restore()["restored"] == ["qdisc eth7"]
    assert programs.changes("tc qdisc del", "tc qdisc add") == ["tc qdisc del dev eth7 root"]


@pytest.mark.parametrize(("queues", "root"), [(1, []), (3, ["root handle 1: mq"])])
def test_fq_is_below_mq_where_there_are_several_queues(  # noqa: PLR0917
    programs: Programs,
    shared: Modules,
    ask: Ask,
    restore: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    queues: int,
    root: list[str],
) -> None:
    """One root fq would be one lock for all transmit queues. And a tree of mq that was there comes back."""
    for number in range(queues):
        (tmp_path / "eth7" / "queues" / f"tx-{number}").mkdir(parents=True)
    monkeypatch.setattr(shared["kinds"], "Path", lambda *parts: Path(tmp_path, *parts[1:]))
    before = (
        "qdisc mq 8001: root \nqdisc fq_codel 0: parent 8001:2 limit 10240p\nqdisc fq 8002: parent 8001:1 limit 10p"
    )
    programs.said["tc qdisc show dev eth7"] = before if root else "qdisc fq 8002: root refcnt 2 limit 10p"
    item = {"kind": "qdisc", "name": "eth7", "value": ["each queue: fq limit 100000"]}
    ask(item)
    below = [f"parent 1:{number} handle 100{number}: fq limit 100000" for number in range(1, queues + 1)]
    expected = [*root, *(below if root else ["root handle 1: fq limit 100000"])]
    assert programs.changes("tc qdisc add") == [f"tc qdisc add dev eth7 {line}" for line in expected]
    programs.said["tc qdisc show dev eth7"] = "qdisc fq 1: root refcnt 2 limit 100000p"
    restore()
    former = ["root handle 8001: mq", "parent 8001:1 handle 8002: fq limit 10p"]
    former = former if root else ["root handle 8002: fq limit 10p"]
    assert programs.changes("tc qdisc add") == [f"tc qdisc add dev eth7 {line}" for line in former]


def test_what_could_not_be_put_back_is_not_touched(programs: Programs, shared: Modules, ask: Ask) -> None:
    programs.said["tc qdisc show dev eth7"] = "qdisc htb 1: root refcnt 2 r2q 10 default 0x1"
    told = ask({"kind": "qdisc", "name": "eth7", "value": ["root handle 1: fq"]})
    assert told["failed"] is True
    assert "Remedy: tc qdisc del dev eth7 root" in told["msg"]
    assert programs.changes("tc qdisc del", "tc qdisc add") == []
    assert saved(shared) == []


def test_what_cannot_be_put_back_now_stays_written_down(
    tmp_path: Path, shared: Modules, ask: Ask, restore: Ask
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("before")
    ask(*({"kind": "sysfs", "name": str(tmp_path / name), "value": "after"} for name in ("one", "two")))
    (tmp_path / "two").unlink()
    (tmp_path / "two").mkdir()
    told = restore()
    assert told["failed"] is True
    assert f"sysfs {tmp_path / 'two'}: {tmp_path / 'two'}: Is a directory" in told["msg"]
    assert told["restored"] == [f"sysfs {tmp_path / 'one'}"]
    assert (tmp_path / "one").read_text() == "before"
    assert saved(shared) == [(str(tmp_path / "two"), "before")]
    (tmp_path / "two").rmdir()
    (tmp_path / "two").write_text("after")
    assert restore("shape")["changed"] is False  # of another role
    assert restore("tune", "shape")["restored"] == [f"sysfs {tmp_path / 'two'}"]


def test_an_attempt_that_nobody_has_a_copy_of_stays(tmp_path: Path, ask: Ask, restore: Ask) -> None:
    """Nothing of the engine is removed before it is collected."""
    attempts, number = tmp_path / "attempts", tmp_path / "number"
    number.write_text("1")
    ask({"kind": "path", "name": str(attempts)}, {"kind": "sysfs", "name": str(number), "value": "9"})
    for name, files in {
        "first": ["send.log"],
        "second": ["receive.log", "collected"],
        "unbegun": ["seen.json"],
    }.items():
        (attempts / name).mkdir(parents=True)
        for file in files:
            (attempts / name / file).touch()
    for check_mode in (True, False):
        told = restore(check_mode=check_mode)
        assert told["failed"] is True
        assert told["msg"].startswith("not collected: first. Nothing was removed. Remedy: landspeed real collect ")
        assert (number.read_text(), (attempts / "first" / "send.log").exists()) == ("9", True)
    (attempts / "first" / "collected").touch()
    assert restore()["restored"] == [f"sysfs {number}", f"path {attempts}"]


def test_what_a_reboot_undid_is_not_put_back(  # noqa: PLR0917
    tmp_path: Path, shared: Modules, ask: Ask, restore: Ask, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it numbers of interrupts are of other devices, and sysctls what /etc/sysctl.d says by then."""
    boot, irq, file = tmp_path / "boot_id", tmp_path / "smp_affinity", tmp_path / "file"
    boot.write_text("one\n")
    monkeypatch.setattr(shared["state"], "BOOT_ID", boot)
    irq.write_text("1")
    affinity = {"kind": "cpumask", "name": str(irq), "value": "2"}
    qdisc = {"kind": "qdisc", "name": "eth7", "value": ["root handle 1: fq"]}
    programs.then = {"tc qdisc add": {"tc qdisc show dev eth7": "qdisc fq 1: root refcnt 2 limit 10p"}}
    ask(affinity, qdisc, {"kind": "path", "name": str(file)})
    file.write_text("ours")
    boot.write_text("two\n")
    irq.write_text("8")  # of another device
    programs.said["tc qdisc show dev eth7"] = ""
    assert ask(affinity, qdisc, check_mode=True)["changed"] is True  # nothing of it is in force
    told = restore()
    assert (told["restored"], file.exists()) == ([f"path {file}"], False)
    assert told["forgotten"] == [f"cpumask {irq}", "qdisc eth7"]
    assert irq.read_text() == "8"
    assert not shared["state"].FOLDER.exists()


def test_what_is_set_again_after_a_reboot_comes_back_to_the_value_of_then(
    tmp_path: Path, shared: Modules, ask: Ask, restore: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot, number = tmp_path / "boot_id", tmp_path / "number"
    monkeypatch.setattr(shared["state"], "BOOT_ID", boot)
    for name, value in (("one", "1"), ("two", "7")):
        boot.write_text(name)
        number.write_text(value)
        ask({"kind": "sysfs", "name": str(number), "value": "9"})
    restore()
    assert number.read_text() == "7"


def test_what_lasts_beyond_a_boot_is_on_the_disk_and_is_put_back_after_one(  # noqa: PLR0917
    tmp_path: Path, shared: Modules, ask: Ask, restore: Ask, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files for sysctl.d, systemd and udev, made once; after a boot the former values come back all the same."""
    boot, number = tmp_path / "boot_id", tmp_path / "number"
    monkeypatch.setattr(shared["state"], "BOOT_ID", boot)
    boot.write_text("one")
    number.write_text("1")
    files = {name: tmp_path / name.lower() for name in ("SYSCTLS", "UNIT_FILE", "RULES")}
    for name, file in files.items():
        monkeypatch.setattr(shared["persistent"], name, str(file))
    monkeypatch.setattr(shared["kinds"].PathSetting, "wanted", _as_the_tests_user)
    enabled, disabled = (
        f"LoadState=loaded\nActiveState=inactive\nUnitFileState={each}\n" for each in ("enabled", "disabled")
    )
    programs.said |= {"systemctl show": disabled, "ethtool -k": OFFLOADS.format("off")}
    programs.then = {
        "systemctl enable": {"systemctl show": enabled},
        "systemctl disable": {"systemctl show": disabled},
        "ethtool -K": {"ethtool -k": OFFLOADS.format("on")},
    }
    sack = Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    settings = (
        {"kind": "sysfs", "name": str(number), "value": "9"},
        {"kind": "sysctl", "name": "net.ipv4.tcp_sack", "value": sack},
        {"kind": "sysctl", "name": "net.no_such", "value": "1"},
        {"kind": "offload", "name": "eth7", "value": {"tcp-segmentation-offload": "on"}},
    )
    there = programs.said["systemctl show"]
    programs.said["systemctl show"] = (
        "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"  # before its file is
    )
    dry = ask(*settings, check_mode=True, persistent=True)
    assert (dry["failed"], len(dry["advice"])) == (False, 5) and not any(file.exists() for file in files.values())
    programs.said["systemctl show"] = there
    assert ask(*settings, persistent=True)["changed"] is True
    assert programs.changes("systemctl enable") == ["systemctl enable --quiet landspeed-tune.service"]
    assert files["SYSCTLS"].read_text().splitlines()[1:] == ["-net.ipv4.tcp_sack = " + sack]
    assert files["UNIT_FILE"].read_text().splitlines()[7:9] == [
        f'ExecStart=-sh -c "echo 9 >{number}"',
        "ExecStart=-ethtool -K eth7 tcp-segmentation-offload on",
    ]
    assert ask(*settings, persistent=True)["changed"] is False
    boot.write_text("two")  # and the unit has set again what it sets
    told = restore()
    assert told["forgotten"] == []
    assert told["restored"][0] == "unit landspeed-tune.service" and len(told["restored"]) == 6
    assert number.read_text() == "1"
    assert programs.changes("systemctl disable", "ethtool -K") == [
        "systemctl disable --quiet landspeed-tune.service",
        "ethtool -K eth7 tcp-segmentation-offload off",
    ]
    assert not any(file.exists() for file in files.values())
    assert not shared["state"].FOLDER.exists()


def _as_the_tests_user(_: object, name: str, value: dict[str, str]) -> dict[str, object]:
    content = base64.b64encode(value["text"].encode()).decode()
    return {"content": content, "mode": int(value["mode"], 8), "uid": os.getuid(), "gid": os.getgid()}


@pytest.mark.parametrize(
    ("kind", "value", "command"),
    [
        ("mtu", "9000", "ip link set dev eth7 mtu 9000"),
        ("ring", {"rx": "8192"}, "ethtool -G eth7 rx 8192"),
        ("pause", {"rx": "on", "tx": "on"}, "ethtool -A eth7 rx on"),
        ("link_sizes", {"gso_max_size": "150000"}, "ip link set dev eth7 gso_max_size 150000"),
        ("qdisc", ["root handle 1: fq limit 10"], "tc qdisc replace dev eth7 root handle 1: fq limit 10"),
    ],
)
def test_the_unit_says_it_as_the_setting_does(shared: Modules, kind: str, value: object, command: str) -> None:
    files = shared["persistent"].lasting_files([(kind, "eth7", value)])
    assert f"ExecStart=-{command}\n" in files[shared["persistent"].UNIT_FILE]


def test_an_interrupt_is_found_anew_and_a_table_is_one_line(shared: Modules) -> None:
    table = ["table inet t {", "  chain c {", "    type filter hook output priority raw; policy accept;", "  }", "}"]
    files = shared["persistent"].lasting_files([("irq", "eth7 2", "100"), ("nft_table", "inet t", table)])
    first, second = [line for line in files[shared["persistent"].UNIT_FILE].splitlines() if line.startswith("Exec")]
    assert first == (
        'ExecStart=-sh -c "echo 100 >/proc/irq/$$(ls /sys/class/net/eth7/device/msi_irqs | sort -n | sed -n 3p)'
        '/smp_affinity"'
    )
    assert second == (
        'ExecStart=-nft "table inet t; delete table inet t; table inet t { chain c { '
        'type filter hook output priority raw; policy accept; }; };"'
    )
