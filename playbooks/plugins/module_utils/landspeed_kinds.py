"""The kinds of settings that landspeed changes on a host: each reads the present value of a name, and writes one."""

from __future__ import annotations

import base64
import contextlib
import os
import pwd
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypedDict, runtime_checkable

from .landspeed_host import Unavailable, cpu_mask, run, write_safely
from .landspeed_kinds_nic import EthtoolSetting, LinkSetting, LinkSizes, interrupt

UNIT_ON = {"ActiveState": "active", "UnitFileState": "enabled"}
UNIT_OFF = {"ActiveState": ("inactive", "failed"), "UnitFileState": ("disabled", "masked", "static", "transient", "")}
SHOWN_BY_FQ = {"bands": 1, "priomap": 16, "weights": 3}  # words with their values, of kernels from 6.7 on


class Setting(Protocol):
    """A kind of settings. It writes what it reads; what that is, is the kind's own, so its values are anything here."""

    def read(self, name: str, /) -> Any:
        """The present value."""

    def write(self, name: str, value: Any, /) -> None:
        """Set it."""


@runtime_checkable
class AskedOtherwise(Protocol):
    """A kind whose values are asked for in other words than they are read."""

    def wanted(self, name: str, value: Any, /) -> Any:
        """Convert the value asked for to the form in which it would be read."""


class Owned(TypedDict):
    """Owner and permissions of a file or folder."""

    mode: int
    uid: int
    gid: int


class Former(Owned, total=False):
    """A file with its content (base64), or a folder, as it was."""

    folder: bool
    content: str


class CannotPutBack(Exception):  # noqa: N818
    """The former value could not be put back later, so it is not touched; the message has the remedy."""


class FileSetting:
    """A value in a pseudo file, words compared: sysctls and sysfs attributes."""

    def __init__(self, place: Callable[[str], Path]) -> None:
        """`place` makes a path of the setting's name."""
        self.place = place

    def read(self, name: str) -> str:
        """The value; of a choice such as `always [madvise] never`, the one in force."""
        try:
            text = " ".join(self.place(name).read_text().split())
        except OSError as error:
            raise Unavailable(f"{name}: {error.strerror}") from error
        return text.partition("[")[2].partition("]")[0] if "[" in text else text

    def write(self, name: str, value: object) -> None:
        """Write it."""
        try:
            self.place(name).write_text(str(value))
        except OSError as error:
            raise Unavailable(f"{name} cannot be set to {value}: {error.strerror}") from error


class MaskSetting(FileSetting):
    """Processors in a hexadecimal mask, which sysfs shows with as many zeros as the machine has processors."""

    def read(self, name: str) -> str:
        """The mask as `wanted` writes it."""
        return self.wanted(name, super().read(name))

    def wanted(self, name: str, value: object) -> str:
        """Write the number without zeros in front, in words of 32 bits."""
        try:
            return cpu_mask(int(str(value).replace(",", ""), 16))
        except ValueError as error:
            raise Unavailable(f"{name}: {value!r} is not a mask of processors") from error


class QdiscSetting:
    """The root queueing discipline of an interface, with its children, as `tc` words in order.

    A value is a list of lines, such as `root handle 1: netem delay 132000us limit 9000`. Empty: the kernel's default.
    The line `each queue: fq` asks for fq below mq where the interface has several transmit queues: at its root it would
    be one lock for all of them.
    """

    EACH_QUEUE = "each queue: "
    KNOWN = ("mq", "fq", "fq_codel", "pfifo", "bfifo", "pfifo_fast", "netem", "tbf")

    def shown(self, name: str) -> list[list[str]]:
        """Lines of `tc qdisc show` that were put there by somebody."""
        lines = [line.split() for line in run("tc", "qdisc", "show", "dev", name).splitlines()]
        return [words for words in lines if words[2] != "0:" and words[1] not in ("ingress", "clsact")]

    def read(self, name: str) -> list[str]:
        """The present lines, in tc's words; `[]` is the default that the kernel gives."""
        lines: list[str] = []
        for words in self.shown(name):
            kind, handle, rest = words[1], words[2], words[3:]
            if kind not in self.KNOWN:
                raise CannotPutBack(
                    f"{name} has a qdisc {kind} that landspeed cannot put back. Remedy: tc qdisc del dev {name} root"
                )
            place = [rest.pop(0)] if rest[0] == "root" else [rest.pop(0), rest.pop(0)]
            if rest[:1] == ["refcnt"]:
                del rest[:2]
            lines.append(" ".join([*place, "handle", handle, kind, *_taken_by_tc(kind, rest)]))
        return lines

    def wanted(self, name: str, value: list[str]) -> list[str]:
        """The lines, with those for each queue written out."""
        queues = len(list(Path("/sys/class/net", name, "queues").glob("tx-*")))
        lines: list[str] = []
        for line in value:
            kind = line.removeprefix(self.EACH_QUEUE)
            if kind == line:
                lines.append(line)
            elif queues > 1:  # as tc(8) has them, numbers of classes are hexadecimal
                lines.append("root handle 1: mq")
                lines += [f"parent 1:{number:x} handle {0x1000 + number:x}: {kind}" for number in range(1, queues + 1)]
            else:
                lines.append(f"root handle 1: {kind}")
        return lines

    def write(self, name: str, value: list[str]) -> None:
        """Replace the whole tree, root first."""
        if self.shown(name):
            run("tc", "qdisc", "del", "dev", name, "root")
        for line in value:
            run("tc", "qdisc", "add", "dev", name, *line.split())


