"""`submission.html` and its PDF: a run written up as the teams of the contest wrote theirs, from the bundle alone."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.failures import BundleError, telling_of
from landspeed.base.files import read_object
from landspeed.base.json_form import object_of
from landspeed.base.text import DASH, NARROW, grouped, scientific, signed_percent
from landspeed.judge.contest_rules import contest_class, previous_score, rules_summary, transferred_text
from landspeed.judge.distance import legs
from landspeed.report import tables
from landspeed.report.beside_recorded import rows
from landspeed.report.configuration import scenario_data
from landspeed.report.page_parts import environment, template_text
from landspeed.report.weathermap import load_svg
from landspeed.report.worldmap import route_svg
from landspeed.results.bundle import OutputError, load_record
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.results.series import ByteCurves

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

INTERVALS = 20
FRAMINGS = {"ethernet": "Ethernet", "pos": "POS"}
GUEST_OUT = "/run/landspeed"  # the bundle's folder as the guest's programs see it
PACKETS_SHOWN = 3
PDF_TIMEOUT_S = 180
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
EVIDENCE = (
    ("ping-sender", "Ping from the sender, don't fragment"),
    ("ping-receiver", "Ping from the receiver, don't fragment"),
    ("traceroute-sender", "Traceroute from the sender"),
    ("traceroute-receiver", "Traceroute from the receiver"),
)


def write_submission(bundle_dir: Path, *, pdf: bool = True) -> list[Path]:
    """Write `submission.html` into a bundle, and `submission.pdf` where a browser is to be had.

    Raises:
        OutputError: it cannot be written.
        ValueError: the bundle has no result, or no plan.
    """
    html = bundle_dir / "submission.html"
    with telling_of(bundle_dir):
        text = render_submission(bundle_dir)
    try:
        html.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {html}: {error.strerror}") from error
    made = print_pdf(html) if pdf else None
    return [html, made] if made else [html]


def print_pdf(html: Path) -> Path | None:
    """The page as PDF beside it, printed by Chromium; None where there is none, or it fails."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        return None
    target = html.with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="landspeed-pdf-", ignore_cleanup_errors=True) as profile:
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        words += ["--no-pdf-header-footer", f"--print-to-pdf={target}", html.resolve().as_uri()]
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=PDF_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return None
    return target if done.returncode == 0 and target.is_file() else None


def render_submission(bundle_dir: Path) -> str:
    """The page as text.

    Raises:
        ValueError: the bundle has no readable result, or died before it had a plan.
    """
    from markupsafe import Markup

    record = load_record(bundle_dir)
    plan = record.plan
    if plan is None:
        raise BundleError(f"{bundle_dir}: the run has no plan, there is nothing to submit")
    if not plan.is_path:
        raise BundleError(f"{bundle_dir}: a submission needs one transfer over a path, and this run is a network")
    samples = Samples(bundle_dir)
    route, load = route_svg(plan), load_svg(samples, plan)
    return (
        environment()
        .get_template("submission.html.j2")
        .render(
            record=record,
            plan=plan,
            category=contest_class(plan),
            words={
                "description": "",
                "assumptions": [],
                "sources": [],
                **tables.scenario_words(scenario_data(bundle_dir)),
            },
            opening=transferred_text(record),
            score=scientific(record.score_bit_m_per_s),
            previous=_previous(plan, record),
            summary=rules_summary(record.rules),
            comparison=rows(record, plan),
            result_tables=_result_tables(record, plan),
            intervals=interval_lines(samples.curves),
            path=path_table(plan),
            legs=_leg_rows(plan),
            route=Markup(route[0]) if route else "",
            route_note=route[1] if route else "",
            load=Markup(load) if load else "",
            hosts=_hosts(bundle_dir, plan),
            commands=_commands(bundle_dir, record, plan),
            evidence=_evidence(bundle_dir),
            captures=_captures(bundle_dir, record),
            settings=_settings(bundle_dir),
            facts=_facts(record),
            style=Markup(template_text("page.css")),
        )
    )


def interval_lines(curves: ByteCurves | None, count: int = INTERVALS) -> list[str]:
    """Lines as iperf prints them: interval, transfer, bandwidth, of all streams together, and the sum."""
    if curves is None or curves.end_s <= 0:
        return []
    end = curves.end_s
    step = max(1.0, round(end / count))
    cuts = [step * number for number in range(int(end / step) + 1) if step * number < end - 0.01 * step] + [end]
    lines = ["[ ID] Interval              Transfer         Bandwidth"]
    spans = [*pairwise(cuts), (0.0, end)]
    for begin, stop in spans:
        amount = curves.bytes_at(stop) - curves.bytes_at(begin)
        rate = amount * 8 / (stop - begin)
        lines.append(f"[SUM] {begin:7.1f}-{stop:7.1f} sec  {amount / 1e9:9.3f} GB  {rate / 1e6:10.2f} Mbit/s")
    return lines


def path_table(plan: Plan) -> list[dict[str, str]]:
    """Hop by hop: node, place, line, cumulative round trip and distance."""
    found: list[dict[str, str]] = []
    rtt, metres = 0.0, 0
    for index, node in enumerate(plan.nodes):
        link = plan.links[index - 1] if index else None
        if link:
            rtt += (link.forward.delay_ns + link.reverse.delay_ns) / 1e6
            metres += link.distance_m or 0
        known = plan.physics.distance_m is not None
        found.append(
            {
                "hop": str(index),
                "node": node.name,
                "place": node.place or "",
                "label": " ".join(filter(None, (node.label, f"[{node.address_note}]" if node.address_note else ""))),
                "line": f"{link.forward.rate_bps / 1e9:g} Gbit/s, {FRAMINGS.get(link.framing, link.framing)}"
                if link
                else "",
                "rtt": f"{rtt:.3f}",
                "km": f"{metres / 1000:,.0f}".replace(",", NARROW) if known else DASH,
            }
        )
    return found


