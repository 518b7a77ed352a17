"""traceroute's text: Linux (Dmitry Butskoy's, inetutils'), BSD and macOS, Cisco; Windows' tracert; mtr's report."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Traceroute, TracerouteHop
from landspeed.scenario.importers.peers import is_address
from landspeed.scenario.importers.reading import read_text
from landspeed.scenario.importers.registry import Reader

_HEAD = re.compile(
    r"(?:traceroute6?|Tracing (?:the )?(?:route|path)) to +([^\s,(]+)(?: ?[\[(]([0-9A-Fa-f.:]+)[\])])?"
    r"|^traceroute \[\(\S+ -> \(?([0-9A-Fa-f.:]+?)(?::\d+)?\)\]()"  # paris-traceroute
    r"|^(?:\S[^\d\[]*? )?([^\s\[]+) \[([0-9A-Fa-f.:]+)\]"  # Windows in its own language: the name, then the address
)
_LINE = re.compile(r"\s*(\d{1,3})P?\s+(\S.*)")
_TIME = re.compile(r"(<?)\s*(\d+(?:\.\d+)?)\s*(?:ms(?:ec)?|мс)\b")
LONGEST_MS = 1e6  # a quarter of an hour: nothing waits so long for an answer
_SHORT = re.compile(r"<1 \S{1,8}(?=\s)")  # Windows' unit, in words of any language, in whatever code page
_MTR = re.compile(
    r"\s*(\d{1,3})\.\s*(?:\|--|\|-)?\s*(?:AS\S+\s+)?(\S+)(?:\s+\(([0-9A-Fa-f.:]+)\))?((?:\s+[\d.]+%?){4,})\s*"
)
_WINMTR = re.compile(r"\|\s+(\S.*?) -\s+\d{1,3} \|\s+\d+ \|\s+\d+ \|\s+(\d{1,7}) \|(?:\s+\d+ \|){3}")
_MTR_HEAD = re.compile(r"(?<=\s)(Loss%(?:\s+[A-Z][A-Za-z]+)+)\s*$")
_NAME = re.compile(r"([^\s()\[\]*<]+)\s+[(\[]([0-9A-Fa-f.:%a-z]+)[)\]]")
_ADDRESS = re.compile(r"(?<![\w.])((?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.])")
_FITS = re.compile(r"\bF=(\d{3,5})\b")  # `traceroute --mtu`
_NOTE = re.compile(r"\[(?:MPLS|AS)\b[^\]]*\]|<MPLS:[^>]*>")
BELOW_SHARE = 0.5  # "<1 ms" counts as half of it, as in fit_traceroute.py


def read_traceroute(file: Path) -> PathEvidence:
    """The traceroute of a file.

    Raises:
        MeasurementError: it has no line of one, or no hop answered.
    """
    evidence = _read(file)
    times_ms = [time for trace in evidence.traces for hop in trace.hops for time in hop.rtts_ms]
    if (longest_ms := max(times_ms, default=0.0)) > LONGEST_MS:
        raise MeasurementError(
            f"{file}: {longest_ms:.3g} ms is no round trip; give what `traceroute HOST`, `tracert HOST` or `mtr "
            "--report HOST` printed"
        )
    return evidence


def _read(file: Path) -> PathEvidence:
    lines = read_text(file, "cp850").splitlines()
    if columns := next((match[1].split() for line in lines if (match := _MTR_HEAD.search(line))), None):
        return _mtr(lines, columns, file)
    if rows := [match for line in lines if (match := _WINMTR.match(line))]:
        return _winmtr(rows, file)
    head = next((match for line in lines if (match := _HEAD.search(line))), None)
    hops: dict[int, tuple[TracerouteHop, str]] = {}
    last = 0
    for line in lines:
        if (match := _LINE.fullmatch(line)) and int(match[1]):  # a hop has a number from 1 on
            last = int(match[1])
            hops.setdefault(last, _hop(match[2]))
        elif last and line.startswith((" ", "\t")) and _TIME.search(line):  # BSD: another router at the same distance
            before, address = hops[last]
            more, _ = _hop(line)
            hops[last] = (TracerouteHop(before.label, before.rtts_ms + more.rtts_ms), address)
    answered = [number for number, (hop, _) in hops.items() if hop.rtts_ms]
    if not answered:
        raise MeasurementError(
            f"{file}: no hop of a traceroute answered; give what `traceroute HOST`, `tracert HOST` or `mtr --report "
            "HOST` printed"
        )
    whole = [hops.get(number, (TracerouteHop("", ()), "")) for number in range(1, max(answered) + 1)]
    name, told = (head[1] or head[3] or head[5], head[2] or head[3] or head[6] or "") if head else ("", "")
    if not head and (only := _ADDRESS.search(next((line for line in lines if line.strip()), ""))):
        name = told = only[1]  # Windows, in its own language, of an address
    target = told or name
    reached = bool(target) and target in (whole[-1][1], whole[-1][0].label.split(" ")[0])
    address = told or (whole[-1][1] if reached else "")
    named = name or whole[-1][0].label
    mtu = min((int(each) for line in lines for each in _FITS.findall(line)), default=None)
    return PathEvidence(traces=[Traceroute(file.name, named, tuple(hop for hop, _ in whole), reached, address, mtu)])


def _mtr(lines: list[str], columns: list[str], file: Path) -> PathEvidence:
    """mtr's report: of each hop the best time."""
    if "Best" not in columns:
        raise MeasurementError(
            f"{file}: a report of mtr without its column Best; give what `mtr --report HOST` printed"
        )
    hops: dict[int, TracerouteHop] = {}
    for line in lines:
        if not (match := _MTR.fullmatch(line)):
            continue
        times = match[4].split()
        best = times[columns.index("Best")] if len(times) > columns.index("Best") else ""
        answered = match[2] != "???" and re.fullmatch(r"\d{1,9}(\.\d{1,9})?", best)
        label = f"{match[2]} [{match[3]}]" if match[3] else match[2]
        hops[int(match[1])] = TracerouteHop(label, (_ms(best),)) if answered else TracerouteHop("", ())
    return _of_best(hops, file)


