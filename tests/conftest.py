"""For all tests: what they need, the place each worker has to itself, and quiet for those that measure this machine.

What several test files share is in tests/support; no test imports another one.
"""

import ctypes
import fcntl
import gc
import os
import shutil
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_rerunfailures import StatusDB

from tests.support import builds
from tests.support.dearest import Dearest
from tests.support.fuzzing import LONG
from tests.support.known_tests import keep_known

settings.load_profile("long" if LONG else "steady")  # before any test is read
# pytest rewrites the assertions of 366 files: two thirds of the time in which it reads all tests, unless it may keep
# what it made.
sys.dont_write_bytecode = False
os.environ["PYTHONDONTWRITEBYTECODE"] = ""  # nor in the programs of tests: a pytest of theirs takes half as long
gc.set_threshold(200_000)  # what reading the tests makes stays: to look through it again and again is a tenth
os.environ["LANDSPEED_WALL_TIMES"] = os.devnull  # what runs of tests take is nothing to learn from

HERE = Path(__file__).resolve().parent
LAB = "servers"  # the fixture that is the lab
CHEAP = {"engine", "no_kernel"}  # shared fixtures that each worker may well make for itself
CLONE_NEWNS = 0x00020000
MS_BIND = 0x1000
MS_REC_PRIVATE = 0x4000 | 0x40000
OWN_FOLDERS = ("/dev/shm", "/run/netns")
NULL = Path(os.devnull)
NULL_FOR_ALL = stat.S_IFCHR | 0o666


def _worker(config: pytest.Config) -> str:
    """The name of this worker, or of the only process."""
    return getattr(config, "workerinput", {}).get("workerid", "main")


def pytest_configure(config: pytest.Config) -> None:
    """A worker beside others sees its own guests and namespaces only, so that its tests can look for leftovers."""
    config.option.loadscopereorder = False  # pytest-xdist would put the largest groups first, not the longest
    config.pluginmanager.register(Dearest())
    builds.begin_reports()
    builds.use_reports(_worker(config))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under `nohup … &`: programs would ignore a test's Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if not hasattr(config, "workerinput") or os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC_PRIVATE, None):
        return  # root of a container that may not: tests that look for leftovers may see those of others
    # A node to which no other process of root's can do anything: a machine was met whose own only root could open. The
    # file system that it lies in goes below the mount, so that nothing of it is seen but /dev/null.
    shm = os.fsencode(OWN_FOLDERS[0])
    own = Path(OWN_FOLDERS[0]) / "null"
    libc.mount(b"tmpfs", shm, b"tmpfs", 0, None)
    os.mknod(own, NULL_FOR_ALL, os.makedev(1, 3))
    own.chmod(0o666)
    libc.mount(os.fsencode(own), os.fsencode(NULL), None, MS_BIND, None)
    libc.umount(shm)
    for folder in OWN_FOLDERS:
        Path(folder).mkdir(exist_ok=True)
        libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, None)


def pytest_report_header() -> list[str]:
    """What of this machine is not as everywhere."""
    mode = NULL.stat().st_mode
    return [] if mode == NULL_FOR_ALL else [f"{NULL} of this machine is {stat.filemode(mode)}: not for all users"]


def _mark(item: pytest.Item) -> None:
    """Add the lab's markers to who uses it, and bring tests that share a costly fixture to one worker."""
    if not isinstance(item, pytest.Function):
        return
    if LAB in item.fixturenames:
        for each in (pytest.mark.lab, pytest.mark.root, pytest.mark.guest, pytest.mark.xdist_group("lab")):
            item.add_marker(each)
        return
    made = [each[-1] for each in item._fixtureinfo.name2fixturedefs.values()]
    ours = [each for each in made if not each.func.__module__.startswith("_pytest") and each.argname not in CHEAP]
    if any(each.scope in ("module", "session") for each in ours):
        item.add_marker(pytest.mark.xdist_group(item.path.relative_to(HERE).as_posix()))


def _turn(item: pytest.Item) -> int:
    """When it comes among workers: what is long first, so that all of them end at once.

    The lab is one row that no other worker can shorten; rows of tests that share a fixture are long, too. A test that
    wants the machine alone waits for the longest that runs beside it: at the end those are short.
    """
    order = [
        isinstance(item, pytest.Function) and LAB in item.fixturenames,
        item.get_closest_marker("xdist_group") is not None,
        any(item.get_closest_marker(name) for name in ("slow", "guest")),
        item.get_closest_marker("alone") is None,
    ]
    return order.index(True) if True in order else len(order)


def pytest_sessionstart(session: pytest.Session) -> None:
    """A worker asks nobody how often a test has failed: each question waits 40 ms (Nagle's algorithm) beside the test.

    pytest-rerunfailures would know it after a worker's crash, after which pytest-xdist gives no test of ours again.
    """
    if hasattr(session.config, "workerinput"):
        vars(session.config)["failures_db"] = StatusDB()


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add markers; workers get the tests in the order of their length."""
    keep_known(config, items)
    for item in items:
        _mark(item)
        if os.geteuid() != 0 and item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="needs root"))
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without its groups pytest-xdist makes the lab and the like once for each worker: slow, and it says nothing."""
    gc.freeze()  # no garbage is among what has been read
    if getattr(session.config.option, "loadgroup", False):
        astray = [
            item.nodeid for item in session.items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid
        ]
        if astray:
            raise pytest.UsageError(f"pytest-xdist did not group {astray[0]}: does it know this pytest?")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tests share the machine; one with the marker `alone` waits until no other runs, and keeps others waiting.

    Two locks: who wants the machine alone holds the door shut while those inside finish.
    """
    folder = item.config.rootpath / item.config.getini("cache_dir")
    folder.mkdir(parents=True, exist_ok=True)
    alone = item.get_closest_marker("alone") is not None
    with (folder / "door").open("w") as door, (folder / "room").open("w") as room:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """What a sanitizer reported after the test that had started the program."""
    if not hasattr(session.config, "workerinput") and (found := builds.end_reports()):
        sys.stderr.write(f"\nreported by sanitizers after the tests:\n{found}\n")
        session.exitstatus = 1


@pytest.fixture(autouse=True)
def no_report_of_a_sanitizer(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test whose programs' sanitizers report anything fails; only with a build of LANDSPEED_…_BUILD."""
    yield
    assert not (found := builds.new_reports(_worker(request.config))), found


@pytest.fixture
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder that a guest sees: below /tmp it has one of its own."""
    folder = HERE.parent / "build" / request.path.stem / f"{tmp_path.name}-{_worker(request.config)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def no_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which no kernel was built."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def only_marked_tests_boot(request: pytest.FixtureRequest, no_kernel: Path) -> Iterator[None]:
    """A test that boots a guest without the marker `guest` fails here and not in `make test-fast` of somebody else."""
    if request.node.get_closest_marker("guest"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(no_kernel))
        yield


@pytest.fixture(autouse=True)
def null_stays_open_to_all() -> Iterator[None]:
    """A test after which ordinary users cannot open /dev/null fails itself, not those after it."""
    before = NULL.stat().st_mode
    yield
    assert (after := NULL.stat().st_mode) == before, f"{NULL}: {stat.filemode(before)} became {stat.filemode(after)}"
