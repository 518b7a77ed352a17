"""The course on one machine for a room: pages, exercises, trials and checks for every browser. No student needs Linux.

A browser tells its student's name once, and has a cookie from then on. Each student has a folder of exercises on the
machine. Runs wait in a queue that takes each student in turn (course/fair_queue.py).
"""

from __future__ import annotations

import json
import mimetypes
import re
import secrets
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from markupsafe import Markup

from landspeed.base.errors import LandspeedError
from landspeed.base.files import read_object, write_atomically
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise import ABOUT, ANSWERS, SCENARIO, TASK, exercise_of, read_about, start
from landspeed.course.exercise_names import ExerciseError, folder_name, student_id
from landspeed.course.fair_queue import FairQueue, QueueFullError, RoomJob
from landspeed.course.grading import check
from landspeed.course.laboratory import Laboratory, LessonFile
from landspeed.course.lesson import Lesson, all_lessons
from landspeed.course.lesson_page import TEMPLATES, markdown, style
from landspeed.report.page_parts import environment

STUDENTS, RUNS = "students.json", "runs"
MOST_BYTES = 65_536  # of a form
MOST_TIMES = 10  # work of a trial, as a multiple of the exercise's own run
NOT_TRIED = re.compile(r"\b(trace|vary)\b")  # a file of this machine, and a run for each of many values
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def try_run(folder: Path, overrides: tuple[str, ...]) -> str:
    """Run the scenario of an exercise with values laid over it, and say what came out; a worker does it."""
    try:
        lesson = replace(read_about(folder).lesson, folder=folder.resolve())
        wanted = LessonFile(lesson, SCENARIO, None, overrides)
        with tempfile.TemporaryDirectory(prefix="landspeed-room-") as place:
            laboratory = Laboratory(Path(place), jobs=1)
            if refused := next(filter(NOT_TRIED.search, overrides), None):
                raise ExerciseError(f"{refused}: a trial changes single values; leave out trace and vary")
            if laboratory.packets(wanted) > MOST_TIMES * laboratory.packets(replace(wanted, overrides=())):
                raise ExerciseError(
                    f"that is more than {MOST_TIMES} times the exercise's own work; send less, or shorter"
                )
            (run,) = laboratory.one(wanted)
            told = run.record
            lines = [
                f"goodput {(told.goodput_bps or 0) / 1e6:.2f} Mbit/s over {told.duration_s or 0:.2f} s",
                f"{told.retransmits} packets sent again; bound by {told.limited_by}",
            ]
            return "\n".join(lines)
    except LandspeedError as error:
        return str(error)


def prepare(name: str, student: str, folder: Path, runs: Path, register: ClassRegister | None) -> str:
    """Make an exercise that hands out the samples of a run; a worker does it."""
    try:
        start(name, student, folder, Laboratory(runs, jobs=1), register)
    except LandspeedError as error:
        return str(error)
    return ""


def grade(folder: Path, runs: Path, register: ClassRegister | None) -> str:
    """Grade an exercise; a worker does it."""
    try:
        return str(check(folder, Laboratory(jobs=1), register, runs))
    except LandspeedError as error:
        return str(error).replace(f"{folder}/", "")


