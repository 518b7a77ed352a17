"""Check what stands beside `netem` and `jitter_distribution` in a link: keys that say the same twice are refused."""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.model_links import DirectionSection, LinkSection
from landspeed.scenario.file.netem_line import NetemLine

SAID_BY_NETEM = (
    "one_way_delay", "rtt", "loss", "loss_burst", "corrupt", "duplicate", "reorder", "jitter", "jitter_distribution",
    "packet_limit", "trace",
)  # fmt: skip
SAID_BY_RATE = ("line_rate", "queue", "framing")


def check_netem(scenario: ScenarioFile, link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    """Faults of a link's netem lines and distributions; `where` is the link."""
    back = link.reverse
    sections: list[tuple[DirectionSection, KeyPath, NetemLine | None]] = [(link, where, link.netem)]
    if back:
        sections.append((back, (*where, "reverse"), back.netem or link.netem))
    for section, at, line in sections:
        said = (*SAID_BY_NETEM, *(SAID_BY_RATE if line and line.rate_bps else ())) if line else ()
        if both := next((key for key in said if getattr(section, key, None) is not None), None):
            what = f"{both} and netem, which says all of that" if both in SAID_BY_NETEM else f"{both} and netem's rate"
            right = f"remove {both}" + ("" if section.netem else ", or write netem under reverse too")
            yield Fault((*at, both), what, right, at_key=True)
            return
        shaped = section.jitter_distribution and (section.jitter or link.jitter)
        if section.jitter_distribution and not shaped and line is None:
            what = "a distribution of no jitter"
            yield Fault((*at, "jitter_distribution"), what, "add jitter: 1 ms, or remove it", at_key=True)
            return
    yield from _two_of_one(scenario, link, where)


def _two_of_one(scenario: ScenarioFile, link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    """A host's own jitter where netem has one; two overheads of a link's one framing."""
    back = link.reverse
    own = back.netem if back and back.netem else link.netem
    rates = [line for line in (link.netem, own) if line and line.rate_bps]
    if len({line.overhead_bytes for line in rates}) > 1:
        what = "netem's rates in both directions have two overheads, and a link has one framing"
        yield Fault((*where, "reverse", "netem"), what, "write the same overhead")
    hosts = {name for name, host in scenario.hosts.items() if (host.send_jitter or scenario.send_jitter)}
    shapes = (back and back.jitter_distribution) or link.jitter_distribution
    for end, shaped in ((link.from_, link.netem or link.jitter_distribution), (link.to, own or shapes)):
        if shaped and end in hosts:
            what = f"{end} has a send_jitter, and its link has netem or a distribution"
            yield Fault(where, what, f"write send_jitter: 0 s for {end}, or jitter alone for the link")
            return
