"""The engine's payload by a second implementation, written from engine/src/payload/generator.h: the words that the
engine's own test (engine/tests/test_block_fill.c) holds all its ways of making them to.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine.fixtures import Bench
from tests.support.places import PROGRAMS

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
LANES, STATE_WORDS = 8, 4
UNIT_TEST = Path(__file__).resolve().parents[2] / "engine" / "tests" / "test_block_fill.c"


def mixed(word: int) -> int:
    """What splitmix64 makes of its counter (Steele, Lea, Flood, OOPSLA 2014)."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def piece(seed: int, stream: int, number: int, words: int) -> list[int]:
    """The first words of that piece of 16 KiB."""
    origin = mixed(mixed(seed + GAMMA & MASK) + stream & MASK)
    counter = origin + number * LANES * STATE_WORDS * GAMMA
    seeds = [mixed(counter + (i + 1) * GAMMA & MASK) for i in range(LANES * STATE_WORDS)]
    states = [[seeds[word * LANES + lane] for word in range(STATE_WORDS)] for lane in range(LANES)]
    made: list[int] = []
    while len(made) < words:
        made += [a + d & MASK for a, _, _, d in states]
        made += [b + c & MASK for _, b, c, _ in states]
        made += [c + d & MASK for _, _, c, d in states]
        made += [a for a, _, _, _ in states]
        for state in states:
            # xoshiro256's own step, as its authors publish it.
            shifted = state[1] << 17 & MASK
            state[2] ^= state[0]
            state[3] ^= state[1]
            state[1] ^= state[2]
            state[0] ^= state[3]
            state[2] ^= shifted
            state[3] = (state[3] << 45 | state[3] >> 19) & MASK
    return made[:words]


def test_the_words_of_the_engines_test_are_those_of_the_description() -> None:
    known = re.findall(r"\{(\d+), UINT64_C\((0x[0-9a-f]{16})\)\}", UNIT_TEST.read_text())
    words = piece(seed=7, stream=1, number=2, words=16384 // 8)
    assert {int(place) % (LANES * STATE_WORDS) // LANES for place, _ in known} == {0, 1, 2, 3}  # each kind of word
    assert [int(word, 16) for _, word in known] == [words[int(place)] for place, _ in known]


def test_a_kernel_that_holds_a_page_for_a_moment_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its housekeeping does, on a busy machine: the seal is then refused with EBUSY (memfd_create(2))."""
    library = bench.folder / "busy_seal.so"
    source = str(PROGRAMS / "busy_seal.c")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(library), source], check=True, timeout=60)
    bench.receive()
    monkeypatch.setenv("LD_PRELOAD", builds.preloaded(library))
    sender = bench.send("--bytes", "1M")
    assert sender.wait() == 0, sender.errors