class Room:
    """State that a room's browsers share: students, folders, and the queue."""

    def __init__(self, site: Path, folder: Path, queue: FairQueue, register: ClassRegister | None = None) -> None:
        """Open a room, or open it again: students and folders are kept.

        Args:
            site: pages of the course.
            folder: for the students' exercises.
            register: the class; None: anybody may enter, by any name.
        """
        self.site, self.folder, self.queue, self.register = site.resolve(), folder.resolve(), queue, register
        self.runs = self.folder / RUNS  # no student's program reads what others have run
        for each in (self.folder, self.runs):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._starting: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
        self._preparing: dict[Path, RoomJob] = {}
        self._saved = 0
        self._students: dict[str, str] = {key: str(value) for key, value in read_object(folder / STUDENTS).items()}

    def enter(self, name: str) -> str:
        """A student's secret for the cookie.

        Raises:
            ExerciseError: the name cannot be used, is not in the class, or is taken by another browser.
        """
        who = student_id(name)
        if self.register is not None and who not in self.register.students:
            raise ExerciseError(f"'{who}' is not in the class {self.register.name}; ask your lecturer")
        secret = secrets.token_urlsafe(16)
        with self._lock:
            if who in self._students.values():
                raise ExerciseError(f"'{who}' is here already, in another browser; ask your lecturer")
            self._students[secret] = who
            number = len(self._students)
        with self._saving:  # who waited here finds that another one has written for both
            if self._saved < number:
                with self._lock:
                    everybody = dict(self._students)
                write_atomically(self.folder / STUDENTS, json.dumps(everybody, ensure_ascii=False).encode())
                self._saved = len(everybody)
        return secret

    def student(self, secret: str) -> str | None:
        """Name of the student with this cookie."""
        return self._students.get(secret)

    def exercise(self, student: str, lesson: Lesson) -> Path | RoomJob:
        """Folder of a student's exercise, made when first asked for; while a run for it waits or goes on, its job.

        Raises:
            QueueFullError: the student has enough work waiting.
        """
        folder = self.folder / folder_name(lesson.name, student)
        with self._lock:
            turn = self._starting[folder]
        with turn:  # nobody waits for the disk on behalf of another student
            if (folder / ABOUT).exists():
                self._preparing.pop(folder, None)
            elif not getattr(lesson.exercise, "DRAWN_BY_RUN", False):
                start(lesson.name, student, folder, Laboratory(self.runs, jobs=1), self.register)
            elif (job := self._preparing.get(folder)) is not None:
                return self._preparing.pop(folder) if job.done else job
            else:
                work = (lesson.name, student, folder, self.runs, self.register)
                self._preparing[folder] = self.queue.put(student, prepare, *work)
                return self._preparing[folder]
        return folder

    def answer(self, folder: Path, form: Mapping[str, str]) -> None:
        """Write a student's answers, and programs if the exercise has some."""
        asked = exercise_of(read_about(folder).lesson.name).exercise
        assert asked is not None
        lines = [f"{key}: {json.dumps(form.get(key, '').strip(), ensure_ascii=False)}\n" for key in asked.ASKED]
        write_atomically(folder / ANSWERS, "".join(lines).encode())
        for file in folder.glob("*.py"):
            if text := form.get(file.name, "").replace("\r\n", "\n"):
                write_atomically(file, text.encode())


