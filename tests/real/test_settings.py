"""What plays set on a host: nothing before its former value is written down, nothing twice, and `restore` undoes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import play_modules

Modules = dict[str, ModuleType]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """What the plays' modules share, with the state's folder here."""
    modules = play_modules.shared(monkeypatch)
    monkeypatch.setattr(modules["state"], "FOLDER", tmp_path / "landspeed")
    monkeypatch.setattr(modules["state"], "STATE", tmp_path / "landspeed" / "state" / "state.json")
    return modules


@pytest.fixture
def ask(shared: Modules, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Asks for settings, in the name of the role `tune`."""
    module = play_modules.library("landspeed_settings", monkeypatch)

    def call(*settings: dict[str, Any], check_mode: bool = False) -> dict[str, Any]:
        return play_modules.call(module, monkeypatch, check_mode=check_mode, role="tune", settings=list(settings))

    return call


@pytest.fixture
def restore(tmp_path: Path, shared: Modules, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Puts former values back."""
    module = play_modules.library("landspeed_restore", monkeypatch)

    def call(*roles: str, check_mode: bool = False) -> dict[str, Any]:
        attempts = str(tmp_path / "attempts")
        return play_modules.call(module, monkeypatch, check_mode=check_mode, roles=list(roles), attempts=attempts)

    return call


def saved(shared: Modules) -> list[tuple[str, Any]]:
    """Names and former values in the state file."""
    state: Path = shared["state"].STATE
    entries = json.loads(state.read_text())["entries"] if state.exists() else []
    return [(entry["name"], entry["former"]) for entry in entries]


Ask = Callable[..., dict[str, Any]]


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


class Programs:
    """ethtool, tc, systemctl and others of a host: what each says, and what was asked of it."""

    def __init__(self, unavailable: type[Exception]) -> None:
        """Nothing is known."""
        self.unavailable = unavailable
        self.said: dict[str, str] = {}
        self.then: dict[str, dict[str, str]] = {}  # what is said otherwise after a command
        self.broken: set[str] = set()
        self.asked: list[str] = []

    def __call__(self, *words: str, given: str = "") -> str:
        """As `run` of the modules."""
        line = " ".join(words)
        self.asked += [line, *([f"given: {given}"] if given else [])]
        if any(line.startswith(each) for each in self.broken):
            raise self.unavailable(f"{line}: not supported")
        self.said |= next((more for command, more in self.then.items() if line.startswith(command)), {})
        return next((text for command, text in self.said.items() if line.startswith(command)), "")

    def changes(self, *beginnings: str) -> list[str]:
        """What was asked for that begins so; then it is forgotten."""
        found = [line for line in self.asked if line.startswith(beginnings)]
        self.asked.clear()
        return found


@pytest.fixture
def programs(shared: Modules, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Those of a host."""
    made = Programs(shared["host"].Unavailable)
    monkeypatch.setattr(shared["kinds"], "run", made)
    return made


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


# --- Kinds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now", "commands"),
    [
        ("inactive disabled", "active enabled", ["stop u", "disable --quiet u"]),
        ("active enabled", "active enabled", []),
        ("inactive enabled", "failed enabled", ["reset-failed u"]),
        ("inactive disabled", "inactive disabled", []),
    ],
)
def test_a_unit_is_stopped_and_disabled_where_it_was_not_running(
    programs: Programs, shared: Modules, before: str, now: str, commands: list[str]
) -> None:
    active, enabled = now.split()
    shown = f"LoadState=loaded\nActiveState={active}\nUnitFileState={enabled}\n"
    programs.said["systemctl show"] = shown
    unit = shared["kinds"].KINDS["unit"]
    assert unit.read("u") == {"LoadState": "loaded", "ActiveState": active, "UnitFileState": enabled}
    active, enabled = before.split()
    unit.write("u", {"ActiveState": active, "UnitFileState": enabled})
    systemctl = ("systemctl stop", "systemctl disable", "systemctl reset-failed")
    assert programs.changes(*systemctl) == [f"systemctl {each}" for each in commands]


