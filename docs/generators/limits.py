"""The words for what limits a transfer, and the thresholds by which they are found, made from their module."""

import inspect
import re
from typing import get_args

from landspeed.base import limits

TOLD_BY = {
    "show": limits.PlanLimit,
    "run": limits.RunLimit,
    "probe": limits.ProbeLimit,
    "engine": limits.EngineLimit,
    "import": limits.ImportLimit,
    "explore": limits.TheoryLimit,
    "record": limits.RecordedLimit,
}
THRESHOLD = re.compile(r'^([A-Z_]+): Final = ([\d.]+)\n"""(.+)"""$', re.MULTILINE)


def limit_words() -> str:
    """A table of the words: what each means, and what tells it."""
    rows = [
        f"| {word} | {meaning} | {', '.join(who for who, words in TOLD_BY.items() if word in get_args(words))} |"
        for word, meaning in limits.MEANINGS.items()
    ]
    return "\n".join(["| word | meaning | told by |", "|---|---|---|", *rows])


def limit_thresholds() -> str:
    """A table of the thresholds with their reasons."""
    rows = [f"| `{name}` | {value} | {why} |" for name, value, why in THRESHOLD.findall(inspect.getsource(limits))]
    return "\n".join(["| threshold | value | reason |", "|---|---:|---|", *rows])
