"""Words that may have been meant by one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it, whether or not its letters are capital; empty when none is like it."""
    by_form, form = {_form(each): each for each in known}, _form(word)
    alike = 0.5 if len(form) == 2 else 0.6  # of two letters one may be wrong, too
    return next((by_form[each] for each in difflib.get_close_matches(form, by_form, 1, alike)), "")


def meant_or_all(word: str, known: Iterable[str]) -> str:
    """`did you mean cake?`, or all that there are when none is like it."""
    listed = list(known)
    near = nearest(word, listed)
    return f"did you mean {near}?" if near else f"there are {', '.join(listed) or 'none'}"


def meant(word: str, known: Iterable[str]) -> str:
    """`did you mean cake? `, to stand before what may be written; empty when none is like it."""
    near = nearest(word, known)
    return f"did you mean {near}? " if near else ""


def _form(word: str) -> str:
    return word.casefold().replace("_", "-")
