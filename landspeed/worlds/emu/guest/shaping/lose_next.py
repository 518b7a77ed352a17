"""Losing exactly the next N packets with netem, which knows only chance.

netem's four-state model (Salsano et al., Definition of a general and intuitive loss model, 2012) draws one number per
packet from a generator whose seed can be set. Set so that the first packet is lost for certain, the model stays in its
lossy state until a draw is below a threshold, and then in a good state for ever. With a seed whose first draw below the
threshold is the one of packet N + 1, exactly N packets in a row are lost, whenever they come; nobody has to watch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from landspeed.worlds.emu.guest.shaping.encode_netem import UINT32_MAX, LossModel

MOST_AT_ONCE = 64  # a fitting seed for N packets is found after about N tries


def draws(seed: int) -> Iterator[int]:
    """Yield the numbers of the kernel's generator (L'Ecuyer's LFSR113, seeded as prandom_seed_state does)."""
    start = ((seed >> 32) ^ (seed << 10) ^ seed) & UINT32_MAX
    s1, s2, s3, s4 = (start + least if start < least else start for least in (2, 8, 16, 128))
    while True:
        s1 = _step(s1, 0xFFFFFFFE, 18, 6, 13)
        s2 = _step(s2, 0xFFFFFFF8, 2, 2, 27)
        s3 = _step(s3, 0xFFFFFFF0, 7, 13, 21)
        s4 = _step(s4, 0xFFFFFF80, 13, 3, 12)
        yield s1 ^ s2 ^ s3 ^ s4


def _step(state: int, mask: int, up: int, left: int, right: int) -> int:
    """One of the generator's four shift registers, of 32 bits."""
    fresh = (((state << left) & UINT32_MAX) ^ state) >> right
    return (((state & mask) << up) & UINT32_MAX) ^ fresh


@functools.lru_cache
def exactly(packets: int) -> tuple[int, LossModel]:
    """Seed and transitions with which the next `packets` packets are lost and no other.

    Args:
        packets: 1 to MOST_AT_ONCE.
    """
    seed = 1
    while True:
        generator = draws(seed)
        first, *lossy, last = (next(generator) for _ in range(packets + 1))
        # Packet 1 is lost if its draw is below the largest number; 2 to N stay; the next one leaves.
        if first < UINT32_MAX and all(draw > last for draw in lossy):
            return seed, LossModel("NETEM_LOSS_GI", {"p13": UINT32_MAX, "p31": 0, "p32": last + 1, "p14": 0, "p23": 0})
        seed += 1
