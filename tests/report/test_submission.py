"""The submission page and the record book: what is on them, and how a browser takes them."""

import json
import re
import struct
from pathlib import Path

import pytest

from landspeed.report.book_page import BookEntry, book_entries, book_groups, book_json, book_row, render_book
from landspeed.report.submission import interval_lines, print_pdf, render_submission
from landspeed.report.tables import totals_table
from landspeed.report.weathermap import COLUMNS, colour, link_load, load_svg
from landspeed.report.worldmap import COASTLINES, route_svg
from landspeed.results.bundle import load_record
from landspeed.results.samples_reader import Samples
from landspeed.results.series import ByteCurves
from landspeed.results.tool_result import StreamResult, ToolResult
from landspeed.runs.record_book import SIMULATED_BITS, record_plans, shortened, simulated
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.emu.evidence_decoding import cut_to_whole_packets, first_packets, packet_ends
from landspeed.worlds.engine.command import engine_commands
from tests.support.browser import dump, requests
from tests.support.path_record import path_record
from tests.support.results_fixture import make_bundle

RECORDS = Path(__file__).resolve().parents[2] / "scenarios" / "records"


def pasadena(*overrides: str) -> Plan:
    return make_plan(load_scenario(RECORDS / "2004-06-25-geneva-pasadena.yaml", overrides))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the fixture, with the evidence that a run in the guest leaves."""
    made = make_bundle(tmp_path_factory.mktemp("runs"), 60.0, pasadena("transfer.duration=60 s"))
    receiving, sending = engine_commands(pasadena().transfer, "/run/landspeed")
    (made / "job.json").write_text(json.dumps({"receiver_command": receiving, "sender_command": sending}))
    folder = made / "evidence"
    folder.mkdir()
    for end in ("sender", "receiver"):
        (folder / f"ping-{end}.txt").write_text("10 packets transmitted, 10 received <b>\n")
        (folder / f"traceroute-{end}.txt").write_text(" 1  chicago-cern (10.0.0.2)  125.490 ms\n")
        (folder / f"settings-{end}-before.txt").write_text("net.core.rmem_max = 1\n")
        (folder / f"settings-{end}-after.txt").write_text("net.core.rmem_max = 2\n")
        (folder / f"capture-{end}.pcap").write_bytes(pcap([60, 1500]))
        (folder / f"first-40-{end}-lines.txt").write_text("    1   0.000000 10.0.0.1 → 10.0.0.38 TCP 74 [SYN]\n")
        (folder / f"first-40-{end}.txt").write_text("\n\n".join(f"Frame {n}: 74 bytes" for n in range(1, 6)))
    return made


def pcap(sizes: list[int]) -> bytes:
    """A little-endian pcap file."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    return head + b"".join(struct.pack("<IIII", 0, 0, size, size) + bytes(size) for size in sizes)


def test_a_capture_is_cut_to_whole_packets(tmp_path: Path) -> None:
    whole = pcap([60, 1500, 9000])
    assert packet_ends(whole) == [24 + 76, 24 + 76 + 1516, 24 + 76 + 1516 + 9016]
    file = tmp_path / "x.pcap"
    file.write_bytes(whole[:-1])
    assert cut_to_whole_packets(file) == 2
    assert file.read_bytes() == first_packets(whole, 2) == whole[: 24 + 76 + 1516]
    file.write_bytes(whole[:30])
    assert cut_to_whole_packets(file) == 0
    assert file.read_bytes() == whole[:24]


def test_intervals_add_up() -> None:
    curves = ByteCurves({0: ([0.0, 5.0, 20.0], [0, 500_000_000, 2_000_000_000])})
    lines = interval_lines(curves)
    assert len(lines) == 22  # a head, twenty seconds, the sum
    rates = [float(line.split()[-2]) for line in lines[1:]]
    assert rates == [800.0] * 21
    assert lines[-1].split()[1:3] == ["0.0-", "20.0"]


@pytest.mark.slow
def test_the_page_has_what_a_submission_had(bundle: Path) -> None:
    page = render_submission(bundle)
    for part in ("IPv4 multiple stream", "Contest rules", "Distance leg by leg", "Load of every link", "137.164.30.238",
                 "landspeed-engine send", "10 packets transmitted, 10 received &lt;b&gt;", "+net.core.rmem_max = 2",
                 "Frame 3: 74 bytes", "fitted to the recorded result", "15\u202f766", "7\u202f067"):  # fmt: skip
        assert part in page, part
    assert "Frame 4" not in page
    assert not re.search(r"(?:src|href)=[\"'](?!#)[^\"']*:", page), "loads something"
    assert "<script" not in page