@pytest.mark.parametrize(
    ("kind", "name", "shown", "command"),
    [
        ("netns", "landspeed-hop1", "landspeed-hop2\nlandspeed-hop1 (id: 3)\n", "ip netns delete landspeed-hop1"),
        ("ip_rule", "-4 7801", "7801: from all lookup 7801\n", "ip -4 rule delete priority 7801"),
    ],
)
def test_what_landspeed_made_is_taken_away(  # noqa: PLR0917
    programs: Programs, shared: Modules, kind: str, name: str, shown: str, command: str
) -> None:
    setting = shared["kinds"].KINDS[kind]
    assert setting.read(name) is False
    setting.write(name, False)
    looks = len(programs.asked)
    programs.said |= {"ip netns list": shown, "ip -4 rule show": shown}
    assert setting.read(name) is True
    setting.write(name, True)  # it was there before: it stays
    assert len(programs.asked) == looks + 1
    setting.write(name, False)
    assert programs.asked[-1] == command


def test_a_table_is_replaced_in_one_step_known_again_and_put_back(programs: Programs, ask: Ask, restore: Ask) -> None:
    """Also one of the same name that was there before."""
    ours, before = (
        ["table inet landspeed {", "  chain input {", "  }", "}"],
        ["table inet landspeed {", "\tset s {", "}"],
    )
    item = {"kind": "nft_table", "name": "inet landspeed", "value": ours, "required": True}
    shown = {"nft list table inet landspeed": "table inet landspeed {\n\tchain input {\n\t}\n}\n"}
    programs.said |= {"nft list tables": "table ip other\ntable inet landspeed\n"}
    programs.said |= {"nft list table inet landspeed": "\n".join(before) + "\n"}
    programs.then = {"nft -f -": shown}
    assert ask(item, check_mode=True)["changed"] is True
    assert programs.changes("nft -f", "given") == []
    ask(item)
    head = "table inet landspeed\ndelete table inet landspeed\n"
    assert programs.changes("nft -f", "given") == ["nft -f -", f"given: {head}" + "\n".join(ours) + "\n"]
    assert [ask(item, check_mode=mode)["changed"] for mode in (False, True)] == [False, False]
    programs.said["nft list tables"] = ""  # as a reboot, or whoever flushes the rules, leaves it
    assert ask(item, check_mode=True)["changed"] is True
    programs.said["nft list tables"] = "table inet landspeed\n"
    programs.changes()
    assert restore()["restored"] == ["nft_table inet landspeed"]
    assert programs.changes("nft -f", "given") == ["nft -f -", f"given: {head}" + "\n".join(before) + "\n"]


def test_what_this_machine_has(programs: Programs, shared: Modules) -> None:
    """Users, interfaces and kernel modules are looked for where the kernel tells of them."""
    kinds = shared["kinds"].KINDS
    assert kinds["user"].read("root") is True
    assert kinds["user"].read("no-such-user") is False
    assert kinds["link"].read("lo") is True
    assert kinds["link"].read("no-such-nic") is False
    assert kinds["kernel_module"].read("no-such-module") is False
    assert int(kinds["mtu"].read("lo")) > 1500
    with pytest.raises(shared["host"].Unavailable, match="no-such-nic: no such interface"):
        kinds["txqueuelen"].read("no-such-nic")
    kinds["mtu"].write("lo", 9000)
    kinds["link"].write("lo", False)
    kinds["user"].write("root", False)
    assert programs.asked == ["ip link set dev lo mtu 9000", "ip link delete lo", "userdel root"]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("ffff,0000ffff", "0000ffff,0000ffff"), ("ff00", "00000000,0000ff00"), ("f", "f"), ("3", "00000003\n")],
)
def test_masks_of_processors_are_numbers(  # noqa: PLR0917
    shared: Modules, ask: Ask, restore: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, shown: str
) -> None:
    """The kernel pads what it shows to the number of processors that it could have (its format %*pb)."""
    mask, former = tmp_path / "smp_affinity", shown.replace("f", "1").replace("3", "1")
    mask.write_text(former)
    write_text = Path.write_text
    monkeypatch.setattr(Path, "write_text", lambda path, text: write_text(path, shown if text == asked else text))
    item = {"kind": "cpumask", "name": str(mask), "value": asked}
    told = ask(item)
    assert (told["changed"], told["unavailable"]) == (True, [])
    assert ask(item)["changed"] is False
    restore()
    assert int(mask.read_text().replace(",", ""), 16) == int(former.replace(",", ""), 16)
    assert all(len(word) == 8 for word in mask.read_text().split(",")[1:])  # as bitmap_parse() takes it


