"""The sceptical tests whose causes were once told wrong, and those beside them: runs of other people's making."""

from __future__ import annotations

from tests.support.causes import (
    EDGES,
    FAR,
    NEAR,
    Case,
    Change,
    event_of,
    link_of,
    transfer_of,
    two_flows,
)

BBR, RENO = transfer_of(congestion_control="bbr"), transfer_of(congestion_control="reno")
SLOW: Change = {"link": {"line_rate": "20 Mbit/s"}}


def _case(name: str, cause: str, change: Change, **more: object) -> Case:
    return Case(f"truth: {name}", cause, change, {}, None, **more)  # pyright: ignore[reportArgumentType]


def _both(first: Change, second: Change) -> Change:
    return {key: {**first.get(key, {}), **second.get(key, {})} for key in first.keys() | second.keys()}


def _unequal(**link: object) -> Change:
    """Two Reno flows, 40 and 160 ms, behind one queue."""
    reno = {"congestion_control": "reno"}
    return two_flows(reno, reno, {0: {"one_way_delay": "2 ms"}, 1: {"one_way_delay": "62 ms"}, 2: link})


TRUTH = [
    # --- defect 1 ---
    _case("BBR without losses", "RTT probing", transfer_of(congestion_control="bbr", duration="60 s")),
    _case(
        "BBR, losses in its start",
        "RTT probing",
        transfer_of(congestion_control="bbr", duration="60 s") | event_of("2 s", loss="60 packets"),
    ),
    _case("duplicates on a full line", "duplicates", link_of(duplicate="5 %")),
    _case(
        "a window, the line slower from 12 s on",
        "line rate",
        transfer_of(window="250 kB") | event_of("12 s", line_rate="25 Mbit/s", **{"for": "28 s"}),
    ),
    _case(
        "a window, 100 ms more from 10 s on",
        "window",
        transfer_of(window="250 kB") | event_of("10 s", one_way_delay="120 ms", **{"for": "30 s"}),
    ),
    _case(
        "100 kB of window beside bulk",
        "window",
        two_flows({"window": "50 kB"}, {}, {2: {"queue": "2 MB"}}),
        flow="near",
    ),
    # --- defects 6 and 7 ---
    # Linux learns how far packets are overtaken (RFC 8985), and its line is full then; the simulated world refuses it.
    _case("reordering 5 %, Linux", "line rate", link_of(reorder="5 %"), worlds=("emu",)),
    _case("acknowledgments of 100 kbit/s", "ack path", {"back": {"line_rate": "100 kbit/s", "queue": "10 kB"}}),
    # --- the table of losses ---
    _case("loss 0.1 %, BBR", "RTT probing", _both(link_of(loss="0.1 %"), BBR)),
    _case("loss 10 %", "loss", link_of(loss="10 %")),
    _case("loss 10 %, BBR", "loss", _both(link_of(loss="10 %"), BBR)),
    _case("loss 0.01 %, Reno", "loss", _both(link_of(loss="0.01 %", one_way_delay="45 ms"), RENO)),
    _case("loss 50 %", "loss", link_of(loss="50 %")),
    # --- the odd ones ---
    _case("MTU 576", "line rate", {"mtu": "576 B"}),
    _case(
        "10, 1, 10 Mbit/s",
        "line rate",
        link_of(line_rate="10 Mbit/s") | event_of("15 s", line_rate="1 Mbit/s", **{"for": "15 s"}),
    ),
    _case("100 to 1", "ack path", link_of(queue="4 BDP") | {"back": {"line_rate": "500 kbit/s", "queue": "20 kB"}}),
    _case("a cut of 30 s", "outage", transfer_of(duration="60 s") | event_of("12 s", down="30 s")),
    _case("a round trip of 4 s", "slow start", link_of(one_way_delay="2 s") | transfer_of(duration="30 s")),
    _case("CoDel, 160 ms", "loss", _both(SLOW, link_of(one_way_delay="75 ms", discipline="codel"))),
    # --- shares ---
    _case("Reno, 40 ms, FIFO", "shared line", _unequal(), flow="near"),
    _case("Reno, 160 ms, FIFO", "shared line", _unequal(), flow="far"),
    _case("Reno, 160 ms, RED", "shared line", _unequal(discipline="red"), flow="far"),
    _case(
        "BBR beside CUBIC, 4 BDP",
        "shared line",
        two_flows({"congestion_control": "bbr"}, {}, {2: {"queue": "2 MB"}}),
        flow="near",
    ),
    _case(
        "alone after the other", "line rate", {"links": EDGES, "flows": [NEAR, FAR | {"duration": "5 s"}]}, flow="near"
    ),
]