def test_totals_are_those_of_ntttcp(bundle: Path) -> None:
    """NTttcp's totals of a run on real hosts, by hand from the engine's figures; on a virtual clock no processor's."""
    host = {"interrupts": 500, "interrupts_per_s": 50.0, "cycles_per_byte": 1.25, "cpu_percent": 43.5}
    sender, receiver = host | {"cycles_source": "host"}, host | {"cycles_source": "estimated"}
    run = path_record("x", world="real", clock="real", bytes=80_000_000, duration_s=10.0, goodput_bps=64e6)
    run.flows[0].tool_result = ToolResult.model_validate(
        {"packets_sent": 10_001, "packets_received": 10_000, "hosts": {"sender": sender, "receiver": receiver}}
    )
    run.flows[0].streams = [StreamResult.model_validate({"stream": number, "sender_calls": 250}) for number in (0, 1)]
    table = totals_table(run)
    assert table
    told = {row[0]: row[1] for row in table.rows}
    assert told["Average Frame Size (B of payload)"] == "8000.000"
    assert (told["Total Buffers"], told["Throughput (Buffers/s)"]) == ("500", "50.000")
    assert (told["Pkts/Intr, sender"], told["Pkts/Intr, receiver"]) == ("20.00", "20.00")
    assert (told["Cycles/Byte, sender"], told["Cycles/Byte, receiver"]) == ("1.250", "1.250 (estimated)")
    assert (told["Intr (count/s), sender"], told["Avg. CPU %, receiver"]) == ("50.00", "43.50")
    virtual = totals_table(load_record(bundle))
    assert virtual
    assert not any(row[0].startswith(("Avg. CPU", "Cycles", "Intr")) for row in virtual.rows)
    assert "Virtual time" in virtual.note


def test_the_map_has_coasts_and_a_dot_for_each_place() -> None:
    assert COASTLINES.is_file(), "apt-get install python-cartopy-data"
    made = route_svg(pasadena())
    assert made
    svg, note = made
    assert svg.count("<circle") == 12  # Geneva … Pasadena, Chicago and Los Angeles once
    assert svg.count("<polyline") >= 11
    assert svg.count("M") > 50
    assert "GSHHG" in note
    without = route_svg(pasadena(), Path("/nowhere"))
    assert without
    assert "No coastlines" in without[1]


