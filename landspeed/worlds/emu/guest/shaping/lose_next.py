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

PARTS = ((0xFFFFFFFE, 18, 6, 13), (0xFFFFFFF8, 2, 2, 27), (0xFFFFFFF0, 7, 13, 21), (0xFFFFFF80, 13, 3, 12))
CHECKED = 2000  # draws that are looked at one by one
MOST_AT_ONCE = 64  # a fitting seed for N packets is found after about N tries


def draws(seed: int) -> Iterator[int]:
    """Yield the numbers of the kernel's generator (L'Ecuyer's LFSR113, seeded as prandom_seed_state does)."""
    start = ((seed >> 32) ^ (seed << 10) ^ seed) & UINT32_MAX
    s1, s2, s3, s4 = (start + least if start < least else start for least in (2, 8, 16, 128))
    while True:
        s1, s2, s3, s4 = (_step(state, *part) for state, part in zip((s1, s2, s3, s4), PARTS, strict=True))
        yield s1 ^ s2 ^ s3 ^ s4


@functools.lru_cache(maxsize=4)
def nth(packet: int) -> tuple[int, LossModel]:
    """Seed and transitions with which the packet of this number is lost, counted from the next one on, and no other.

    The generator is linear over GF(2): the 32 bits of the draw for packet N are sums of the 32 bits of its start, and
    can be solved for a start with a very small draw there. Packet 1 to N - 1 draw such a small number with a
    probability of N / 2^31 in all.
    """
    columns = [functools.reduce(int.__xor__, (_ahead(part, 1 << bit, packet) for part in PARTS)) for bit in range(32)]
    for draw in range(1, 64):
        start = _solve(columns, draw)
        if (
            start is not None
            and start >= 1 << 7
            and all(each > draw for _, each in zip(range(min(packet, CHECKED) - 1), draws(start << 32), strict=False))
        ):
            return start << 32, LossModel("NETEM_LOSS_GI", {"p13": 0, "p31": 0, "p32": 0, "p14": draw + 1, "p23": 0})
    raise ValueError(f"no seed loses packet {packet}")


def _ahead(part: tuple[int, int, int, int], state: int, count: int) -> int:
    """A shift register's state after so many steps."""
    bit = 0
    while count >> bit:
        if count >> bit & 1:
            state = _times(_power(part, bit), state)
        bit += 1
    return state


@functools.lru_cache
def _power(part: tuple[int, int, int, int], bit: int) -> tuple[int, ...]:
    """The matrix of 2^bit steps, by columns."""
    if bit == 0:
        return tuple(_step(1 << column, *part) for column in range(32))
    half = _power(part, bit - 1)
    return tuple(_times(half, column) for column in half)


def _times(matrix: tuple[int, ...], vector: int) -> int:
    found = 0
    for bit, column in enumerate(matrix):
        if vector >> bit & 1:
            found ^= column
    return found


def _solve(columns: list[int], wanted: int) -> int | None:
    """The sum of columns that makes `wanted`, as the bits of their numbers; None if none does."""
    basis: dict[int, tuple[int, int]] = {}  # highest bit → a sum of columns that has it, and of which
    for number, column in enumerate(columns):
        value, members = _reduced(basis, column, 1 << number)
        if value:
            basis[value.bit_length()] = value, members
    value, members = _reduced(basis, wanted, 0)
    return None if value else members


def _reduced(basis: dict[int, tuple[int, int]], value: int, members: int) -> tuple[int, int]:
    while value and (found := basis.get(value.bit_length())):
        value, members = value ^ found[0], members ^ found[1]
    return value, members


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
