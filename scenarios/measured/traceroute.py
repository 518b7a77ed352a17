"""traceroute's text: Linux (Dmitry Butskoy's, inetutils'), BSD and macOS; also Windows' tracert."""

from __future__ import annotations

import re
from pathlib import Path

from .evidence import Evidence, Hop, MeasurementError, Trace
from .reading import read_text

_HEAD = re.compile(r"(?:traceroute6?|Tracing route) to ([^\s,]+)(?: ?[\[(]([0-9A-Fa-f.:]+)[\])])?")
_LINE = re.compile(r"\s*(\d{1,3})\s+(\S.*)")
_TIME = re.compile(r"(<?)\s*(\d+(?:\.\d+)?)\s*ms\b")
_NAME = re.compile(r"([^\s()\[\]*<]+)\s+[(\[]([0-9A-Fa-f.:%a-z]+)[)\]]")
_ADDRESS = re.compile(r"(?<![\w.])((?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.])")
BELOW_SHARE = 0.5  # "<1 ms" counts as half of it, as in fit_traceroute.py


def read_traceroute(file: Path) -> Evidence:
    """The traceroute of a file.

    Raises:
        MeasurementError: it has no line of one, or no hop answered.
    """
    lines = read_text(file).splitlines()
    head = next((match for line in lines if (match := _HEAD.search(line))), None)
    hops: dict[int, tuple[Hop, str]] = {}
    last = 0
    for line in lines:
        if match := _LINE.fullmatch(line):
            last = int(match[1])
            hops.setdefault(last, _hop(match[2]))
        elif last and line.startswith((" ", "\t")) and _TIME.search(line):  # BSD: another router at the same distance
            before, address = hops[last]
            more, _ = _hop(line)
            hops[last] = (Hop(before.label, before.rtts_ms + more.rtts_ms), address)
    answered = [number for number, (hop, _) in hops.items() if hop.rtts_ms]
    if not answered:
        raise MeasurementError(f"{file}: no hop of a traceroute answered; give what `traceroute HOST` printed")
    whole = [hops.get(number, (Hop("", ()), "")) for number in range(1, max(answered) + 1)]
    target = (head[2] or head[1]) if head else ""
    reached = bool(target) and target in (whole[-1][1], whole[-1][0].label.split(" ")[0])
    address = (head[2] or "" if head else "") or (whole[-1][1] if reached else "")
    named = (head[1] if head else "") or whole[-1][0].label
    return Evidence(traces=[Trace(file.name, named, tuple(hop for hop, _ in whole), reached, address)])


def _hop(text: str) -> tuple[Hop, str]:
    """A line after its number: the hop, and the address of the router that answered first."""
    times = tuple(float(ms) * (BELOW_SHARE if below else 1.0) for below, ms in _TIME.findall(text))
    if not times:
        return Hop("", ()), ""
    if named := _NAME.search(text):
        name, address = named[1], named[2]
        return Hop(f"{name} [{address}]" if name != address else address, times), address
    found = _ADDRESS.search(_TIME.sub(" ", text))
    address = found[1] if found else ""
    return Hop(address or text.split(maxsplit=1)[0], times), address
