"""The sceptical tests whose causes were once told wrong, and those beside them: runs of other people's making."""

from tests.support.causes import BBR, EDGES, FAR, NEAR, RENO, Case, Change, event_of, of, two_flows


def _case(name: str, cause: str, change: Change, **more: object) -> Case:
    return Case(f"truth: {name}", cause, change, {}, None, **more)  # pyright: ignore[reportArgumentType]


def _unequal(**link: object) -> Change:
    """Two Reno flows, 40 and 160 ms, behind one queue."""
    return two_flows(RENO, RENO, {0: {"one_way_delay": "2 ms"}, 1: {"one_way_delay": "62 ms"}, 2: link})


TRUTH = [
    # --- defect 1 ---
    _case("BBR without losses", "RTT probing", of(congestion_control="bbr", duration="60 s")),
    _case(
        "BBR, losses in its start",
        "RTT probing",
        of(congestion_control="bbr", duration="60 s") | event_of("2 s", loss="60 packets"),
    ),
    _case("duplicates on a full line", "duplicates", of(duplicate="5 %")),
    _case(
        "a window, the line slower from 12 s on",
        "line rate",
        of(window="250 kB") | event_of("12 s", line_rate="25 Mbit/s", lasts="28 s"),
    ),
    _case(
        "a window, 100 ms more from 10 s on",
        "window",
        of(window="250 kB") | event_of("10 s", one_way_delay="120 ms", lasts="30 s"),
    ),
    _case(
        "100 kB of window beside bulk",
        "window",
        two_flows({"window": "50 kB"}, {}, {2: {"queue": "2 MB"}}),
        flow="near",
    ),
    # --- defects 6 and 7 ---
    # Linux learns how far packets are overtaken (RFC 8985), and its line is full then; the simulated world refuses it.
    _case("reordering 5 %, Linux", "line rate", of(reorder="5 %"), worlds=("emu",)),
    _case("acknowledgments of 100 kbit/s", "ack path", {"back": {"line_rate": "100 kbit/s", "queue": "10 kB"}}),
    # --- the table of losses ---
    _case("loss 0.1 %, BBR", "RTT probing", of(loss="0.1 %", congestion_control="bbr")),
    _case("loss 10 %", "loss", of(loss="10 %")),
    _case("loss 10 %, BBR", "loss", of(loss="10 %", congestion_control="bbr")),
    _case("loss 0.01 %, Reno", "loss", of(loss="0.01 %", one_way_delay="45 ms", congestion_control="reno")),
    _case("loss 50 %", "loss", of(loss="50 %")),
    # --- the odd ones ---
    _case("MTU 576", "line rate", {"mtu": "576 B"}),
    _case(
        "10, 1, 10 Mbit/s",
        "line rate",
        of(line_rate="10 Mbit/s") | event_of("15 s", line_rate="1 Mbit/s", lasts="15 s"),
    ),
    _case("100 to 1", "ack path", of(queue="4 BDP") | {"back": {"line_rate": "500 kbit/s", "queue": "20 kB"}}),
    _case("a cut of 30 s", "outage", of(duration="60 s") | event_of("12 s", down="30 s")),
    _case("a round trip of 4 s", "slow start", of(one_way_delay="2 s", duration="30 s")),
    _case("CoDel, 160 ms", "loss", of(line_rate="20 Mbit/s", one_way_delay="75 ms", discipline="codel")),
    # --- shares ---
    _case("Reno, 40 ms, FIFO", "shared line", _unequal(), flow="near"),
    _case("Reno, 160 ms, FIFO", "shared line", _unequal(), flow="far"),
    _case("Reno, 160 ms, RED", "shared line", _unequal(discipline="red"), flow="far"),
    _case("BBR beside CUBIC, 4 BDP", "shared line", two_flows(BBR, {}, {2: {"queue": "2 MB"}}), flow="near"),
    _case(
        "alone after the other", "line rate", {"links": EDGES, "flows": [NEAR, FAR | {"duration": "5 s"}]}, flow="near"
    ),
]
