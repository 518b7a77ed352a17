"""What the tests judge wall time by: a try that the machine disturbed is made again, what is wrong fails at once."""

import itertools

import pytest

from tests.support.stopwatch import TRIES, one_of_few, takes_as_long_as, takes_at_most, undisturbed


def test_the_first_undisturbed_try_counts() -> None:
    tried: list[int] = []

    def attempt(number: int) -> str:
        tried.append(number)
        undisturbed(number == 2, f"late {number}")
        return "done"

    assert one_of_few(attempt) == "done"
    assert tried == [0, 1, 2]


def test_what_no_try_shows_fails_with_what_all_have_seen() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"in none of 5 tries: late 0; late 1; .*; late 4"):
        one_of_few(lambda number: undisturbed(False, f"late {number}"))


def test_what_must_hold_always_fails_at_once() -> None:
    tried: list[int] = []

    def attempt(number: int) -> None:
        tried.append(number)
        raise AssertionError("wrong")

    with pytest.raises(AssertionError, match="wrong"):
        one_of_few(attempt)
    assert tried == [0]


def test_a_limit_in_seconds_grows_with_contention_only(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = itertools.chain([1.0, 1.0, 3.0], itertools.repeat(1.0))
    monkeypatch.setattr("tests.support.stopwatch.contention", lambda: next(beside))
    takes_at_most(2.0, lambda number: [5.0, 5.0][number])  # the second of them beside a contention of 3
    with pytest.raises(pytest.fail.Exception, match=r"2\.50 s beside a contention of 1\.00"):
        takes_at_most(2.0, lambda _: 2.5)


def test_a_limit_in_times_of_something_else() -> None:
    measured = iter([1.0, 1.0, 3.0])
    takes_as_long_as(
        2.0, lambda: next(measured), lambda _: 4.0
    )  # beside 1 and 1 it is too much, beside 1 and 3 it is not
    with pytest.raises(pytest.fail.Exception, match=r"4\.000 s, 4\.00 times 1\.000 s; 2\.0 are allowed"):
        takes_as_long_as(2.0, lambda: 1.0, lambda _: 4.0)
    assert TRIES == 5
