"""The fixtures of all tests of the engine: its program, a bench of its processes, what strangers are tried on."""

from tests.support.engine.fixtures import bench_fixture, engine_fixture
from tests.support.engine.hostile import place_fixture
from tests.support.engine.third_party import three_fixture

__all__ = ["bench_fixture", "engine_fixture", "place_fixture", "three_fixture"]