def test_a_mask_that_is_none_is_unavailable(shared: Modules, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "mask").write_text("")
    told = ask({"kind": "cpumask", "name": str(tmp_path / "mask"), "value": "f"})
    assert told["unavailable"] == [f"{tmp_path / 'mask'}: '' is not a mask of processors"]


def test_a_choice_shows_the_one_in_force(shared: Modules, tmp_path: Path) -> None:
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    assert shared["kinds"].KINDS["sysfs"].read(str(tmp_path / "enabled")) == "madvise"


def test_a_folder_and_its_owner_come_back(shared: Modules, tmp_path: Path) -> None:
    kind, folder = shared["kinds"].KINDS["path"], tmp_path / "folder"
    assert kind.read(str(folder)) is None
    folder.mkdir(mode=0o750)
    folder.chmod(0o750)
    former = kind.read(str(folder))
    assert (former["folder"], former["mode"]) == (True, 0o750)
    folder.chmod(0o777)
    kind.write(str(folder), former)
    assert folder.stat().st_mode & 0o777 == 0o750
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(shared["kinds"].CannotPutBack, match="no ordinary file of at most 64 MiB"):
        kind.read(str(tmp_path / "link"))


def test_a_program_that_is_missing_or_fails_is_unavailable(shared: Modules) -> None:
    host = shared["host"]
    assert host.run("echo", "hello") == "hello\n"
    with pytest.raises(host.Unavailable, match=r"^no-such-program is not installed$"):
        host.run("no-such-program")
    with pytest.raises(host.Unavailable, match=r"^sh -c echo why; exit 3: why$"):
        host.run("sh", "-c", "echo why; exit 3")


def test_values_as_lines_of_a_diff(shared: Modules) -> None:
    as_text = shared["state"].as_text
    assert as_text({"mode": 384, "content": "c2VjcmV0", "gid": 0}) == "gid 0, mode 384"  # a file's content stays secret
    assert as_text(["root fq", "parent 1:"]) == "root fq; parent 1:"
    assert as_text(None) == "None"


@pytest.mark.root
def test_the_kernel_takes_and_shows_the_tree_below_mq(
    tmp_path: Path, shared: Modules, ask: Ask, restore: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a veth with three queues, in a network namespace: set once, known again, and the default is back after."""
    run = shared["host"].run
    for number in range(3):
        (tmp_path / "eth7" / "queues" / f"tx-{number}").mkdir(parents=True)
    monkeypatch.setattr(shared["kinds"], "Path", lambda *parts: Path(tmp_path, *parts[1:]))
    monkeypatch.setattr(shared["kinds"], "run", lambda *words: run("ip", "netns", "exec", "lstest-mq", *words))
    run("ip", "netns", "add", "lstest-mq")
    try:
        words = "link add eth7 numtxqueues 3 numrxqueues 3 type veth peer name eth8 numtxqueues 3 numrxqueues 3"
        run("ip", "-n", "lstest-mq", *words.split())
        before = shared["kinds"].run("tc", "qdisc", "show", "dev", "eth7")
        item = {"kind": "qdisc", "name": "eth7", "value": ["each queue: pfifo limit 900"]}
        assert [ask(item)["changed"], ask(item)["changed"], ask(item, check_mode=True)["changed"]] == [
            True,
            False,
            False,
        ]
        shown = sorted(shared["kinds"].run("tc", "qdisc", "show", "dev", "eth7").splitlines())
        assert shown[0].startswith("qdisc mq 1: root")
        assert shown[1:] == [f"qdisc pfifo 100{each}: parent 1:{each} limit 900p" for each in (1, 2, 3)]
        restore()
        assert shared["kinds"].run("tc", "qdisc", "show", "dev", "eth7") == before
    finally:
        run("ip", "netns", "delete", "lstest-mq")
