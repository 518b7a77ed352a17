"""Pytest's plug-in: the marker `landspeed`, the fixture `path`, and what is shown of a test that failed.

Pytest imports this in every session of an environment that has landspeed, so all else is imported when a path is made.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from landspeed.programs.path import NetworkPath

MARKER = (
    "landspeed(*paths, seeds=None, **options): the test takes a `path` on which programs run in virtual time, once for "
    "each path (packaged name, file, or Scenario) and seed; options as for landspeed.path"
)
FOLDER = ".landspeed"
SAMPLES = "10 ms"  # of virtual time


@dataclass(frozen=True)
class PathRequest:
    """A path that a test asks for.

    Attributes:
        what: name, file or scenario.
        seed: None: the scenario's own.
        options: of landspeed.path.
        many: whether the test has several seeds.
    """

    what: Any
    seed: int | None
    options: dict[str, Any]
    many: bool

    @property
    def name(self) -> str:
        """Name in the test's id."""
        return _name(self.what)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting for the folder in which failures are kept."""
    text = f"folder for what is kept of failed tests with a path (default: {FOLDER} in the root folder)"
    parser.addini("landspeed_dir", text, default=FOLDER)


def pytest_configure(config: pytest.Config) -> None:
    """Tell of the marker; the first process compares seeds at the end."""
    config.addinivalue_line("markers", MARKER)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SeedComparison(), "landspeed-comparison")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each path and seed."""
    marker = metafunc.definition.get_closest_marker("landspeed")
    if marker is None:
        return
    where = metafunc.definition.nodeid
    if "path" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"{where} has the marker landspeed and takes no argument `path`")
    if not marker.args:
        raise pytest.Collector.CollectError(f'{where}: name a path, as in @pytest.mark.landspeed("transatlantic")')
    options = dict(marker.kwargs)
    seeds = _seeds(where, options.pop("seeds", None))
    asked = [
        PathRequest(_what(each, metafunc.definition.path), seed, options, len(seeds) > 1)
        for each in marker.args
        for seed in seeds
    ]
    ids = [each.name if each.seed is None else f"{each.name}-seed{each.seed}" for each in asked]
    metafunc.parametrize("path", asked, ids=ids, indirect=True)


def _seeds(where: str, given: Iterable[int] | None) -> list[int | None]:
    seeds: list[Any] = [None] if given is None else [given] if isinstance(given, int) else list(given)
    if not seeds or not all(each is None or (type(each) is int and each >= 0) for each in seeds):
        raise pytest.Collector.CollectError(f"{where}: seeds={given!r} are no whole numbers; write seeds=range(5)")
    return seeds


def _what(what: Any, test: File) -> Any:
    """A file is meant from the test's own folder."""
    beside = test.parent / what if isinstance(what, str | File) else None
    return beside if beside is not None and beside.is_file() else what


def _name(what: Any) -> str:
    if isinstance(what, str | File):
        return File(what).stem if File(what).suffix else str(what)
    return str(cast("dict[str, Any]", what).get("name", "path") if isinstance(what, dict) else what.name)


_path = pytest.StashKey["NetworkPath"]()
_asked = pytest.StashKey[PathRequest]()
_passed = pytest.StashKey[set[str]]()