def _taken_by_tc(kind: str, shown: list[str]) -> list[str]:
    """Options as `tc qdisc show` prints them, as `tc qdisc add` takes them."""
    words: list[str] = []
    left = list(shown)
    while left:
        word = left.pop(0)
        if kind == "tbf" and word == "lat":  # shown instead of the limit that was given
            word = "latency"
        elif kind == "fq" and word in SHOWN_BY_FQ:
            del left[: SHOWN_BY_FQ[word]]
            continue
        words.append(word)
    return words


class Presence:
    """Presence of an object, which is made here, or by other means, and removed again."""

    def __init__(
        self,
        exists: Callable[[str], bool],
        remove: Callable[[str], object],
        make: Callable[[str], object] | None = None,
    ) -> None:
        """`exists` tells, `remove` takes it away, `make` makes it; without, another module does."""
        self.exists, self.remove, self.make = exists, remove, make

    def read(self, name: str) -> bool:
        """Return whether it is there."""
        return self.exists(name)

    def wanted(self, _: str, value: object) -> bool:
        """Return whether it is to be there."""
        return bool(value)

    def write(self, name: str, value: bool) -> None:
        """Take it away if it was not there; make it if it is to be there."""
        if value and self.make and not self.exists(name):
            self.make(name)
        if not value and self.exists(name):
            self.remove(name)


class NftTable:
    """A table of nftables, as the lines in which `nft list table` shows it; none: there is no such table."""

    def read(self, name: str) -> list[str]:
        """Lines of the table."""
        if any(line.split()[1:] == name.split() for line in run("nft", "list", "tables").splitlines()):
            return run("nft", "list", "table", *name.split()).splitlines()
        return []

    def write(self, name: str, value: list[str]) -> None:
        """Replace it, in one step."""
        run("nft", "-f", "-", given="\n".join([f"table {name}", f"delete table {name}", *value, ""]))


class PathSetting:
    """A file (its content, owner and mode) or folder."""

    LARGEST_BYTES = 64 << 20

    def read(self, name: str) -> Former | None:
        """Read the file or folder; None if it is absent."""
        path = Path(name)
        if not os.path.lexists(name):
            return None
        found = path.lstat()
        about: Owned = {"mode": stat.S_IMODE(found.st_mode), "uid": found.st_uid, "gid": found.st_gid}
        if stat.S_ISDIR(found.st_mode):
            return {"folder": True, **about}
        if not stat.S_ISREG(found.st_mode) or found.st_size > self.LARGEST_BYTES:
            raise CannotPutBack(f"{name} is no ordinary file of at most 64 MiB; move it away first")
        return {"content": base64.b64encode(path.read_bytes()).decode(), **about}

    def wanted(self, name: str, value: dict[str, str]) -> Former:
        """A file with this `text`, or a folder without; its `mode` (octal) and `owner` (root's if none is named)."""
        if os.path.lexists(name) and Path(name).is_dir() == ("text" in value):
            raise CannotPutBack(f"{name} is {'a folder' if 'text' in value else 'no folder'}; move it away first")
        try:
            owner = pwd.getpwnam(value.get("owner", "root"))
        except KeyError as error:
            raise Unavailable(f"{name}: there is no user {value['owner']}") from error
        about: Owned = {"mode": int(value["mode"], 8), "uid": owner.pw_uid, "gid": owner.pw_gid}
        if "text" not in value:
            return {"folder": True, **about}
        return {"content": base64.b64encode(value["text"].encode()).decode(), **about}

    def write(self, name: str, value: Former | None) -> None:
        """Make it was."""
        path = Path(name)
        if value is None:
            if path.is_dir() and not path.is_symlink():
                if "landspeed" in path.parts:  # ours, with all in it
                    shutil.rmtree(path)
                else:  # somebody else may use by now what we made
                    with contextlib.suppress(OSError):
                        path.rmdir()
            elif os.path.lexists(name):
                path.unlink()
            return
        if "content" in value:
            write_safely(path, base64.b64decode(value["content"]))
        else:
            path.mkdir(parents=True, exist_ok=True)
        path.chmod(value["mode"])
        os.chown(name, value["uid"], value["gid"])


