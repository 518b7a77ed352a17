"""Words as somebody in a hurry types them."""

import string
from collections.abc import Iterator


def mistyped(word: str) -> Iterator[str]:
    """The word with a letter left out, two exchanged, one doubled and one replaced, each once."""
    place = 2 + len(word) % 3 if len(word) > 6 else 1 + (word.startswith("--") and 2)
    other = string.ascii_lowercase[(ord(word[place]) * 7) % 26]
    yield word[:place] + word[place + 1 :]
    yield word[:place] + word[place : place + 2][::-1] + word[place + 2 :]
    yield word[:place] + word[place] + word[place:]
    yield word[:place] + other + word[place + 1 :]
