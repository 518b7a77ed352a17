"""Transfers over UDP: what the path carries, and whether their losses are chance.

UDP sends on while a queue overflows, so what is lost is first of all what was sent too much. Only where the path is
known to carry what was offered, by another measurement, no queue can have been full, and the losses are chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from landspeed.base.units_text import rate_text
from landspeed.scenario.importers.path_evidence import Figure, MeasuredTransfer
from landspeed.scenario.theory import physics as ph

UDP_HEADER = 8  # RFC 768
USUAL_MTU = 1500
OVERFLOW = 0.02  # a loss so large in a run that nothing else explains is a queue that was full all the time


@dataclass
class OverUdp:
    """Findings from the transfers over UDP.

    Attributes:
        rate: of the line, where one overflowed it.
        carried: the most that arrived, as it is on the line.
        chance: those whose losses are chance.
    """

    rate: Figure | None = None
    carried: Figure | None = None
    chance: list[MeasuredTransfer] = field(default_factory=list[MeasuredTransfer])
    notes: list[str] = field(default_factory=list[str])


def over_udp(transfers: Sequence[MeasuredTransfer], known_bps: float) -> OverUdp:
    """Find what the path carries and which losses are chance, from transfers over UDP.

    Args:
        transfers: those over UDP.
        known_bps: what the path carries by all other measurements, framing included.
    """
    found = OverUdp()
    if not transfers:
        return found
    fastest = max(transfers, key=_arrived_bps)
    found.carried = Figure(
        _arrived_bps(fastest), f"{fastest.source}: {rate_text(fastest.goodput_bps)} arrived over UDP"
    )
    carries_bps = max(known_bps, found.carried.value)
    for each in transfers:
        if not each.lost:
            continue
        offered_bps = (each.offered_bps or each.goodput_bps) * _on_the_line(each)
        share = each.lost / (each.packets or each.lost)
        said = f"{each.source}: {each.lost} of {each.packets} packets were lost at {rate_text(offered_bps)} on the line"
        if offered_bps <= carries_bps:
            found.chance.append(each)
        elif each is fastest and found.carried.value >= known_bps and share >= OVERFLOW:
            found.rate = _overflowed(each, share)
            found.notes.append(
                f"Loss. {said}. They are taken as overflows of a full queue, for no measurement shows that the line "
                "carries as much. A second reading is chance, on a faster line."
            )
        else:
            found.notes.append(
                f"Loss. {said}, and no measurement shows that the line carries as much: a full queue or chance. None "
                "is put into the path; a run at a lower rate would tell."
            )
    return found


def _overflowed(transfer: MeasuredTransfer, share: float) -> Figure:
    """The line's rate; the queue emptied for an unknown time after the sender had ended."""
    rate_bps = _arrived_bps(transfer)
    most_bps = (transfer.offered_bps or 0.0) * (1 - share) * _on_the_line(transfer)
    told = (
        f"{transfer.source}: {rate_text(transfer.goodput_bps)} of {rate_text(transfer.offered_bps or 0.0)} arrived "
        f"over UDP, × {_on_the_line(transfer):.4f} for headers and framing"
    )
    return Figure(rate_bps, told, 0.0, max(0.0, most_bps - rate_bps))


def _arrived_bps(transfer: MeasuredTransfer) -> float:
    return transfer.goodput_bps * _on_the_line(transfer)


def _on_the_line(transfer: MeasuredTransfer) -> float:
    """Bits on the line for each bit of payload; a packet larger than the MTU goes in fragments (RFC 791)."""
    header, mtu = ph.IP_HEADER[transfer.ip_version], transfer.mtu_bytes or USUAL_MTU
    payload = transfer.packet_bytes or mtu - header - UDP_HEADER
    fragments = math.ceil((payload + UDP_HEADER) / (mtu - header))
    return (payload + UDP_HEADER + fragments * (header + ph.ETHERNET_FRAMING)) / payload