class UnitSetting:
    """State of a systemd unit: enabled and active, or not."""

    def read(self, name: str) -> dict[str, str]:
        """Words of systemctl."""
        shown = run("systemctl", "show", "--property=LoadState,ActiveState,UnitFileState", name)
        return dict(line.split("=", 1) for line in shown.splitlines())

    def wanted(self, name: str, value: dict[str, str]) -> dict[str, str]:
        """States asked for, of a unit that there is."""
        if self.read(name).get("LoadState") == "not-found":
            raise Unavailable(f"{name}: no such unit")
        return value

    def write(self, name: str, value: dict[str, str]) -> None:
        """Start or stop, enable or disable what differs; forget failures of a unit that is to vanish."""
        present = self.read(name)
        for word, opposite, state in (("start", "stop", "ActiveState"), ("enable", "disable", "UnitFileState")):
            on, was_on = UNIT_ON[state], present[state] not in UNIT_OFF[state]
            if state in value and (value[state] == on) != was_on:
                quiet = ["--quiet"] if state == "UnitFileState" else []
                run("systemctl", word if value[state] == on else opposite, *quiet, name)
        if self.read(name)["ActiveState"] == "failed":  # from before, or because it was stopped
            run("systemctl", "reset-failed", name)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _make_user(name: str) -> None:
    """Make a user of the system that owns nothing and cannot log in."""
    run("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", name)


def _has_namespace(name: str) -> bool:
    return any(line.split()[0] == name for line in run("ip", "netns", "list").splitlines() if line)


KINDS: dict[str, Setting] = {
    "sysctl": FileSetting(lambda name: Path("/proc/sys", *name.split("."))),
    "sysfs": FileSetting(Path),
    "cpumask": MaskSetting(Path),
    "mtu": LinkSetting("mtu", "mtu"),
    "txqueuelen": LinkSetting("txqueuelen", "tx_queue_len"),
    "ring": EthtoolSetting("-g", "-G", current_after="Current hardware settings:"),
    "coalesce": EthtoolSetting("-c", "-C", words={"Adaptive RX": "adaptive-rx", "Adaptive TX": "adaptive-tx"}),
    "pause": EthtoolSetting("-a", "-A", words={"Autonegotiate": "autoneg"}),
    "link_sizes": LinkSizes(),
    "irq": MaskSetting(interrupt),
    "offload": EthtoolSetting("-k", "-K"),
    "qdisc": QdiscSetting(),
    "path": PathSetting(),
    "unit": UnitSetting(),
    "user": Presence(_has_user, lambda name: run("userdel", name), _make_user),
    "nft_table": NftTable(),
    "netns": Presence(_has_namespace, lambda name: run("ip", "netns", "delete", name)),
    "link": Presence(
        lambda name: Path("/sys/class/net", name).exists(), lambda name: run("ip", "link", "delete", name)
    ),
    # A name such as `-4 7801`: family and priority.
    "ip_rule": Presence(
        lambda name: bool(run("ip", name.split()[0], "rule", "show", "priority", name.split()[1]).strip()),
        lambda name: run("ip", name.split()[0], "rule", "delete", "priority", name.split()[1]),
    ),
    "kernel_module": Presence(
        lambda name: Path("/sys/module", name).is_dir(), lambda name: run("modprobe", "--remove", name)
    ),
}
