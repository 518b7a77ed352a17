"""PID 1 of the guest: mounts, builds the network, calibrates, does the job, and switches the machine off.

The host reads three things: the console (lines that start with ``@landspeed`` say which phase begins), the files in the
run's folder, and the end of the process. Nothing comes in after the start, so nothing of the host's timing does either;
but for a session (session.py), whose clock stands still while it is asked.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import sys
import time
from typing import IO, TYPE_CHECKING, Any

from landspeed.results import own_logs
from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT, mount_all, mount_hosts, mount_visible, write_json
from landspeed.worlds.emu.guest.network import namespaces
from landspeed.worlds.emu.guest.reading import read_job, read_plan

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan
    from landspeed.worlds.emu.guest.evidence_captures import EvidenceGatherer
    from landspeed.worlds.emu.guest.job import Job
    from landspeed.worlds.emu.guest.joined_links import JoinedLinks
    from landspeed.worlds.emu.guest.network.network import Network

# How late a real machine's timers may be. A line makes up for it while packets wait, and only then, so that too much
# lets nothing through early.
REAL_LATE_NS = 50_000_000
# Each address tells its neighbours twice, within a second each, which groups it listens to (RFC 3810 section 9): a
# probe that met one of these packets on a slow line would have to wait.
IPV6_QUIET_NS = 4_000_000_000
OPEN_FILES = 1 << 16  # of a path of 255 links, each node has several


def phase(name: str, **facts: object) -> None:
    """Tell the host that a phase begins."""
    sys.stdout.write(f"@landspeed {json.dumps({'phase': name, **facts})}\n")
    sys.stdout.flush()


def main() -> None:
    """Do the job in the run's folder, whatever happens switch off."""
    try:
        mount_all()  # hides a clone below /tmp until `mount_visible`: whatever reads the two files is imported by now
        job = read_job(_content("job.json"))
        plan = None if job.mode == "script" else read_plan(_content("plan.json"))
        mount_visible(job.visible)
        namespaces.set_timer_slack(1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        os.environ.update(
            HOME="/tmp", PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", TERM="xterm"
        )
        result = _do(plan, job) if plan else _run_script(job)
    except BaseException as error:  # whatever it is, the host must hear of it
        import traceback

        result = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        traceback.print_exc()
    try:
        write_json("guest.json", result)
        if os.path.exists(f"{OUT}/measured.json"):  # noqa: PTH110
            os.unlink(f"{OUT}/measured.json")  # noqa: PTH108
        if "shell" not in result:
            phase("end")
    finally:
        namespaces.power_off()


def _content(name: str) -> bytes:
    with open(f"{OUT}/{name}", "rb") as handle:  # noqa: PTH123
        return handle.read()


def _do(plan: Plan, job: Job) -> dict[str, Any]:
    if job.mode != "shell":  # there a person reads the console
        phase("build")
    from landspeed.worlds.emu.guest.network.build import build_network  # imports belong to the phase that needs them
    from landspeed.worlds.emu.guest.shaping.joined import described, join
    from landspeed.worlds.emu.guest.shaping.link_qdiscs import shape

    if job.clock == "virtual":
        clock.start_afresh()
    network = build_network(plan, REAL_LATE_NS) if job.clock == "real" else build_network(plan)
    shape(network)
    runs = [] if job.every_hop else join(network)
    mount_hosts(network.host_names())
    if plan.ip_version == 6 and job.clock == "virtual":
        clock.sleep_until(clock.now_ns() + IPV6_QUIET_NS)
    result: dict[str, Any] = {"error": None}
    if job.mode == "shell":
        from landspeed.worlds.emu.guest.session.shell import run_shell

        run_shell(network)
        return result | {"shell": True}
    from landspeed.worlds.emu.guest.network.effective import effective_settings

    result["effective"] = effective_settings(network) | {"joined": described(plan, runs)}
    if job.calibrate:
        from landspeed.worlds.emu.guest.calibration.calibrate_flows import calibrate_flows

        phase("calibrate")
        measured = calibrate_flows(network, runs, with_queues=job.with_queues, real_clock=job.clock == "real")
        result["calibrations"] = measured
        if not all(each["passed"] for each in measured.values()):
            return result
        write_json("measured.json", result)  # kept if the run is ended from outside
    if job.mode == "transfer":
        _transfer(network, job, runs, result)
    elif job.mode == "exec":
        phase("exec")
        result |= _execute(network, job, runs)
    elif job.mode == "session":
        from landspeed.worlds.emu.guest.session.session import run_session

        phase("session")
        run_session(network, runs, job.spin_cost_ns)
    return result


def _run_script(job: Job) -> dict[str, Any]:
    from landspeed.worlds.emu.guest.script.run_script import run_script

    phase("script")
    return {"error": None, **run_script(job)}


def _transfer(network: Network, job: Job, runs: list[JoinedLinks], result: dict[str, Any]) -> None:
    from landspeed.worlds.emu.guest.network.effective import effective_offloads, effective_qdiscs
    from landspeed.worlds.emu.guest.shaping.interrupt_moderation import moderate
    from landspeed.worlds.emu.guest.spin_cost import let_time_pass, spun
    from landspeed.worlds.emu.guest.transfer import run_transfer

    gathered: list[EvidenceGatherer] = []
    if job.evidence:
        from landspeed.worlds.emu.guest import evidence_captures
        from landspeed.worlds.emu.guest.network.flow_path import FlowPath

        phase("evidence")
        if job.clock == "virtual":
            clock.start_afresh()
        for flow, programs in zip(network.plan.flows, job.flows, strict=True):
            of_flow = FlowPath(network, flow)
            more = {"whole": job.whole_captures, "real_clock": job.clock == "real"}
            gathered.append(evidence_captures.EvidenceGatherer(of_flow, programs.port, programs.folder, **more))
            gathered[-1].before()
    result["effective"] |= {
        "moderation_ns": moderate(network) if job.moderate else 0,
        "offloads": effective_offloads(network),
    }
    phase("transfer")
    let_time_pass(job.spin_cost_ns)
    result["statuses"] = run_transfer(network, job, runs)
    result["events"] = result["statuses"].pop("events")
    phase("read back")
    if job.spin_cost_ns:
        result["effective"] |= {"spin_cost_ns": job.spin_cost_ns, "spun": spun(network)}
    for each in gathered:
        each.after()
    result["qdiscs"] = effective_qdiscs(network)


def _execute(network: Network, job: Job, runs: list[JoinedLinks]) -> dict[str, Any]:
    """Run the user's program in a node; its output goes to the guest's second and third console."""
    from landspeed.worlds.emu.guest.consoles import consoles

    with consoles() as (out, err):
        # iputils' ping takes a clock in its first second for one that it has not read yet, and sends without pause.
        time.sleep(max(0.0, 2.0 - time.monotonic()))
        real = job.clock == "real"
        from landspeed.worlds.emu.guest.link_samplers import Sampler
        from landspeed.worlds.emu.guest.spin_cost import let_time_pass, spun

        assert job.sampler is not None
        sampler = Sampler(network, runs, job.sampler, real_clock=real)
        if not real:
            clock.start_afresh()
        elif job.sampler.interval_ns:
            clock.sleep_until(sampler.begin_ns)
        let_time_pass(job.spin_cost_ns)
        status = _run_program(network, job, out, err)
        result = {"status": status, "sampler": sampler.stop()}
        return result | {"spun": spun(network)} if job.spin_cost_ns else result


def _run_program(network: Network, job: Job, out: IO[bytes], err: IO[bytes]) -> int:
    """Run the program and return its exit status, as a shell has it."""
    import subprocess

    environment = {
        **os.environ,
        **{f"LANDSPEED_{name.upper().replace('-', '_')}": network.address(i) for i, name in enumerate(network.names)},
        **own_logs.environment(OUT),
    }
    try:
        with network.node(job.at).inside():
            program = subprocess.Popen(
                job.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=job.cwd, env=environment
            )
        status = program.wait()
    except OSError as error:
        err.write(f"{error.filename or job.command[0]}: {error.strerror}\n".encode())
        return 127 if error.errno == errno.ENOENT else 126
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    main()