@pytest.fixture
def path(
    request: pytest.FixtureRequest, record_property: Any, tmp_path_factory: pytest.TempPathFactory
) -> Generator[NetworkPath]:
    """A path of the marker `landspeed`: its ends, its other nodes, its clock. See landspeed.NetworkPath."""
    asked: PathRequest | None = getattr(request, "param", None)
    if asked is None:
        pytest.fail('a test with a `path` needs the marker: @pytest.mark.landspeed("transatlantic")', pytrace=False)
    # saves 556 ms where it is not needed
    from landspeed.programs.library import path as make_path

    folder = tmp_path_factory.mktemp("landspeed")
    options: dict[str, Any] = {"samples": SAMPLES, **asked.options}
    options["visible"] = [tmp_path_factory.getbasetemp(), request.config.rootpath, *options.get("visible", ())]
    made = make_path(asked.what, seed=asked.seed, folder=folder, **options)
    path = _entered(made)
    if isinstance(path, str):
        pytest.fail(path, pytrace=False)
    record_property("landspeed_path", asked.name)
    record_property("landspeed_seed", path.seed)
    test = cast(pytest.Item, request.node)  # pyright: ignore[reportUnknownMemberType]  (pytest 9.1 does not say)
    test.stash[_path], test.stash[_asked] = path, asked
    try:
        yield path
    finally:
        try:
            made.__exit__(None, None, None)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _entered(made: AbstractContextManager[NetworkPath]) -> NetworkPath | str:
    """The path, or why there is none."""
    # saves 8 ms where it is not needed
    from landspeed.base.errors import LandspeedError

    try:
        return made.__enter__()
    except LandspeedError as error:
        return f"{error}{'; `landspeed doctor` says more' * error.about_machine}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep and show the facts of a failed test while its guest is there; keep the captures of a passed one."""
    report = yield
    path = item.stash.get(_path, None)
    if path is None or call.when != "call":
        return report
    # saves 317 ms where it is not needed
    from landspeed.programs.kept_files import keep_captures, keep_failure, safe_name

    asked = item.stash[_asked]
    told: dict[str, Any] = {"test": f"{item.nodeid.partition('[')[0]} on {asked.name}", "outcome": report.outcome}
    if report.failed:
        folder = item.config.rootpath / item.config.getini("landspeed_dir") / "failures" / safe_name(item.nodeid)
        report.sections.append(("landspeed", keep_failure(path, folder, _repeat(item))))
        told["folder"] = str(folder)
    elif report.passed and asked.many:
        kept = item.config.stash.setdefault(_passed, set())
        if told["test"] not in kept:  # one of each is enough to compare with
            kept.add(told["test"])
            folder = _session_folder(item) / f"passed-{safe_name(item.nodeid)}"
            keep_captures(path, folder)
            told["folder"] = str(folder)
    report.landspeed = told  # type: ignore[attr-defined]  # plain values: xdist brings them to the first process
    return report


def _repeat(item: pytest.Item) -> str:
    config = item.config
    return f"cd {shlex.quote(str(config.rootpath))} && pytest {shlex.quote(item.nodeid)}"


def _session_folder(item: pytest.Item) -> File:
    factory = cast("pytest.TempPathFactory", item.config._tmp_path_factory)  # type: ignore[attr-defined]
    return factory.getbasetemp()


@dataclass(eq=False)  # pytest puts plugins into sets where a folder has a conftest of its own
class SeedComparison:
    """Comparison of failing seeds with passing ones, shown at the end, when all have run.

    Attributes:
        passed: test → folder of one that passed.
        failed: test, id and folder of each that failed.
    """

    passed: dict[str, str] = field(default_factory=dict[str, str])
    failed: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember."""
        told: dict[str, Any] = getattr(report, "landspeed", {})
        if "folder" not in told:
            return
        if told["outcome"] == "passed":
            self.passed.setdefault(told["test"], told["folder"])
        else:
            self.failed.append((told["test"], report.nodeid, told["folder"]))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Compare."""
        pairs = [(*each, self.passed[each[0]]) for each in self.failed if each[0] in self.passed]
        if not pairs:
            return
        # saves 280 ms where it is not needed
        from landspeed.programs.kept_files import Kept, parting_lines

        terminalreporter.section("landspeed: where failing seeds part from passing ones")
        for _, nodeid, failed, passed in pairs:
            terminalreporter.line(nodeid)
            try:
                lines = parting_lines(Kept.read(File(failed)), Kept.read(File(passed)))
            except OSError as error:
                lines = [f"cannot be compared: {error}"]
            for line in lines:
                terminalreporter.line(f"  {line}")
            with (File(failed) / "story.txt").open("a") as story:
                story.write("\n".join(["", "Beside a seed that passed:", *lines]) + "\n")
