"""The course for a room: who one is, what one may see, forty browsers at once, and runs in fair order."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise import ABOUT, SCENARIO, TASK
from landspeed.course.fair_queue import FairQueue, QueueFullError
from landspeed.course.room import Room, RoomServer
from tests.support.emu_fixtures import wait_until
from tests.support.room_client import RoomClient

STUDENTS = tuple(f"student {number}" for number in range(40))
CLASS = ClassRegister("networks", "a secret of the lecturer", STUDENTS)


# --- The queue -------------------------------------------------------------------------------------------------------


def held(gate: threading.Event, told: str) -> str:
    """Work that ends when the gate is open."""
    assert gate.wait(20)
    return told


def test_each_student_in_turn() -> None:
    """Ada asks for four runs before Bob and Eve ask for one: who has had none comes before her second."""
    gate = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        queue = FairQueue(lambda: pool, 1)
        first, second, third, fourth = (queue.put("Ada", held, gate, f"{n}") for n in range(4))
        bob, eve = (queue.put(name, held, gate, name) for name in ("Bob", "Eve"))
        places = [queue.job(each.number, each.student) for each in (first, bob, eve, second, third, fourth)]
        assert [each.place for each in places if each] == [0, 1, 2, 3, 4, 5]
        with pytest.raises(QueueFullError, match="3 runs of yours are waiting"):
            queue.put("Ada", held, gate, "")
        assert queue.job(first.number, "Bob") is None, "hers alone"
        gate.set()
        wait_until(lambda: fourth.done, "the last run")
    assert queue.order == [each.number for each in (first, bob, eve, second, third, fourth)]
    assert (bob.told, fourth.told) == ("Bob", "3")


def test_work_that_breaks_is_told_and_the_next_begins() -> None:
    with ThreadPoolExecutor(1) as pool:
        queue = FairQueue(lambda: pool, 1)
        broken, next_one = queue.put("Ada", "".join, 7), queue.put("Ada", str, 7)
        wait_until(lambda: next_one.done, "the next run")
    assert broken.told == "It broke: can only join an iterable"
    assert next_one.told == "7"


def test_a_worker_that_dies_takes_its_job_with_it_and_no_other() -> None:
    queue = FairQueue(lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")), 1)
    died, after = queue.put("Ada", os._exit, 3), queue.put("Bob", str, 7)  # pyright: ignore[reportArgumentType]
    wait_until(lambda: after.done, "Bob's run")
    queue.close()
    assert died.told.startswith("It broke: ")
    assert after.told == "7"


# --- The server ------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RoomServer]:
    """A room with a page of a course."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("the course")
    (tmp_path / "secret").write_text("of the lecturer")
    with ThreadPoolExecutor(2) as pool:
        room = Room(tmp_path / "site", tmp_path / "room", FairQueue(lambda: pool, 2), CLASS)
        server = RoomServer(("127.0.0.1", 0), room)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
        server.server_close()


def test_who_one_is_and_what_one_may_see(served: RoomServer) -> None:
    ada, eve = RoomClient(served.server_port), RoomClient(served.server_port)
    assert ada.ask("GET", "/") == (200, "the course")
    assert "Your name, as your lecturer knows it" in ada.ask("GET", "/exercise/delay")[1]
    assert ada.ask("POST", "/exercise/delay/check")[0] == 403
    assert ada.enter("student 1") == 303
    assert "· student 1<" in ada.ask("GET", "/exercise/delay")[1]
    assert eve.enter("student 1") == 400, "taken"
    assert eve.enter("Eve") == 400, "not in the class"
    assert eve.enter("student 2") == 303
    assert ada.ask("GET", "/exercise/delay") != eve.ask("GET", "/exercise/delay")
    for path in ("/../secret", "/%2e%2e/secret", "//etc/passwd", "/exercise/chess", "/job/1", "/no-such"):
        assert ada.ask("GET", path)[0] == 404, path
    assert ada.ask("POST", "/enter", name="x" * 70_000)[0] == 413


def test_students_are_known_again(served: RoomServer, tmp_path: Path) -> None:
    ada = RoomClient(served.server_port)
    ada.enter("student 1")
    ada.ask("GET", "/exercise/delay")
    served.room = Room(served.room.site, served.room.folder, served.room.queue, CLASS)
    assert "· student 1<" in ada.ask("GET", "/exercise/delay")[1]