class RoomHandler(BaseHTTPRequestHandler):
    """One request of a browser."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # a browser that says nothing for so long has gone

    def do_GET(self) -> None:
        """Pages of the course, an exercise, or the state of a job."""
        path = urlsplit(self.path).path
        if found := re.fullmatch(r"/exercise/([a-z0-9-]+)", path):
            self._exercise(found[1])
        elif found := re.fullmatch(r"/job/(\d{1,9})", path):
            self._job(int(found[1]))
        else:
            self._file(path.lstrip("/") or "index.html")

    def do_POST(self) -> None:
        """A name, a trial, or answers."""
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= MOST_BYTES:
            self.close_connection = True
            self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MOST_BYTES} bytes")
            return
        fields = parse_qs(self.rfile.read(size).decode(errors="replace"), keep_blank_values=True)
        form = {key: values[0] for key, values in fields.items()}
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            self._say(HTTPStatus.FORBIDDEN, "this came from another site")
        elif self.path == "/enter":
            self._enter(form)
        elif found := re.fullmatch(r"/exercise/([a-z0-9-]+)/(try|check)", self.path):
            self._ask(found[1], found[2], form)
        else:
            self._say(HTTPStatus.NOT_FOUND, "there is no such page")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of each request."""

    @property
    def _serving(self) -> RoomServer:
        assert isinstance(self.server, RoomServer)
        return self.server

    @property
    def _student(self) -> str | None:
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("student")
        return self._serving.room.student(cookie.value) if cookie else None

    def _lesson(self, name: str) -> Lesson | None:
        return next((each for each in self._serving.lessons if each.name == name), None)

    def _enter(self, form: Mapping[str, str]) -> None:
        back = form.get("lesson", "")
        try:
            secret = self._serving.room.enter(form.get("name", ""))
        except ExerciseError as error:
            self._say(HTTPStatus.BAD_REQUEST, str(error))
            return
        there = f"/exercise/{back}" if self._lesson(back) else "/"
        cookie = f"student={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=15552000"
        self._send(HTTPStatus.SEE_OTHER, b"", "text/plain", {"Location": there, "Set-Cookie": cookie})

    def _exercise(self, name: str) -> None:
        lesson, student = self._lesson(name), self._student
        if lesson is None or lesson.exercise is None:
            self._say(HTTPStatus.NOT_FOUND, "there is no such exercise")
            return
        files: dict[str, str] = {}
        task = scenario = ""
        folder = job = None
        if student is not None:
            try:
                made = self._serving.room.exercise(student, lesson)
            except QueueFullError as error:
                self._say(HTTPStatus.TOO_MANY_REQUESTS, str(error))
                return
            folder, job = (None, made) if isinstance(made, RoomJob) else (made, None)
        if folder is not None:
            task = (folder / TASK).read_text(encoding="utf-8").partition("## Hand in")[0]
            scenario = (folder / SCENARIO).read_text(encoding="utf-8")
            files = {each.name: each.read_text(encoding="utf-8") for each in sorted(folder.glob("*.[pc][ys]*"))}
        page = environment(TEMPLATES).get_template("room.html.j2")
        html = page.render(
            lesson=lesson,
            student=student,
            preparing=job,
            task=Markup(markdown(task)),
            scenario=scenario,
            asked=lesson.exercise.ASKED,
            files=files,
            style=style(),
        )
        self._send(HTTPStatus.OK, html.encode(), "text/html; charset=utf-8")

    def _ask(self, name: str, what: str, form: Mapping[str, str]) -> None:
        lesson, student, room = self._lesson(name), self._student, self._serving.room
        if lesson is None or student is None:
            self._say(HTTPStatus.FORBIDDEN, "tell your name first")
            return
        try:
            folder = room.exercise(student, lesson)
            if isinstance(folder, RoomJob):
                self._say(HTTPStatus.CONFLICT, "your exercise is being made; wait for its page")
                return
            if what == "try":
                overrides = tuple(line.strip() for line in form.get("set", "").splitlines() if line.strip())
                job = room.queue.put(student, try_run, folder, overrides)
            else:
                room.answer(folder, form)
                job = room.queue.put(student, grade, folder, room.runs, room.register)
        except QueueFullError as error:
            self._say(HTTPStatus.TOO_MANY_REQUESTS, str(error))
            return
        self._send(HTTPStatus.ACCEPTED, json.dumps({"job": job.number}).encode(), "application/json")

    def _job(self, number: int) -> None:
        job = self._serving.room.queue.job(number, self._student or "")
        if job is None:
            self._say(HTTPStatus.NOT_FOUND, "there is no such job of yours")
            return
        told = {"place": job.place, "done": job.done, "told": job.told}
        self._send(HTTPStatus.OK, json.dumps(told, ensure_ascii=False).encode(), "application/json")

    def _file(self, name: str) -> None:
        file = (self._serving.room.site / name).resolve()
        if not file.is_relative_to(self._serving.room.site) or not file.is_file() or file.name.startswith("."):
            self._say(HTTPStatus.NOT_FOUND, "there is no such page")
            return
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        self._send(HTTPStatus.OK, file.read_bytes(), f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, text.encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, content: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        head = {"Content-Type": kind, "Content-Length": str(len(content)), "X-Content-Type-Options": "nosniff"}
        if "html" in kind and self.path.startswith("/exercise/"):
            head["Content-Security-Policy"] = POLICY
        for name, value in (head | dict(more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class RoomServer(ThreadingHTTPServer):
    """Serves a room, a thread a browser."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], room: Room) -> None:
        """Listen."""
        super().__init__(address, RoomHandler)
        self.room = room
        self.lessons = all_lessons()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
