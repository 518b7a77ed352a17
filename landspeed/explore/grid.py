"""Choice of the settings that are measured beforehand: around the first one, and spread over all the others.

How far two settings are from each other is counted in steps of sliders; another word counts as two.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from landspeed.explore.setting import MEAN_S, Setting, Slider, setting_at

MOST_PACKETS = 4_000_000
"""Of a run around the first setting: above it takes long, and is left to those who ask for it."""
MOST_SPREAD_PACKETS = 1_000_000
"""Of a run elsewhere, of which there are many."""
PLANES = (("window", "streams"), ("loss", "control"), ("queue", "control"))
"""Sliders that are moved together around the first setting; each of the others is moved alone."""
SPREAD = 240  # settings elsewhere
CANDIDATES = 2000  # of all settings, from which those are chosen

Places = tuple[int, ...]


def packets_of(setting: Setting) -> float:
    """Estimate the work of a run: the packets that it sends."""
    return setting.mean_bps * MEAN_S[1] / 8 / setting.mss


def settings_around(chosen: Sequence[Slider]) -> list[Setting]:
    """Settings around the first one: each slider moved alone, and some two by two; none that is costly."""
    start = [slider.start for slider in chosen]
    number = {slider.key: place for place, slider in enumerate(chosen)}
    places: dict[Places, None] = {tuple(start): None}
    for one, other in [(slider.key, slider.key) for slider in chosen] + list(PLANES):
        for first in range(len(chosen[number[one]].values)):
            for second in range(len(chosen[number[other]].values)) if other != one else [first]:
                moved = list(start)
                moved[number[one]], moved[number[other]] = first, second
                places[tuple(moved)] = None
    settings = [setting_at(chosen, each) for each in places]
    return [setting for setting in settings if packets_of(setting) <= MOST_PACKETS]


def settings_spread(chosen: Sequence[Slider], measured: Iterable[Setting], count: int) -> list[Setting]:
    """Choose `count` settings, each the farthest from all before it and from those that are measured.

    They are chosen from a sample of all settings, the same one every time; where several are as far, the one that
    sends fewest packets.
    """
    chance = random.Random(f"landspeed explore {[slider.values for slider in chosen]}")
    drawn = [tuple(chance.randrange(len(slider.values)) for slider in chosen) for _ in range(CANDIDATES)]
    cost: dict[Places, float] = {places: packets_of(setting_at(chosen, places)) for places in drawn}
    left = [places for places in cost if cost[places] <= MOST_SPREAD_PACKETS]
    known = [code_of(chosen, places_of(chosen, setting)) for setting in measured]
    code = {places: code_of(chosen, places) for places in left}
    far: dict[Places, int] = {
        places: min((steps(code[places], each) for each in known), default=len(drawn)) for places in left
    }
    found: list[Places] = []
    while len(found) < count and far:
        farthest = max(far, key=lambda places: (far[places], -cost[places]))
        if far[farthest] == 0:
            break
        found.append(farthest)
        here = code[farthest]
        far = {places: min(before, steps(code[places], here)) for places, before in far.items()}
    return [setting_at(chosen, places) for places in found]


def code_of(chosen: Sequence[Slider], places: Places) -> int:
    """Places as bits of which two settings differ in as many as there are steps between them.

    A slider at n has its first n bits set; a word has one bit of its own.
    """
    code = 0
    for slider, place in zip(chosen, places, strict=True):
        code = code << len(slider.values) | (1 << place if slider.is_word else (1 << place) - 1)
    return code


def steps(one: int, other: int) -> int:
    """Distance of two settings, by their codes, in steps of the sliders; another word counts as two."""
    return (one ^ other).bit_count()


def places_of(chosen: Sequence[Slider], setting: Setting) -> Places:
    """Positions of the sliders at a setting."""
    return tuple(slider.values.index(getattr(setting, slider.key)) for slider in chosen)
