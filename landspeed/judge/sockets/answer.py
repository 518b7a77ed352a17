"""Limit of a program, from its runs at several round-trip times: one answer for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from landspeed.base import limits
from landspeed.base.limits import ProbeLimit
from landspeed.base.text import bytes_text, rate_text
from landspeed.judge.cause_words import nagle_words
from landspeed.judge.sockets.phases import line
from landspeed.judge.sockets.socket_limits import HIDDEN, Bound, Place
from landspeed.judge.sockets.ways import Way
from landspeed.results.flow_result import LimitPhase

WIDE = 4.0  # so many times the shortest RTT, or nothing can be said of how the goodput depends on it
SHOWN = 8  # windows of connections, each in words
OVERHEAD_SHARE = 0.6  # of the shortest RTT, beside what the window takes on the line


@dataclass(frozen=True)
class ProbeRun:
    """One run at one round-trip time.

    Attributes:
        rtt_ms: as asked.
        elapsed_s: virtual time from the client's start to its end; None when it did not end by itself.
        bounds: of each direction, (source, target) → what held it back.
        ways: of each direction, as planned.
    """

    rtt_ms: float
    elapsed_s: float | None
    bounds: dict[tuple[str, str], Bound]
    ways: dict[tuple[str, str], Way]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Limit of one direction over all round-trip times.

    Attributes:
        source, target: nodes.
        bound_by: the one word.
        explanation: in a sentence, with the figures that say so.
        window_bytes: the mean, over the RTTs at which it binds, of the bytes in flight where they stood; of datagrams,
            `effective_bytes`. None without a window.
        windows_bytes: at the longest RTT at which they bind: of each connection that was open at the same time.
        window_error: how far it was from that at any of these RTTs, as a share; None without two.
        effective_bytes: what goodput × RTT makes of it, fitted over these RTTs: a window that is granted in pieces is
            never quite used.
        overhead_s: fitted with it: what a window takes on the line, and until it is granted anew.
        window_at: whose the window is, where it can be told.
        round_trips: of the client's whole run, for "round trips", without those that open connections.
        goodput_bps, bytes, kinds: at each RTT.
        shares, phases: what held it at each RTT, by its share of the judged time and in turn.
        allowed_bps: what the window allows at each RTT, in all those connections.
    """

    source: str
    target: str
    bound_by: ProbeLimit
    explanation: str
    window_bytes: float | None = None
    windows_bytes: tuple[float, ...] = ()
    window_error: float | None = None
    effective_bytes: float | None = None
    overhead_s: float = 0.0
    window_at: Place | None = None
    round_trips: float | None = None
    goodput_bps: list[float | None] = field(default_factory=list[float | None])
    allowed_bps: list[float | None] = field(default_factory=list[float | None])
    bytes: list[int] = field(default_factory=list[int])
    kinds: list[ProbeLimit] = field(default_factory=list[ProbeLimit])
    shares: list[dict[ProbeLimit, float]] = field(default_factory=list[dict[ProbeLimit, float]])
    phases: list[list[LimitPhase]] = field(default_factory=list[list[LimitPhase]])


@dataclass(frozen=True)
class GoodputFit:
    """goodput = window / (RTT + overhead), by least squares of relative errors.

    Attributes:
        error: the largest relative distance of a measured goodput from the curve; None of one point.
    """

    window_bytes: float
    overhead_s: float
    error: float | None


def fit_window(points: Sequence[tuple[float, float]]) -> GoodputFit | None:
    """The window of a program from (RTT in s, bytes per second); None where no window fits.

    Each window takes a round trip, and what it takes to send it and to tell of it, which does not depend on the RTT.
    So 1 / goodput is a straight line over the RTT, whose slope is 1 / window.
    """
    if len(points) < 2:
        return None
    found = line([rtt for rtt, _ in points], [1 / rate for _, rate in points], [rate**2 for _, rate in points])
    if found is None or found[0] <= 0:
        return None
    window, overhead = 1 / found[0], found[1] / found[0]
    error = max(abs(rate * (rtt + overhead) / window - 1) for rtt, rate in points)
    return GoodputFit(window, overhead, error)


