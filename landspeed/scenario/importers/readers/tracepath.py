"""tracepath's text: hops, and the MTU of the path, which it probes."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence, Traceroute, TracerouteHop
from landspeed.scenario.importers.reading import plain_number, read_text
from landspeed.scenario.importers.registry import Reader

WHAT = "what `tracepath HOST` printed"
_LINE = re.compile(r"^\s*(\d{1,3})(\??):\s+(\S+)(.*)$")
_TIME = re.compile(r"(\d{1,7}\.\d{1,6}) ?ms\b")
_MTU = re.compile(r"\bpmtu (\d{1,6})\b")
LEAST_MTU, MOST_MTU = 576, 65_535
_ADDRESS = re.compile(r"\(([0-9A-Fa-f.:]+)\)")


def read_tracepath(file: Path) -> PathEvidence:
    """The path of a file; its first guess of the own address (`1?:`) is no hop.

    Raises:
        MeasurementError: no hop answered.
    """
    hops: dict[int, TracerouteHop] = {}
    reached, mtu, address = False, None, ""
    for line in read_text(file).splitlines():
        if told := _MTU.search(line):
            mtu = int(told[1])
        match = _LINE.match(line)
        times = tuple(plain_number(each) for each in _TIME.findall(match[4])) if match else ()
        if match is None or match[2] or not any(times):
            continue
        before = hops.get(int(match[1]), TracerouteHop("", ()))
        hops[int(match[1])] = TracerouteHop(before.label or match[3], before.rtts_ms + times)
        if "reached" in match[4]:
            reached = True
            named = _ADDRESS.search(match[4])
            address = named[1] if named else match[3]
    hops.pop(0, None)
    if not hops:
        raise MeasurementError(f"{file}: no hop of tracepath answered; give {WHAT}")
    if mtu is not None and not LEAST_MTU <= mtu <= MOST_MTU:
        raise MeasurementError(f"{file}: a path MTU of {mtu} B is none of IP; give {WHAT}, unchanged")
    whole = tuple(hops.get(number, TracerouteHop("", ())) for number in range(1, max(hops) + 1))
    target = address if re.fullmatch(r"[0-9.]+|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*", address) else ""
    return PathEvidence(traces=[Traceroute(file.name, whole[-1].label, whole, reached, target, mtu)])


_LIKE = re.compile(r"^\s*\d+\?: \[LOCALHOST\]|\bpmtu \d+\s*$|^\s*Resume: pmtu|^\s*1:\s+\S+\s+\d+\.\d+ms", re.MULTILINE)
READER = Reader("tracepath", "what tracepath prints", _LIKE.search, read_tracepath)
