"""A Mininet script in a guest of its own, host side: it builds its network itself, so there is no plan."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.base.json_form import to_plain
from landspeed.base.places import ROOT, runs_dir
from landspeed.base.progress import Progress
from landspeed.results.bundle import EVIDENCE, OutputError
from landspeed.results.socket_columns import RAW_LINKS, RAW_OWNERS, RAW_SOCKETS, keep_samples
from landspeed.worlds.distribution import how_to_install
from landspeed.worlds.emu import evidence_decoding, machine
from landspeed.worlds.emu import watchdog as watch
from landspeed.worlds.emu.cores import CoreLease, CoreLoad, check_core
from landspeed.worlds.emu.guest.job import Job
from landspeed.worlds.emu.kernel_build import kernel_with_modules
from landspeed.worlds.emu.kernel_choice import tracing_words
from landspeed.worlds.emu.memory import check_memory
from landspeed.worlds.emu.options import EmuOptions
from landspeed.worlds.emu.sampling import sampler_job
from landspeed.worlds.emu.second_core import SecondCore
from landspeed.worlds.emu.spin_cost import check_cost
from landspeed.worlds.program_world import SocketSampling
from landspeed.worlds.tool import ToolError

MEMORY_BYTES = 2 << 30  # of the guest, which touches what its script needs
SAMPLING = SocketSampling()
EVIDENCE_PROGRAMS = ("ip", "tc", "tcpdump")
POLLED = ROOT / "emu" / "launch" / "build" / "landspeed-polled.so"  # for Open vSwitch; without it nets are slower
HOOKS = Path(__file__).parent / "guest" / "script" / "hooks"


@dataclass(frozen=True, kw_only=True)
class Script:
    """A Mininet script, or the words of `mn`.

    Attributes:
        words: of its command line.
        folder: in which it runs.
        seed: of everything random in the guest.
        time_limit_ns: virtual time after which it is ended; 0: never.
        line_bps: line rate of a link without bandwidth and delay; None: it has no line.
        tell: whether each net that it starts is to be told in `nets/NUMBER/net.json`.
        sample: whether its sockets and links are to be sampled beside it.
        evidence: "first" or "full": captures of its nets and settings of their nodes are kept; empty: none.
        stdin: what it reads as its standard input; None: that is at its end, unless it is `typed`.
        typed: whether a person at a terminal types it, line by line, when the script asks for it (`TypedLines`).
        cpu_time: whether computing takes virtual time.
    """

    words: Sequence[str]
    folder: Path
    seed: int = 1
    time_limit_ns: int = 0
    line_bps: int | None = None
    tell: bool = False
    sample: bool = False
    evidence: str = ""
    stdin: bytes | None = None
    typed: bool = False
    cpu_time: bool = False

    @property
    def is_file(self) -> bool:
        """True for a script, False for the words of `mn`."""
        return bool(self.words) and not self.words[0].startswith("-")

    @property
    def command(self) -> list[str]:
        """Words after those that start it: this Python, and of `mn` its program."""
        if self.is_file:
            return [sys.executable, *self.words]
        return [sys.executable, str(Path(sys.prefix, "bin", "mn")), *self.words]


def distribution_packages() -> list[str]:
    """Folders of the distribution's Python packages, which `sudo python3 SCRIPT` has: after those of this Python."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not Path("/usr/bin", python).exists():  # its compiled packages would be another Python's
        return []
    own = [f"/usr/{lib}/{python}/{kind}-packages" for lib in ("local/lib", "lib", "lib64") for kind in ("dist", "site")]
    return [each for each in (*own, "/usr/lib/python3/dist-packages") if Path(each).is_dir() and each not in sys.path]


def new_run_folder(script: Script, parent: Path | None) -> Path:
    """Make a folder for a run, named after the script and the time; in `results/mn` unless the parent is given.

    Raises:
        OutputError: it cannot be made.
    """
    words = script.words
    name = "mn" if words[0].startswith("-") else Path(words[0]).stem
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folder = (parent or runs_dir().parent / "mn") / f"{name}-{stamp}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}; give another folder with --out") from error
    return folder


def _own_folder(script: Script) -> str:
    """The folder of the script, in which Python looks for its modules, too."""
    return str((script.folder / script.words[0]).resolve().parent)