def answers(runs: Sequence[ProbeRun]) -> list[Answer]:
    """One answer for each direction that the runs have, in their order; runs in the order of their RTTs."""
    ways = dict.fromkeys(way for run in runs for way in run.bounds)
    return [_answer(runs, way) for way in ways]


def _answer(runs: Sequence[ProbeRun], way: tuple[str, str]) -> Answer:
    bounds = [run.bounds[way] for run in runs if way in run.bounds]
    known = [run for run in runs if way in run.bounds]
    fit = _window_fit(known, way)
    kind = _kind(known, way, fit)
    longest = bounds[-1]
    more: dict[str, object] = {}
    explanation = longest.explanation
    if kind == limits.APPLICATION_WINDOW:
        window, error = _standing(known, way, fit)
        effective = fit.window_bytes if fit else window
        at = {each.window_at for each in bounds if each.kind == kind}
        beside = next((each.windows_bytes for each in reversed(bounds) if each.kind == kind), ())
        times = sum(beside) / max(beside) if beside else 1.0
        more = {
            "window_bytes": window,
            "windows_bytes": beside,
            "window_error": error,
            "effective_bytes": effective,
            "overhead_s": fit.overhead_s if fit else 0.0,
            "window_at": at.pop() if len(at) == 1 else None,
            "allowed_bps": [
                _allowed(effective, run.ways[way], fit.overhead_s if fit else 0.0, times) if effective else None
                for run in known
            ],
        }
        explanation = _window_words(known, way, fit, window) + _each_words(beside)
    elif kind == limits.ROUND_TRIPS:
        turns = _turns(known, way)
        more = {"round_trips": turns}
        explanation = _turn_words(known, way, turns)
    elif kind in (limits.WINDOW, limits.SEND_BUFFER):
        more = {"window_bytes": longest.window_bytes, "window_at": longest.window_at}
    elif kind == limits.APPLICATION and longest.kind != limits.APPLICATION:
        why = "goodput does not depend on the RTT: the program makes pauses of its own"
        if longest.datagrams:
            why = "not the same goes in each round trip at every RTT: the program's own congestion control, or pauses"
        explanation = f"{why}; {HIDDEN}"
    return Answer(
        source=way[0],
        target=way[1],
        bound_by=kind,
        explanation=explanation + (longest.in_turn and f"{longest.in_turn} at {known[-1].rtt_ms:g} ms"),
        shares=[each.shares for each in bounds],
        phases=[each.phases for each in bounds],
        goodput_bps=[each.goodput_bps for each in bounds],
        bytes=[each.bytes for each in bounds],
        kinds=[each.kind for each in bounds],
        **more,  # pyright: ignore[reportArgumentType]
    )


def _allowed(window_bytes: float, way: Way, overhead_s: float, times: float = 1.0) -> float:
    return min(times * window_bytes * 8 / (way.rtt_s + max(overhead_s, 0.0)), way.limit_bps)


def _each_words(windows_bytes: Sequence[float]) -> str:
    """Say each window of several connections, and their sum; "" of one."""
    if len(windows_bytes) < 2:
        return ""
    shown = ", ".join(bytes_text(each) for each in windows_bytes[:SHOWN])
    more = " …" if len(windows_bytes) > SHOWN else ""
    return f"; {len(windows_bytes)} connections at once: {shown}{more}, in all {bytes_text(sum(windows_bytes))}"


def _window_fit(runs: Sequence[ProbeRun], way: tuple[str, str]) -> GoodputFit | None:
    points = [
        (run.ways[way].rtt_s, bound.steady_bps / 8)
        for run in runs
        if (bound := run.bounds[way]).kind == limits.APPLICATION_WINDOW and bound.steady_bps
    ]
    return fit_window(points)


