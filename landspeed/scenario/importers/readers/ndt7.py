"""ndt7 of M-Lab: the server's archived result, or what a client prints as JSON lines; with tcp_info's figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Socket,
)
from landspeed.scenario.importers.peers import plain_address
from landspeed.scenario.importers.reading import items, member, positive, read_json_list, text_of, usable, whole
from landspeed.scenario.importers.registry import Reader

WHAT = "what `ndt7-client -format=json` printed of a download, or the archived result of a download"


def read_ndt7(file: Path) -> PathEvidence:
    """The download of a file: the server sends it, and its kernel's tcp_info is in it.

    Raises:
        MeasurementError: it has no download with figures of its sender.
    """
    data = read_json_list(file, WHAT)
    archived = next((each for each in data if isinstance(member(each, "Download"), dict)), None)
    notes: list[str] = []
    if archived is not None and items(archived, "Download", "ServerMeasurements"):
        taken = items(archived, "Download", "ServerMeasurements")
        sender, receiver = text_of(archived, "ServerIP"), text_of(archived, "ClientIP")
    else:
        values = [member(each, "Value") or each for each in data]
        taken = [each for each in values if text_of(each, "Test") in ("download", "") and member(each, "TCPInfo")]
        if any(text_of(each, "Test") == "upload" for each in values):
            notes.append(f"Upload. {file.name} has one too; a path is imported from one direction, the download.")
        ends: Any = next((member(each, "ConnectionInfo") for each in taken if member(each, "ConnectionInfo")), None)
        sender, receiver = (_address(text_of(ends, name)) for name in ("Server", "Client"))
    snapshots = [member(each, "TCPInfo") for each in taken]
    snapshots = [each for each in snapshots if positive(each, "ElapsedTime") and positive(each, "BytesAcked")]
    if not snapshots:
        raise MeasurementError(f"{file}: no download with TCPInfo, which the server's kernel tells; give {WHAT}")
    by_bbr = any(isinstance(member(each, "BBRInfo"), dict) for each in taken)
    transfer = usable(_transfer(file, snapshots, sender, receiver, by_bbr=by_bbr))
    return PathEvidence(transfers=[transfer], sockets=list(_least(file, snapshots, transfer)), notes=notes)


def _address(end: str) -> str:
    """The address of `address:port`."""
    return plain_address(end.rpartition(":")[0])


def _transfer(file: Path, snapshots: Sequence[Any], sender: str, receiver: str, *, by_bbr: bool) -> MeasuredTransfer:
    parts: list[GoodputInterval] = []
    at_us = acked = again = 0.0
    for each in snapshots:
        now_us, now_acked = positive(each, "ElapsedTime") or 0.0, positive(each, "BytesAcked") or 0.0
        if now_us <= at_us or now_acked < acked:
            continue
        resent, rtt = positive(each, "TotalRetrans") or again, positive(each, "RTT")
        window, cwnd, mss = (positive(each, name) for name in ("SndWnd", "SndCwnd", "SndMSS"))
        parts.append(
            GoodputInterval(
                at_us / 1e6,
                now_us / 1e6,
                (now_acked - acked) * 8e6 / (now_us - at_us),
                rtt / 1e6 if rtt else None,
                whole(window),
                round(max(0.0, resent - again)),
                round(cwnd * mss) if cwnd and mss else None,
            )
        )
        at_us, acked, again = now_us, now_acked, resent
    if not parts:
        raise MeasurementError(f"{file}: no time passes between its figures; give the whole of {WHAT}")
    last = snapshots[-1]
    told = [name for name in ("TotalRetrans", "BytesRetrans") if member(last, name) is not None]
    segment = whole(positive(last, "SndMSS"))
    lost_bytes = positive(last, "BytesRetrans") or 0.0
    count = round(again) if "TotalRetrans" in told else round(lost_bytes / segment) if told and segment else None
    return MeasuredTransfer(
        source=file.name,
        program="ndt7, its download",
        goodput_bps=acked * 8e6 / at_us,
        bytes=round(acked),
        duration_s=at_us / 1e6,
        sender=sender,
        receiver=receiver,
        ip_version=6 if ":" in receiver else 4,
        congestion_control="bbr" if by_bbr else None,
        mss_bytes=segment,
        mtu_bytes=whole(positive(last, "PMTU")),
        retransmits=count,
        intervals=tuple(parts),
    )


def _least(file: Path, snapshots: Sequence[Any], transfer: MeasuredTransfer) -> list[Socket]:
    """The kernel's least round trip."""
    told = [found for each in snapshots if (found := positive(each, "MinRTT"))]
    if not told or not 1 <= min(told) <= 1e10:
        return []
    return [Socket(file.name, transfer.receiver, min_rtt_s=min(told) / 1e6, least_of="MinRTT of tcp_info")]


_LIKE = re.compile(r'"(?:TCPInfo|AppInfo|ServerMeasurements)"\s*:')
READER = Reader("ndt7", "a result of ndt7", _LIKE.search, read_ndt7)