def _leg_rows(plan: Plan) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for leg in legs(plan):
        stated = None if leg.stated_m is None else leg.stated_m / 1000
        found.append(
            {
                "leg": f"{leg.origin.place or leg.origin.name} – {leg.target.place or leg.target.name}",
                "stated": DASH if stated is None else f"{stated:,.0f}".replace(",", NARROW),
                "computed": f"{leg.computed_m / 1000:,.1f}".replace(",", NARROW),
                "apart": signed_percent(leg.computed_m / 1000 / stated - 1, 1) if stated else "",
            }
        )
    return found


def _previous(plan: Plan, record: RunRecord) -> str:
    least = previous_score(plan)
    if least is None or record.score_bit_m_per_s is None or plan.contest is None or plan.contest.previous is None:
        return ""
    return f"{scientific(least)} bit·m/s before: {signed_percent(record.score_bit_m_per_s / least - 1, 1)}"


def _result_tables(record: RunRecord, plan: Plan) -> list[tables.Table]:
    found = [tables.streams_table(record, plan.expect), tables.totals_table(record)]
    return [table for table in found if table is not None]


def _hosts(bundle: Path, plan: Plan) -> list[dict[str, Any]]:
    notes = object_of(scenario_data(bundle).get("hosts"))
    found: list[dict[str, Any]] = []
    for node, role in ((plan.nodes[0], "Sender"), (plan.nodes[-1], "Receiver")):
        said = object_of(notes.get(node.name))
        found.append({"role": role, "node": node, "hardware": said.get("hardware"), "software": said.get("software")})
    return found


def _commands(bundle: Path, record: RunRecord, plan: Plan) -> str:
    """List the commands: the one that was typed, and those that the hosts ran, as one would type them there."""
    lines = [f"$ {shlex.join(record.command)}", ""]
    told, receiver = read_object(bundle / "job.json"), plan.nodes[-1].name
    flows = told.get("flows")
    job: dict[str, Any] = flows[0] if flows else told
    for node, key in ((receiver, "receiver_command"), (plan.nodes[0].name, "sender_command")):
        if words := job.get(key):
            plain = [word.replace("{receiver}", receiver).replace(GUEST_OUT, ".") for word in words[1:]]
            lines.append(f"{node}$ {shlex.join([Path(words[0]).name, *plain])}")
    return "\n".join(lines)


def _evidence(bundle: Path) -> list[tuple[str, str]]:
    files = [(bundle / "evidence" / f"{name}.txt", title) for name, title in EVIDENCE]
    return [(title, file.read_text(errors="replace")) for file, title in files if file.is_file()]


def _captures(bundle: Path, record: RunRecord) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for end in ("sender", "receiver"):
        lines, full = (bundle / "evidence" / f"first-40-{end}{suffix}.txt" for suffix in ("-lines", ""))
        pcap = bundle / "evidence" / f"capture-{end}.pcap"
        if not lines.is_file() or not pcap.is_file():
            continue
        frames = full.read_text(errors="replace").split("\n\n") if full.is_file() else []
        counted = record.guest.captured_packets.get(end)
        found.append(
            {
                "end": end,
                "lines": lines.read_text(errors="replace"),
                "expanded": "\n\n".join(frames[:PACKETS_SHOWN]),
                "shown": PACKETS_SHOWN,
                "file": f"evidence/{pcap.name}",
                "size": f"{pcap.stat().st_size / 1e6:.1f} MB",
                "packets": grouped(counted),
            }
        )
    return found


def _settings(bundle: Path) -> list[tuple[str, str]]:
    """List each host's settings before the run, and the differences after it."""
    # saves 1.1 ms where it is not needed
    import difflib

    found: list[tuple[str, str]] = []
    for end in ("sender", "receiver"):
        before, after = (bundle / "evidence" / f"settings-{end}-{when}.txt" for when in ("before", "after"))
        if before.is_file() and after.is_file():
            old, new = (file.read_text(errors="replace").splitlines() for file in (before, after))
            changed = list(difflib.unified_diff(old, new, "before", "after", "", "", 0, ""))
            found.append((f"{end.title()}: settings before the transfer", "\n".join(old)))
            found.append((f"{end.title()}: what had changed after it", "\n".join(changed) or "nothing"))
    return found


def _facts(record: RunRecord) -> dict[str, str]:
    build = record.tool_result.build
    versions = ", ".join(f"{name} {text}" for name, text in sorted(record.versions.items()))
    facts = {
        "Run": f"{record.started or DASH}, world {record.world}, {record.clock} clock, seed {record.seed}",
        "Software": f"{versions}; kernel build {record.guest.kernel_key or DASH}; engine build {build or DASH}",
        "Fidelity": record.fidelity or DASH,
        "Receiving": record.tool_result.receive_mode or DASH,
        "Bound by": f"{record.limited_by}: {record.limited_by_why}" if record.limited_by else DASH,
    }
    if record.wall_s:
        facts["Wall time"] = f"{record.wall_s:.0f} s"
    return facts