def _kind(runs: Sequence[ProbeRun], way: tuple[str, str], fit: GoodputFit | None) -> ProbeLimit:
    """A window that is the same at several RTTs; else what binds at the longest one."""
    kinds: list[ProbeLimit] = [run.bounds[way].kind for run in runs]
    windows = [run for run in runs if run.bounds[way].kind == limits.APPLICATION_WINDOW]
    if len(windows) >= 2:
        rates = [run.bounds[way].steady_bps or 0.0 for run in windows]
        wide = windows[-1].ways[way].rtt_s >= WIDE * windows[0].ways[way].rtt_s
        if wide and max(rates) <= limits.CONSTANT_FACTOR * min(rates):
            return limits.APPLICATION
        if fit is not None and _is_window(fit, windows[0].ways[way]):
            return limits.APPLICATION_WINDOW
        if windows[0].bounds[way].datagrams:
            return limits.APPLICATION
    return kinds[-1]


def _standing(
    runs: Sequence[ProbeRun], way: tuple[str, str], fit: GoodputFit | None
) -> tuple[float | None, float | None]:
    """The window and how far it was from that at any RTT."""
    bounds = [run.bounds[way] for run in runs]
    if fit is not None and bounds[0].datagrams:
        return fit.window_bytes, fit.error
    found = [each.window_bytes for each in bounds if each.kind == limits.APPLICATION_WINDOW and each.window_bytes]
    if not found:
        return None, None
    mean = fmean(found)
    return mean, max(abs(each / mean - 1) for each in found) if len(found) > 1 else None


def _is_window(fit: GoodputFit, shortest: Way) -> bool:
    """Return whether a window explains the points: the curve is near all, and the part without the RTT is small."""
    most_s = OVERHEAD_SHARE * shortest.rtt_s + 2 * fit.window_bytes * 8 / shortest.limit_bps
    near = fit.error is not None and fit.error <= limits.WINDOW_SPREAD
    return near and -OVERHEAD_SHARE * shortest.rtt_s <= fit.overhead_s <= most_s


def _window_words(runs: Sequence[ProbeRun], way: tuple[str, str], fit: GoodputFit | None, window: float | None) -> str:
    bounds = [run.bounds[way] for run in runs]
    words = next(each.explanation for each in reversed(bounds) if each.kind == limits.APPLICATION_WINDOW).split(
        "; ", 1
    )[1]
    if fit is None or window is None:
        return f"the program never had more than {bytes_text(window)} in flight; {words}"
    slow = runs[-1]
    allowed = rate_text(_allowed(fit.window_bytes, slow.ways[way], fit.overhead_s))
    used = f"goodput × RTT is constant, and makes {bytes_text(fit.window_bytes)}"
    if bounds[0].datagrams:
        return f"{used}: that allows {allowed} at {slow.rtt_ms:g} ms; {words}"
    stood = f"with {bytes_text(window)} in flight TCP waited for the program, at every RTT"
    return f"{stood}; {used}: that allows {allowed} at {slow.rtt_ms:g} ms; {words}"


def _turns(runs: Sequence[ProbeRun], way: tuple[str, str]) -> float | None:
    """Round trips of the whole run: the slope of its time over the RTT; of one RTT what its pauses say."""
    known = [(run.ways[way].rtt_s, run.elapsed_s) for run in runs if run.elapsed_s is not None]
    found = line([rtt for rtt, _ in known], [each for _, each in known]) if len(known) > 1 else None
    if found is None:
        return runs[-1].bounds[way].round_trips
    return found[0] - _opening(runs[-1].bounds[way])


def _opening(bound: Bound) -> int:
    """Each connection takes a round trip to open, when they are opened one after the other."""
    return bound.connections


def _turn_words(runs: Sequence[ProbeRun], way: tuple[str, str], turns: float | None) -> str:
    bound = runs[-1].bounds[way]
    if turns is None:
        return bound.explanation
    opened = _opening(bound)
    more = f"{opened} more open the connection{'s' if opened > 1 else ''}" if opened else "no connection is opened"
    each = f"{bytes_text(bound.bytes / max(turns, 1))} go in each"
    held = nagle_words(bound.held_tails, turns)
    return f"it waits {turns:.1f} times for the other end, a round trip each, and {more}; {each}{held}"
