"""Shared by tests: what test_reverse and others use."""

from tests.support.engine.fixtures import Bench
from tests.support.engine.result import EngineResult, read_result


def send(bench: Bench, *options: str) -> EngineResult:
    """One run that succeeds, and its result."""
    program = bench.send(*options)
    assert program.wait() == 0, program.errors
    return read_result(bench.folder / "send.json")


def fail(bench: Bench, *options: str) -> EngineResult:
    """One that fails with a result."""
    program = bench.send(*options)
    assert program.wait() == 1, program.errors
    result = read_result(bench.folder / "send.json")
    assert result.complete is False
    return result