def test_link_load_is_the_mean_share_of_the_line(bundle: Path) -> None:
    rows, end_s = link_load(Samples(bundle), pasadena())
    assert len(rows) == 26
    assert end_s == pytest.approx(60, abs=1)
    assert all(len(shares) == COLUMNS and max(shares) <= 1.01 for _, shares in rows)
    steady = rows[1][1][COLUMNS // 2 :]
    assert sum(steady) / len(steady) == pytest.approx(0.66, abs=0.06)
    assert colour(0.0) != colour(0.5) != colour(0.96)
    assert (load_svg(Samples(bundle), pasadena()) or "").count("<text") > 26


def test_book_rows_say_predicted_or_fitted(bundle: Path) -> None:
    plan = pasadena()
    row = book_row(BookEntry(plan, load_record(bundle)))
    assert row.basis == "fitted: host limit of geneva"
    assert row.difference != "–"
    assert "a part of the record's 1037.2 s" in row.emulated_more
    assert book_row(BookEntry(plan)).emulated == "not rehearsed"
    lulea = make_plan(load_scenario(RECORDS / "2004-04-14-san-jose-lulea.yaml"))
    run = path_record(lulea.scenario, complete=True, passed=True, goodput_bps=4.31052e9)
    row = book_row(BookEntry(lulea, run))
    assert (row.basis, row.bound_recorded, row.difference) == ("predicted: window", "host", "+2.00\u202f%")
    simulated = path_record(lulea.scenario, complete=True, world="sim", goodput_bps=4.226e9, duration_s=60)
    assert book_row(BookEntry(lulea, run, simulated)).simulated == "not simulated to a steady state (60 s)"
    simulated = simulated.with_flow(steady_goodput_bps=4.226e9)
    assert "(60 s, from 10 s on; 0.00" in book_row(BookEntry(lulea, run, simulated)).simulated


def test_the_book_has_the_six_dated_records_in_order() -> None:
    plans = record_plans(bases=("documents",))
    entries = [BookEntry(plan) for plan in plans.values()]
    html = render_book(entries, {"Made": "now"})
    dates = [row.date for _, rows in book_groups(entries) for row in rows]
    assert dates == ["2000-03", "2002-10-09", "2003-05-02", "2003-05-02", "2004-04-14", "2004-06-25"]
    assert html.count('class="card"') == 6


def test_a_kept_book_has_the_rows_of_its_bundles(bundle: Path) -> None:
    record = load_record(bundle)
    entries = [BookEntry(pasadena(), record, record)]
    kept, facts = book_entries(book_json(entries, {"Made": "now"}), [pasadena()])
    assert [book_row(entry) for entry in kept] == [book_row(entry) for entry in entries]
    assert facts == {"Made": "now"}
    unknown, _ = book_entries(book_json([], {}), [pasadena()])
    assert [book_row(entry) for entry in unknown] == [book_row(BookEntry(pasadena()))]


def test_a_long_record_is_shortened_and_a_short_one_not() -> None:
    file = RECORDS / "2004-04-14-san-jose-lulea.yaml"
    job = shortened(file, make_plan(load_scenario(file)), 300)
    assert job.plan.transfer.duration_ns == 300 * 10**9
    assert job.plan.transfer.bytes is None
    assert shortened(file, make_plan(load_scenario(file)), 2000).overrides == ()


@pytest.mark.slow
def test_every_record_can_be_simulated_for_a_while() -> None:
    for file, plan in record_plans().items():
        job = simulated(file, plan)
        if (plan.transfer.bytes or 0) * 8 / plan.physics.expected_goodput_bps < 50:
            assert job.plan.transfer.bytes in (plan.transfer.bytes, None)
        if job.plan.transfer.duration_ns:
            seconds = job.plan.transfer.duration_ns / 1e9
            assert 0 < seconds <= 60
            assert seconds * plan.physics.expected_goodput_bps <= SIMULATED_BITS * 1.001
        assert job.simulated
        assert job.plan.expect is None


def test_a_part_is_held_against_the_record_by_its_steady_rate(bundle: Path) -> None:
    plan = pasadena()
    part = load_record(bundle).with_flow(goodput_bps=5e9, steady_goodput_bps=6.6e9, duration_s=60.0)
    assert "6.6" in book_row(BookEntry(plan, simulated=part)).simulated
    assert "60 s, from 10 s on" in book_row(BookEntry(plan, simulated=part)).simulated
    whole = part.model_copy(update={"plan": plan})
    assert "5 Gbit/s (60 s, whole" in book_row(BookEntry(plan, simulated=whole)).simulated.replace(".000", "")


# --- In a browser ----------------------------------------------------------------------------------------------------


def pages(bundle: Path) -> dict[str, str]:
    book = render_book([BookEntry(plan, load_record(bundle)) for plan in record_plans().values()], {"Made": "now"})
    return {"submission": render_submission(bundle), "book": book}


@pytest.mark.slow
def test_no_sideways_scrolling_and_no_complaint(bundle: Path, tmp_path: Path) -> None:
    """Both pages in frames of 390 and 1440 px, in one browser: the widths told by the frames, the console empty."""
    root = "document.documentElement"
    told = f"<script>onload=()=>parent.postMessage([document.title,{root}.scrollWidth,{root}.clientWidth],'*')"
    frames = ""
    for name, page in pages(bundle).items():
        open_policy = page.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
        (tmp_path / f"{name}.html").write_text(open_policy.replace("</body>", told + "</script></body>"))
        frames += "".join(
            f'<iframe src="{name}.html" style="width:{w}px;height:900px;border:0"></iframe>' for w in (390, 1440)
        )
    outer = "<script>let a=[];onmessage=e=>{a.push(e.data.slice(1).join(' of '));document.title=a.join(';')}</script>"
    (tmp_path / "outer.html").write_text(outer + frames)
    document, console = dump(
        tmp_path / "outer.html", tmp_path, "--window-size=1600,1000", "--virtual-time-budget=10000"
    )
    assert console == ""
    found = re.search(r"<title>([^<]*)</title>", document)
    assert found
    widths = [tuple(map(int, each.split(" of "))) for each in found[1].split(";")]
    for (_, has), width in zip(sorted(widths), (390, 390, 1440, 1440), strict=True):
        assert width - 20 <= has <= width
    assert all(takes == has for takes, has in widths)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["submission", "book"])
def test_browser_asks_no_network_for_anything(bundle: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "page.html").write_text(pages(bundle)[name])
    assert requests(tmp_path / "page.html", tmp_path) == set()


@pytest.mark.slow
def test_pdf_is_printed(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "submission.html"
    file.write_text(render_submission(bundle))
    made = print_pdf(file)
    assert made
    assert made.read_bytes()[:5] == b"%PDF-"
    assert made.read_bytes().count(b"/Type /Page\n") + made.read_bytes().count(b"/Type /Page ") >= 2
