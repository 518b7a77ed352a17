"""Kinds of settings, one by one: how each is read, set and put back."""

import os
import pwd
from pathlib import Path

import pytest

from tests.support import play_modules
from tests.support.settings_fixtures import Ask, Modules, Programs


@pytest.mark.parametrize(
    ("before", "now", "commands"),
    [
        ("inactive disabled", "active enabled", ["stop u", "disable --quiet u"]),
        ("active enabled", "active enabled", []),
        ("inactive enabled", "failed enabled", ["reset-failed u"]),
        ("inactive disabled", "inactive disabled", []),
        ("inactive ", "active transient", ["stop u"]),  # systemd-run: it vanishes, and was never enabled
    ],
)
def test_a_unit_is_stopped_and_disabled_where_it_was_not_running(
    programs: Programs, shared: Modules, before: str, now: str, commands: list[str]
) -> None:
    active, enabled = now.split(" ")
    shown = f"LoadState=loaded\nActiveState={active}\nUnitFileState={enabled}\n"
    programs.said["systemctl show"] = shown
    unit = shared["kinds"].KINDS["unit"]
    assert unit.read("u") == {"LoadState": "loaded", "ActiveState": active, "UnitFileState": enabled}
    active, enabled = before.split(" ")
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


def test_files_and_folders_are_made_known_again_and_taken_away(tmp_path: Path, ask: Ask, restore: Ask) -> None:
    """Another content is a change, and does not show what may be secret."""
    me, folder, file = pwd.getpwuid(os.getuid()).pw_name, tmp_path / "folder", tmp_path / "folder" / "file"
    asked = {"kind": "path", "required": True}
    first = asked | {"name": str(folder), "value": {"mode": "0750", "owner": me}}
    second = asked | {"name": str(file), "value": {"mode": "0640", "owner": me, "text": "secret 1"}}
    assert ask(first, second, check_mode=True)["changed"] is True and not folder.exists()
    assert ask(first, second)["changed"] is True
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777, file.read_text()) == (0o750, 0o640, "secret 1")
    assert ask(first, second)["changed"] is False
    second["value"] = {**second["value"], "text": "secret 2"}
    for check_mode in (True, False):
        told = ask(first, second, check_mode=check_mode)
        assert told["changed"] is True and "secret" not in str(told) and "other content" in told["diff"]["after"]
    assert file.read_text() == "secret 2"
    told = ask(asked | {"name": str(folder), "value": {"mode": "0640", "text": "x"}})
    assert told["failed"] and told["msg"] == f"path {folder} stays: {folder} is a folder; move it away first"
    told = ask(asked | {"name": str(tmp_path / "other"), "value": {"mode": "0640", "owner": "nobody-has-this"}})
    assert told["failed"] and told["msg"] == f"{tmp_path / 'other'}: there is no user nobody-has-this"
    restore()
    assert not folder.exists()