@pytest.mark.guest
def test_an_exercise_in_the_browser(served: RoomServer) -> None:
    """A trial with a value of one's own, a value that is none, an answer without unit, and a check."""
    ada = RoomClient(served.server_port)
    ada.enter("student 1")
    right, wrong, unread = (
        ada.job("/exercise/window/try", set="transfer.duration=1 s\n"),
        ada.job("/exercise/window/try", set="transfer.duration=soon"),
        ada.job("/exercise/window/check", bdp="1 MB", window="4"),
    )
    assert ada.told(right).startswith("goodput ")
    assert "transfer.duration" in ada.told(wrong)
    assert "a size needs a unit" in ada.told(unread)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param("transfer.duration=9 h", "more than 10 times the exercise's own work", marks=pytest.mark.guest),
        ("path.0.trace=/etc/passwd", "leave out trace and vary"),
        ("vary={seed: [1, 2, 3]}", "leave out trace and vary"),
    ],
)
def test_a_trial_takes_neither_the_machine_nor_its_files(served: RoomServer, values: str, said: str) -> None:
    ada = RoomClient(served.server_port)
    ada.enter("student 1")
    assert said in ada.told(ada.job("/exercise/window/try", set=values))


def made_when(gate: threading.Event, of: str) -> Callable[..., Path]:
    """Something that makes a student's exercise when the gate is open; others' at once."""

    def start(_: str, student: str, folder: Path, *__: object) -> Path:
        assert student != of or gate.wait(20)
        folder.mkdir()
        for name in (TASK, SCENARIO, ABOUT):
            (folder / name).write_text(f"of {student}")
        return folder

    return start


def test_nobody_waits_for_anothers_exercise(served: RoomServer, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr("landspeed.course.room.start", made_when(gate, "student 1"))
    ada, eve = RoomClient(served.server_port), RoomClient(served.server_port)
    assert (ada.enter("student 1"), eve.enter("student 2")) == (303, 303)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ada.ask, "GET", "/exercise/delay")
        assert "of student 2" in eve.ask("GET", "/exercise/delay")[1]
        assert not slow.done()
        gate.set()
        assert "of student 1" in slow.result()[1]


def test_a_run_for_an_exercise_waits_in_the_queue(served: RoomServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page comes at once and says so; asked for again, it is one run."""
    gate = threading.Event()
    monkeypatch.setattr("landspeed.course.room.start", made_when(gate, "student 1"))
    ada = RoomClient(served.server_port)
    ada.enter("student 1")
    for _ in range(2):
        assert "A run makes what your exercise hands out" in ada.ask("GET", "/exercise/fairness")[1]
    assert ada.ask("POST", "/exercise/fairness/check") == (409, "your exercise is being made; wait for its page")
    gate.set()
    wait_until(lambda: "of student 1" in ada.ask("GET", "/exercise/fairness")[1], "the exercise")
    assert served.room.queue.order == [1]


def test_forty_browsers_at_once(served: RoomServer) -> None:
    """Each enters, reads its exercise and hands in what cannot be read, so that no guest is needed."""
    clients = [RoomClient(served.server_port) for _ in STUDENTS]

    def work(client: RoomClient, name: str) -> str:
        assert client.enter(name) == 303
        assert client.ask("GET", "/")[0] == 200
        assert f"· {name}<" in client.ask("GET", "/exercise/delay")[1]
        return client.told(client.job("/exercise/delay/check", payload="700"))

    with ThreadPoolExecutor(40) as pool:
        told = list(pool.map(work, clients, STUDENTS))
    assert all("serialization: there is no answer" in each for each in told)
    assert sorted(served.room.queue.order) == list(range(1, 41))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the folder for the students' exercises"),
        (("room",), "there is no course; `landspeed lesson --all --out"),
        (("room", "--port", "70000"), "127.0.0.1:70000"),
    ],
)
def test_what_cannot_be_served(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    site = tmp_path / ("site" if "--port" in words else "none")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    assert main(["lesson", "serve", *words, "--out", str(site)]) == 2
    assert said in capsys.readouterr().err