def _winmtr(rows: list[re.Match[str]], file: Path) -> PathEvidence:
    """WinMTR's table, which has no numbers: of each hop the best time."""
    silent = TracerouteHop("", ())
    told = [
        silent if match[1].startswith("No response") else TracerouteHop(match[1], (_ms(match[2]),)) for match in rows
    ]
    return _of_best(dict(enumerate(told, start=1)), file)


def _of_best(hops: dict[int, TracerouteHop], file: Path) -> PathEvidence:
    """The path of these hops. No target is named; what answered last is taken for it."""
    last = max((number for number, hop in hops.items() if hop.rtts_ms), default=0)
    if not last:
        raise MeasurementError(f"{file}: no hop of mtr's report answered; give what `mtr --report HOST` printed")
    whole = tuple(hops.get(number, TracerouteHop("", ())) for number in range(1, last + 1))
    reached = last == max(hops)
    told = _ADDRESS.search(whole[-1].label) if reached else None
    return PathEvidence(traces=[Traceroute(file.name, whole[-1].label, whole, reached, told[1] if told else "")])


def _ms(text: str, below: str = "") -> float:
    """A time; one below the last digit counts as half of it."""
    if value := float(text):
        return value * (BELOW_SHARE if below else 1.0)
    return BELOW_SHARE * 10.0 ** -len(text.partition(".")[2])


def _hop(text: str) -> tuple[TracerouteHop, str]:
    """A line after its number: the hop, and the address of the router that answered first."""
    text = _SHORT.sub("<1 ms", text)
    times = tuple(_ms(ms, below) for below, ms in _TIME.findall(text))
    if not times:
        return TracerouteHop("", ()), ""
    text = _NOTE.sub(" ", text)
    if named := _NAME.search(text):
        name, address = (named[2], named[1]) if is_address(named[1]) else (named[1], named[2])
        return TracerouteHop(f"{name} [{address}]" if name != address else address, times), address
    found = _ADDRESS.search(_TIME.sub(" ", text))
    address = found[1] if found else ""
    return TracerouteHop(address or text.split(maxsplit=1)[0], times), address


_LIKE = re.compile(
    r"^traceroute6? to |^(?:\S*[Tt]racing|Type escape).*(?:route|trace)|\sLoss%\s+[A-Z]|WinMTR statistics"
    r"|^\s{1,2}1\s+\S.*\d\s?(?:ms(?:ec)?|мс)\b|^\s{1,3}1(?:\s+(?:<?\d{1,5} [^\s\d]{1,8}|\*)){3}\s+\S",
    re.MULTILINE,
)
READER = Reader("traceroute", "a traceroute, a tracert or mtr's report", _LIKE.search, read_traceroute)