def run_script(
    script: Script,
    run_folder: Path,
    options: EmuOptions,
    *,
    report: Callable[[Progress], None] = lambda _: None,
    each_poll: Callable[[], object] = lambda: None,
) -> watch.GuestOutcome:
    """Run it; its outputs go to log/stdout and log/stderr of the run's folder, what it writes to `files`.

    Raises:
        KernelError: the kernel or its modules are not built.
        CoreError, MemoryError, NotPossible: as of a run.
        ToolError: evidence needs programs that are not there.
        GuestError: the guest stalled, ran out of memory or broke.
    """
    kernel = kernel_with_modules()
    check_core(options.core)
    check_cost(options.spin_cost, options.clock, kernel)
    memory_bytes = options.memory or MEMORY_BYTES
    check_memory(memory_bytes)
    if script.evidence and (missing := evidence_decoding.missing_programs(EVIDENCE_PROGRAMS)):
        raise ToolError(f"evidence needs programs that are not here: {', '.join(missing)}; {how_to_install(*missing)}")
    job = Job(
        mode="script",
        clock="real" if options.clock == "real" else "virtual",
        spin_cost_ns=options.spin_cost or 0,
        visible=[
            *machine.visible_folders(),
            *([_own_folder(script)] if script.is_file else []),
            str(kernel.executable.parent),
        ],
        command=script.command,
        cwd=str(script.folder),
        environment={
            "PYTHONPATH": os.pathsep.join([str(HOOKS), *machine.python_path()]),
            "LANDSPEED_MORE_PACKAGES": os.pathsep.join([sys.prefix, *distribution_packages()]),
            **({"LANDSPEED_LINE": str(script.line_bps)} if script.line_bps else {}),
            **({"LANDSPEED_TYPED": "1"} if script.typed else {}),
            **({"LANDSPEED_CPU_TIME": "1"} if script.cpu_time else {}),
            **({"LANDSPEED_POLLED": str(POLLED)} if POLLED.exists() and not script.cpu_time else {}),
            **({"LANDSPEED_TELL": "1"} if script.tell or script.sample or script.evidence else {}),
            **({"LANDSPEED_EVIDENCE": script.evidence} if script.evidence else {}),
            **({"LANDSPEED_SAMPLER": json.dumps(to_plain(sampler_job(SAMPLING)))} if script.sample else {}),
        },
        time_limit_ns=script.time_limit_ns,
        modules=[str(each) for each in kernel.modules],
    )
    (run_folder / "log").mkdir(parents=True, exist_ok=True)
    if script.stdin is not None:
        (run_folder / "stdin").write_bytes(script.stdin)
    (run_folder / "job.json").write_text(json.dumps(to_plain(job), indent=1, ensure_ascii=False), encoding="utf-8")
    with CoreLease(options.core, CoreLoad()) as lease:
        guest = machine.start(
            kernel,
            run_folder.resolve(),
            memory_bytes=memory_bytes,
            seed=script.seed,
            virtual=options.clock == "virtual",
            cpu_time=script.cpu_time,
            shm=machine.shared_memory_folder(memory_bytes),
            more_words=tracing_words(kernel, options.tracing),
        )
        lease.step_aside()
        second = SecondCore(guest, lease)

        def poll() -> object:
            second.look()
            return each_poll()

        return watch.follow(guest, report, stall_wall_s=options.stall, each_poll=poll)


@dataclass(frozen=True)
class ScriptNet:
    """A net that the script started.

    Attributes:
        told: its `net.json`.
        samples: folder with `sockets.parquet` and `links.parquet`; None: it was not sampled.
    """

    told: dict[str, Any]
    samples: Path | None


def script_nets(run_folder: Path) -> list[ScriptNet]:
    """The nets of a script that has run, in their order.

    Raises:
        SamplesError: samples are not what the sampler writes.
        OutputError: they cannot be written.
    """
    found: list[ScriptNet] = []
    for file in sorted(run_folder.glob("nets/*/net.json"), key=lambda each: int(each.parent.name)):
        told, folder = json.loads(file.read_text()), file.parent
        sampled = (folder / RAW_SOCKETS).exists()
        if sampled:
            keep_samples(folder, folder, told["sampled"])
            for name in (RAW_SOCKETS, RAW_OWNERS, RAW_LINKS):
                (folder / name).unlink()
        found.append(ScriptNet(told, folder if sampled else None))
    return found


def finish_captures(run_folder: Path) -> dict[Path, int]:
    """Cut the captures of a script's evidence to whole packets; how many each has."""
    found = sorted(run_folder.glob(f"nets/*/{EVIDENCE}/capture-*.pcap"))
    return {each: evidence_decoding.cut_to_whole_packets(each) for each in found}