def test_a_user_is_made_once_and_taken_away(
    programs: Programs, shared: Modules, ask: Ask, restore: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = {"kind": "user", "name": "landspeed-test", "value": True, "required": True}
    assert ask(user, check_mode=True)["changed"] is True and not programs.changes("user")
    there: list[bool] = []
    monkeypatch.setattr(shared["kinds"].KINDS["user"], "exists", lambda _: bool(there))
    monkeypatch.setattr(shared["kinds"].KINDS["user"], "make", there.append)
    monkeypatch.setattr(shared["kinds"].KINDS["user"], "remove", there.remove)
    assert ask(user)["changed"] is True and there == ["landspeed-test"]
    assert ask(user)["changed"] is False
    restore()
    assert there == []


def test_several_files_are_written_in_one_call(
    shared: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are as they should be stay; nothing of them is saved for `restore`."""
    module = play_modules.library("landspeed_files", monkeypatch)
    me = pwd.getpwuid(os.getuid()).pw_name
    folder = {"path": str(tmp_path / "a"), "mode": "0755", "owner": me}
    files = [
        folder,
        *({"path": str(tmp_path / "a" / name), "mode": "0644", "text": name, "owner": me} for name in "bc"),
    ]
    dry = play_modules.call(module, monkeypatch, check_mode=True, files=files[:1])
    assert dry["written"] == [folder["path"]] and not (tmp_path / "a").exists()
    assert play_modules.call(module, monkeypatch, files=files)["written"] == [each["path"] for each in files]
    (tmp_path / "a" / "c").write_text("otherwise")
    told = play_modules.call(module, monkeypatch, files=files)
    assert (told["changed"], told["written"]) == (True, [str(tmp_path / "a" / "c")])
    assert not shared["state"].STATE.exists()
    wrong = {**folder, "path": str(tmp_path / "no" / "file"), "text": "x"}
    assert "No such file" in play_modules.call(module, monkeypatch, files=[wrong])["msg"]


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


def test_a_unit_that_ran_runs_again_and_one_that_is_not_there_is_said(
    programs: Programs, ask: Ask, restore: Ask
) -> None:
    """As irqbalance, which is stopped while its interrupts have cores of their own."""
    shown = "LoadState=loaded\nActiveState={}\nUnitFileState=enabled\n"
    programs.said["systemctl show"] = shown.format("active")
    programs.then = {
        "systemctl stop": {"systemctl show": shown.format("inactive")},
        "systemctl start": {"systemctl show": shown.format("active")},
    }
    item = {"kind": "unit", "name": "u", "value": {"ActiveState": "inactive"}}
    assert [ask(item)["changed"], ask(item)["changed"]] == [True, False]
    assert restore()["restored"] == ["unit u"]
    assert programs.changes("systemctl st", "systemctl en", "systemctl dis") == [
        "systemctl stop u",
        "systemctl start u",
    ]
    programs.said["systemctl show"] = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
    assert ask(item)["unavailable"] == ["u: no such unit"]


def test_sizes_of_joined_packets_are_at_most_what_the_nic_cuts(programs: Programs, ask: Ask, restore: Ask) -> None:
    sizes = "gso_max_size {} gso_max_segs 65535 tso_max_size 100000 tso_max_segs 65535 gro_max_size {}"
    programs.said["ip -d -o link show dev eth7"] = sizes.format(65536, 65536)
    programs.then = {
        "ip link set dev eth7 gso_max_size 100000": {"ip -d -o link show dev eth7": sizes.format(100000, 100000)},
        "ip link set dev eth7 gso_max_size 65536": {"ip -d -o link show dev eth7": sizes.format(65536, 65536)},
    }
    value = {"gso_max_size": 150000, "gro_max_size": 150000, "gso_ipv4_max_size": 150000}
    item = {"kind": "link_sizes", "name": "eth7", "value": value}
    told = ask(item)
    assert told["unavailable"] == ["eth7: this driver has no gso_ipv4_max_size to set"]
    assert ask(item)["changed"] is False
    restore()
    assert programs.changes("ip link set") == [
        f"ip link set dev eth7 gso_max_size {size} gro_max_size {size}" for size in (100000, 65536)
    ]


@pytest.mark.parametrize(
    ("cpulist", "interrupts", "masks", "left"),
    [
        ("0-3", 0, [], ""),
        ("0", 2, ["1", "1"], ""),
        ("0-3", 8, ["1", "2"] * 4, "2,3"),
        ("8-15,40", 2, ["100", "200"], "10,11,12,13,14,15,40"),
    ],
)
def test_interrupts_and_program_have_cores_of_their_own(  # noqa: PLR0917
    shared: Modules, monkeypatch: pytest.MonkeyPatch, cpulist: str, interrupts: int, masks: list[str], left: str
) -> None:
    monkeypatch.setattr(shared["preflight_nic"], "text", lambda _path, default="": default)
    assert shared["preflight_nic"].share_cores(cpulist, interrupts) == (masks, left)


def test_of_two_threads_of_a_core_one_is_used(shared: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    siblings = {f"cpu{each}/": f"{each % 4},{each % 4 + 4}" for each in range(8)}
    told = lambda path, default="": next((each for name, each in siblings.items() if name in path), default)  # noqa: E731
    monkeypatch.setattr(shared["preflight_nic"], "text", told)
    assert shared["preflight_nic"].share_cores("0-7", 2) == (["1", "2"], "2,3")
