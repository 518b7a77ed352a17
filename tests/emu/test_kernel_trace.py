"""What a build of the kernel compiled: which option asked, how long it took, and how it is told."""

import io
import os
import subprocess
from pathlib import Path

import pytest

from landspeed.worlds.emu import kernel_objects as objects
from landspeed.worlds.emu.kernel_source import KernelError
from setup import kernel_trace as trace

MAKEFILES = {
    "Kbuild": "obj-y += kernel/\nobj-$(CONFIG_NET) += net/\n",
    "kernel/Makefile": "obj-y = fork.o \\\n\t  exit.o\nobj-$(CONFIG_SMP) += smp.o\n",
    "net/Makefile": "obj-y := core/ socket.o\nobj-$(CONFIG_NET_SCHED) += sched/\nobj-$(CONFIG_LLC:m=y) += llc/\n",
    "net/core/Makefile": "obj-y += sock.o # always\nifdef CONFIG_SYSCTL\nobj-y += sysctl.o\nendif\nobj-y += dev.o\n",
    "net/sched/Makefile": "obj-y := sch_fifo.o\nobj-$(CONFIG_NET_SCH_TBF) += sch_tbf.o\n"
    "obj-$(subst m,y,$(CONFIG_NET_EMATCH)) += ematch.o\n",
    "net/ipv6/Makefile": "obj-$(CONFIG_IPV6) += ipv6.o\nipv6-y := route.o\nipv6-$(CONFIG_SYSCTL) += knobs.o\n"
    "ifeq ($(CONFIG_PROC_FS),y)\nipv6-objs += proc.o\nendif\n",
    "lib/Makefile": "lib-y := ctype.o\nlib-$(CONFIG_CRC) += crc.o\n",
}
ASKED_BY = {
    "kernel/fork.o": objects.ALWAYS,
    "kernel/exit.o": objects.ALWAYS,
    "kernel/smp.o": "CONFIG_SMP",
    "net/socket.o": "CONFIG_NET",
    "net/core/sock.o": "CONFIG_NET",
    "net/core/sysctl.o": "CONFIG_SYSCTL",
    "net/core/dev.o": "CONFIG_NET",
    "net/sched/sch_fifo.o": "CONFIG_NET_SCHED",
    "net/sched/sch_tbf.o": "CONFIG_NET_SCH_TBF",
    "net/sched/ematch.o": "CONFIG_NET_EMATCH",
    "net/ipv6/route.o": "CONFIG_IPV6",
    "net/ipv6/knobs.o": "CONFIG_SYSCTL",
    "net/ipv6/proc.o": "CONFIG_PROC_FS",
    "lib/ctype.o": objects.ALWAYS,
    "lib/crc.o": "CONFIG_CRC",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Makefiles as Linux's, with each way in which it asks for an object."""
    for name, text in MAKEFILES.items():
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_text(text)
    return tmp_path / "source"


def test_the_option_is_the_nearest_that_asks(source: Path) -> None:
    """Of the object, of the one that it is a part of, of a condition around it, else of the folder."""
    rules = objects.Rules(source)
    assert {name: rules.option(name) for name in ASKED_BY} == ASKED_BY


def test_a_build_says_what_it_compiled(source: Path, tmp_path: Path) -> None:
    """From make's line to the file's time. What failed, and what is no object of the kernel, is not in it."""
    words = (
        r"printf '  CC      net/socket.o\n  CC [M]  net/sched/sch_tbf.o\n  HOSTCC  scripts/a.o\n  CC      net/gone.o\n'"
    )
    output, config, log = tmp_path / "output", tmp_path / "config", tmp_path / "log"
    (output / "net" / "sched").mkdir(parents=True)
    config.write_text("CONFIG_NET=y\n# CONFIG_NET_SCH_TBF is not set\n")
    with log.open("w") as out:
        began = objects.run_logged(["sh", "-c", words], tmp_path, dict(os.environ), out)
        assert list(began) == ["net/socket.o", "net/sched/sch_tbf.o", "net/gone.o"]
        for name, seconds in (("net/socket.o", 1.5), ("net/sched/sch_tbf.o", 0.25)):
            (output / name).touch()
            os.utime(output / name, (0, began[name] + seconds))
        objects.write_trace(began, source, output, [config], out)
        assert objects.run_logged(["false"], tmp_path, dict(os.environ), out, check=False) == {}
        with pytest.raises(subprocess.CalledProcessError, match="false"):
            objects.run_logged(["false"], tmp_path, dict(os.environ), out)
    assert log.read_text().startswith("  CC      net/socket.o\n")
    assert trace.read_trace(log) == [
        objects.Compiled("net/socket.o", "CONFIG_NET", asked=True, seconds=1.5),
        objects.Compiled("net/sched/sch_tbf.o", "CONFIG_NET_SCH_TBF", asked=False, seconds=0.25),
    ]


def test_folders_come_in_the_order_of_their_seconds(tmp_path: Path) -> None:
    told = io.StringIO()
    compiled = [
        objects.Compiled("net/core/sock.o", "CONFIG_NET", asked=True, seconds=1.0),
        objects.Compiled("kernel/fork.o", objects.ALWAYS, asked=False, seconds=1.75),
        objects.Compiled("net/core/dev.o", "CONFIG_NET", asked=True, seconds=2.0),
    ]
    trace.tell(compiled, told, objects=True)
    assert [line.split() for line in told.getvalue().splitlines()] == [
        ["FOLDER", "OBJECTS", "SECONDS", "OPTION"],
        ["net/core", "2", "3.0", "CONFIG_NET", "(asked", "for)"],
        ["2.0", "dev.o"],
        ["1.0", "sock.o"],
        ["kernel", "1", "1.8", objects.ALWAYS],
        ["1.8", "fork.o"],
        ["all", "3", "4.8"],
    ]


def test_a_log_without_a_trace_says_so(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="taken from a wheel"):
        trace.read_trace(tmp_path / "none.log")
    (tmp_path / "old.log").write_text("  CC      net/socket.o\n")
    with pytest.raises(KernelError, match="does not say what was compiled"):
        trace.read_trace(tmp_path / "old.log")
