"""Settings of a host: `sysctl -a`, `ethtool DEVICE`, `ip link show`, one after another in a file or alone."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasuredHost, MeasurementError, PathEvidence
from landspeed.scenario.importers.reading import read_text
from landspeed.scenario.importers.registry import Reader

WHAT = "what `sysctl net.ipv4 net.core`, `ethtool DEVICE` or `ip link show DEVICE` printed"
LEAST_MTU, MOST_MTU = 576, 65_535
_CONTROL = re.compile(r"^net\.ipv4\.tcp_congestion_control\s*=\s*(\w+)", re.MULTILINE)
_BUFFER = r"^net\.ipv4\.tcp_%smem\s*=\s*\d+\s+\d+\s+(\d{1,12})\s*$"
_SEND = re.compile(_BUFFER % "w", re.MULTILINE)
_RECEIVE = re.compile(_BUFFER % "r", re.MULTILINE)
_SPEED = re.compile(r"^\s*Speed: (\d{1,7})Mb/s", re.MULTILINE)
_LINK = re.compile(r"^\d+: ([\w.@-]+): <[^>]*>.*? mtu (\d{1,6}) ", re.MULTILINE)


def read_host_settings(file: Path) -> PathEvidence:
    """The settings of a file.

    Raises:
        MeasurementError: it has none that says something of a path, or those of several devices.
    """
    text = read_text(file)
    speeds = [int(each) for each in _SPEED.findall(text)]
    mtus = [int(mtu) for name, mtu in _LINK.findall(text) if name != "lo"]
    for what, several in (("speeds", speeds), ("MTUs", mtus)):
        if len(set(several)) > 1:
            raise MeasurementError(f"{file}: devices of {len(several)} {what}; give those of the device in use: {WHAT}")
    if any(not LEAST_MTU <= each <= MOST_MTU for each in mtus) or any(not 1 <= each <= 10**6 for each in speeds):
        raise MeasurementError(f"{file}: an MTU of {mtus} B, a speed of {speeds} Mbit/s: none; give {WHAT}, unchanged")
    control, send, receive = _CONTROL.search(text), _SEND.search(text), _RECEIVE.search(text)
    found = MeasuredHost(
        source=file.name,
        congestion_control=control[1] if control else None,
        send_buffer_bytes=int(send[1]) if send else None,
        receive_buffer_bytes=int(receive[1]) if receive else None,
        nic_bps=speeds[0] * 1e6 if speeds else None,
        mtu_bytes=mtus[0] if mtus else None,
    )
    if found == MeasuredHost(file.name):
        raise MeasurementError(
            f"{file}: no setting that says something of a path (congestion control, buffers, speed, MTU); give {WHAT}"
        )
    return PathEvidence(hosts=[found])


_LIKE = re.compile(
    r"^net\.(?:ipv4|ipv6|core)\.\S+\s*=|^(?:Settings|Features|Ring parameters|Coalesce parameters) for \S+:"
    r"|^\d+: \S+: <[^>]*> mtu \d",
    re.MULTILINE,
)
READER = Reader("host", "a host's settings (sysctl, ethtool, ip link)", _LIKE.search, read_host_settings)
