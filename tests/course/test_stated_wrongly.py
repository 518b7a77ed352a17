"""Ten things that lessons once said and that are false: none has come back, and what is true stands in its place.

A number of the true sentence is computed or measured (`STATED` of the lesson's theory.py; test_stated.py compares it);
where there is none, the words are looked for. What else holds it is told beside it.
"""

import re
from unittest.mock import Mock

import pyarrow as pa
import pytest

from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.file.vary import load_variants
from landspeed.worlds.registry import plan_for
from tests.support.lessons import LESSONS

# lesson, what it said (None: it said nothing of it), what it says, and whether that has numbers that are compared
WRONG = (
    # 1: the baseline was paced by fq (test_stated.py: test_an_unpaced_sender_is_not_paced_by_its_queue)
    ("pacing", "as the acknowledgments come", "without pacing {:.0f} Mbit/s, paced by the kernel {:.0f}", True),
    # 2: a bucket is no queue (test_stated.py: test_reno_keeps_a_policers_rate_with_a_burst_of_a_squared_bdp)
    ("policer", "The bucket replaces the queue", "BDP² / {} packets, here {:.1f} MB", True),
    ("policer", "[Aa]bout one BDP, 50 Mbit/s", "One BDP, {:.0f} kB, is far too little", True),
    # 3: HyStart is late where hosts pace, its limit is that of the queue drawn (test_stated.py: …_that_is_drawn)
    ("slow-start", r"\d; RFC 9406\) ends slow start", "RFC 9406 is another algorithm, **HyStart++**", False),
    ("slow-start", "It watches the spacing", "with a queue of one BDP at {} packets, more than path and queue", True),
    # 4: a record's sum of hops is no distance (test_stated.py: test_the_shortest_way_from_geneva_to_pasadena)
    (
        "delay",
        "distance from Geneva to Pasadena is 15 766",
        "The great circle from Geneva to Pasadena is {:.0f} km",
        True,
    ),
    # 5: what a usual host's window is, and what autotuning makes of it; a fixed window's line has a kink
    ("autotuning", "enough for 1 Gbit/s over 40 ms", "a usual host reaches {:.0f} Mbit/s over 40 ms", True),
    ("autotuning", 'window="6 MB"', "offered is at most {:.2f} MB", True),
    ("autotuning", r"for twice as much\.", "over 264 ms, at {:.0f} times of it", True),
    ("autotuning", "most systems gave a connection a window of 64 KB", "a window of {} to {} KB, and", True),
    ("window", "most systems offered 64 KB", "a window is at most 64 KB", False),
    # 6: 219 MB, 8948 B, half a window, a packet each 0.264 s
    ("record-2004", "forty minutes", "after one, Reno needs {:.0f} minutes to be back", True),
    # 7: a slower return line gave more, without a word
    ("ack-path", None, "At 250 kbit/s the goodput is {:.0f} Mbit/s, at 500 only {:.0f}", True),
    # 8: RACK waits for late packets, on some paths
    ("jitter", "TCP takes late packets for lost", "over 60 ms it reaches {:.1f}, and sends {:.0f} again", True),
    # 9: of OpenSSH's sftp
    ("own-window", "32 requests", "with its {} requests of {} KiB", True),
    # 10: smaller ones
    ("delay", r"66 bytes of headers and framing\.(?! A real)", "pads it to {} bytes", True),
    ("delay", "nothing makes it faster|Nothing makes it faster", "light in a hollow core is {:.0f} % faster", True),
    ("framing", r"the MSS \| MTU − 52 \|", "says MTU − {}, {} with MTU {}: it does not", True),
    ("queues", None, "Here is one flow only, so FQ-CoDel does what CoDel does", False),
)


@pytest.mark.parametrize(("name", "false", "true", "counted"), WRONG, ids=[f"{e[0]}: {e[2][:30]}" for e in WRONG])
def test_what_was_false_is_gone(name: str, false: str | None, true: str, counted: bool) -> None:
    text = " ".join(LESSONS[name].text.split())
    assert false is None or not re.search(false, text)
    if counted:
        (one,) = [each for each in LESSONS[name].stated if true in each.sentence]
        assert one.spans(text), true
    else:
        assert true in text


def test_a_fixed_windows_line_has_its_kink() -> None:
    """4 MB fill 1 Gbit/s up to 32 ms; what was measured at 10 and 50 ms, joined straight, said 735 Mbit/s at 30 ms."""
    lesson = LESSONS["autotuning"]
    variants = load_variants(lesson.folder / "buffers.yaml")
    runs = [LessonRun("buffers.yaml", values, 1, plan_for(loaded, "emu", None)) for values, loaded in variants]
    (line,) = [each for each in lesson.theory.curves(runs) if each.name == "4 MB, theory"]
    (near,) = [rate for rtt_s, rate in line.points if abs(rtt_s - 0.030) < 0.00025][:1]
    assert near == pytest.approx(990e6, rel=2e-3)


def test_no_line_is_more_than_full() -> None:
    """A gap was filled at the span's beginning, and a row of the lesson on marks said 101.0 % of the line."""
    counts = [(8.0, 100, 1), (9.0, 100 + 1514 * 8127, 8128), (20.5, 10**9, 10**6)]
    table = pa.table(
        {
            "time_ns": [int(s * 1e9) for s, *_ in counts],
            "bytes": [n for _, n, _ in counts],
            "packets": [p for *_, p in counts],
        }
    )
    link = Mock(forward=Mock(rate_bps=100_000_000))
    run = Mock(samples=Mock(link=lambda *_: table), plan=Mock(links=[link, link]), record=Mock(duration_s=20.0))
    assert LESSONS["ecn"].theory.filled(run) == pytest.approx(1538 * 8127 * 8 / 100e6)
