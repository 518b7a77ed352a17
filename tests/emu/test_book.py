"""The record book and a run's evidence, for real: one whole record in the guest, its page, what is not run again."""

import re
from pathlib import Path

import pytest

from landspeed.report.book_page import book_entries, book_groups
from landspeed.results.bundle import list_bundles, load_record
from landspeed.runs.record_book import record_plans
from tests.support.command_process import COMMAND, run

pytestmark = pytest.mark.guest

NAME = "2002-10-09-arnes-rediris"


def book(folder: Path) -> str:
    """Make the book of the one record, with its bundles and pages in a folder; what the command said."""
    words = [str(COMMAND), "record-book", NAME, "--runs", str(folder / "runs"), "--out", str(folder / "docs")]
    done = run(words, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rehearsed(folder: Path) -> Path:
    """The one bundle of the emulated world."""
    (bundle,) = [each for each in list_bundles(folder / "runs") if load_record(each).world == "emu"]
    return bundle


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a book that was just made."""
    folder = tmp_path_factory.mktemp("book")
    assert "1 of 1 records to rehearse, 1 to simulate" in book(folder)
    return folder


def test_the_book_has_the_rehearsed_record(made: Path) -> None:
    record = load_record(rehearsed(made))
    assert record.passed
    assert record.goodput_bps
    assert record.goodput_bps == pytest.approx(348e6, rel=0.03)
    entries, _ = book_entries((made / "docs" / "record-book.json").read_text(), record_plans((NAME,)).values())
    (row,) = [row for _, rows in book_groups(entries) for row in rows]
    assert row.recorded == "348.00 Mbit/s"
    assert row.emulated == f"{record.goodput_bps / 1e6:.2f} Mbit/s"
    assert row.basis == "fitted: host limit of ljubljana"
    # The simulated column: its own TCP, so within a hundredth of the emulated rate and not the same.
    told = re.fullmatch(r"([\d.]+) Mbit/s \(16\.\d s, whole; .*\)", row.simulated)
    assert told, row.simulated
    assert float(told[1]) * 1e6 == pytest.approx(record.goodput_bps, rel=0.01)
    assert row.emulated in (made / "docs" / "record-book.html").read_text()
    assert (made / "docs" / "submissions" / f"{NAME}.html").read_text().startswith("<!doctype html>")


def test_what_is_rehearsed_is_not_rehearsed_again(made: Path) -> None:
    assert "to rehearse" not in book(made)
    assert len(list(list_bundles(made / "runs"))) == 2


def test_real_programs_were_the_witnesses(made: Path) -> None:
    bundle = rehearsed(made)
    evidence = bundle / "evidence"
    for end in ("sender", "receiver"):
        ping = (evidence / f"ping-{end}.txt").read_text()
        assert "10 packets transmitted, 10 received, 0% packet loss" in ping
        times = [float(each) for each in re.findall(r"time=([\d.]+) ms", ping)]
        assert times == pytest.approx([249.1] * 10, rel=0.002)
        trace = (evidence / f"traceroute-{end}.txt").read_text().splitlines()
        assert len([line for line in trace if re.match(r" *\d+ ", line)]) == 4
        # the first of them open the control connection, then the data connection of the same port
        lines = (evidence / f"first-40-{end}-lines.txt").read_text().splitlines()
        assert len(lines) == 40
        assert "[SYN]" in lines[0]
        assert "[SYN, ACK]" in lines[1]
        expanded = (evidence / f"first-40-{end}.txt").read_text()
        assert "Transmission Control Protocol" in expanded
        assert "Window scale" in expanded
        numbers = [str(number) for number in range(1, 41)]
        assert [line.split()[0] for line in lines] == re.findall(r"^Frame (\d+): ", expanded, re.MULTILINE) == numbers
        assert not {*lines} & {*expanded.splitlines()}
        capture = evidence / f"capture-{end}.pcap"
        assert 19_000_000 < capture.stat().st_size <= 20_000_000  # the first 20 MB, cut to whole packets
        before, after = ((evidence / f"settings-{end}-{when}.txt").read_text() for when in ("before", "after"))
        assert "net.ipv4.tcp_congestion_control" in before
        assert before != after  # the counters of the transfer
    page = (bundle / "submission.html").read_text()
    assert "Transmission Control Protocol" in page
    assert "10 packets transmitted" in page
