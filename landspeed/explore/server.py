"""The page on loopback. Whoever has the address with its token may ask for runs; nobody else is told anything.

A page of somebody else in the same browser can reach loopback, also under a name of its own (DNS rebinding). So the
Host header must be ours, the Origin of what is sent too, and the token, which is in no page but ours, is in every path.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import Callable
from hmac import compare_digest
from typing import Any, cast

from landspeed.base.failures import NotPossible, NotReady
from landspeed.explore.run_queue import RequestRefused, RunQueue, RunRequest
from landspeed.runs.run import Run

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 24
MOST_BODY = 4096
READ_BODY = 16 * MOST_BODY  # who sends more is cut off, and may not hear why
TOLD_EVERY_S = 0.25
REPORT = "report.html"
"""What is given out of a bundle."""


def listening(port: int) -> socket.socket:
    """A socket on loopback.

    Args:
        port: 0 takes a free one.

    Raises:
        NotPossible: the port is taken, or not allowed.
    """
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOOPBACK, port))
        made.listen(64)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise NotPossible(
            f"--port {port}: {error.strerror or error}; another program listens there, perhaps another "
            "`landspeed explore --serve`: leave --port out, and a free one is taken"
        ) from error
    return made


async def serve(page: str, queue: RunQueue, door: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve until the task is cancelled; what runs then is ended.

    Args:
        page: the page as text.
        door: a listening socket.
        ready: called with the address once it answers.

    Raises:
        NotReady: Tornado is not installed.
    """
    try:
        from tornado.httpserver import HTTPServer
    except ImportError as error:
        door.close()
        raise NotReady("--serve needs Tornado, which is not installed: pip install 'landspeed[explore]'") from error
    token = secrets.token_urlsafe(TOKEN_BYTES)
    port = door.getsockname()[1]
    server = HTTPServer(make_application(page, queue, token, port), max_body_size=READ_BODY, max_header_size=16_384)
    server.add_socket(door)
    try:
        ready(f"http://{LOOPBACK}:{port}/{token}/")
        await asyncio.Event().wait()
    finally:
        server.stop()
        await queue.close()


def make_application(page: str, queue: RunQueue, token: str, port: int) -> Any:
    """The application: `/TOKEN/` is the page, below it runs, news and bundles."""
    from tornado.iostream import StreamClosedError
    from tornado.web import Application, RequestHandler

    hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}

    class GuardedHandler(RequestHandler):
        """Lets in who has the token, under our own name."""

        def set_default_headers(self) -> None:
            self.set_header("Server", "landspeed")
            self.set_header("Cache-Control", "no-store")
            self.set_header("Referrer-Policy", "no-referrer")
            self.set_header("X-Content-Type-Options", "nosniff")
            self.set_header("X-Frame-Options", "DENY")
            self.set_header("Cross-Origin-Resource-Policy", "same-origin")

        def prepare(self) -> None:
            given = str(self.request.path).split("/")[1]
            if self._header("Host") not in hosts:
                self.refuse(403, f"this is {LOOPBACK}:{port} and no other host")
            elif not compare_digest(given.encode(), token.encode()):
                self.refuse(403, "the address lacks the token that `landspeed explore --serve` printed")
            elif self.request.method == "POST" and not self._ours():
                self.refuse(403, "this was sent by a page of somebody else")
            elif len(self.request.body) > MOST_BODY:
                self.refuse(413, f"the body has more than {MOST_BODY} bytes")

        def _header(self, name: str) -> str | None:
            return cast("Any", self.request.headers).get(name)

        def _ours(self) -> bool:
            origin, kind = self._header("Origin"), (self._header("Content-Type") or "").partition(";")[0]
            return (origin is None or origin in {f"http://{host}" for host in hosts}) and kind == "application/json"

        def give(self, content: Any) -> None:
            cast("Any", self).finish(content)

        def refuse(self, status: int, why: str) -> None:
            self.set_status(status)
            self.give({"error": why})

        def write_error(self, status_code: int, **_: Any) -> None:
            self.give({"error": f"status {status_code}"})

    class NotFoundHandler(GuardedHandler):
        def get(self, *_: str) -> None:
            self.refuse(404, "there is nothing here")

        post = get

    class PageHandler(GuardedHandler):
        def get(self, *_: str) -> None:
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.give(page)

    class RunsHandler(GuardedHandler):
        def post(self, *_: str) -> None:
            try:
                body: Any = json.loads(self.request.body)
                asked = queue.ask(cast("dict[str, Any]", body).get("at") if isinstance(body, dict) else None)
            except ValueError:
                return self.refuse(400, "the body is no JSON")
            except RequestRefused as error:
                return self.refuse(400, str(error))
            self.set_status(202)
            return self.give(queue.told(asked))

    class Cancel(GuardedHandler):
        def post(self, _: str, number: str) -> None:
            try:
                asked = queue.cancel(int(number))
            except RequestRefused as error:
                return self.refuse(404, str(error))
            return self.give(queue.told(asked))

    class News(GuardedHandler):
        """Stream of changes, as server-sent events."""

        def initialize(self) -> None:
            self._wake = asyncio.Event()

        def on_connection_close(self) -> None:
            self._wake.set()

        async def get(self, *_: str) -> None:
            changed: dict[int, RunRequest] = {}

            def heard(asked: RunRequest) -> None:
                changed[asked.number] = asked
                self._wake.set()

            self.set_header("Content-Type", "text/event-stream")
            end = queue.listen(heard)
            try:
                await self._send(queue.everything())
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    now = list(changed.values())
                    changed.clear()
                    await self._send([queue.told(asked) for asked in now])
                    await asyncio.sleep(TOLD_EVERY_S)
            except (StreamClosedError, asyncio.CancelledError):
                pass  # the page was closed, or the server is ended
            finally:
                end()

        async def _send(self, told: list[dict[str, Any]]) -> None:
            cast("Any", self).write(f"data: {json.dumps(told)}\n\n")
            await self.flush()

    class Bundle(GuardedHandler):
        async def get(self, _: str, key: str, name: str) -> None:
            outcome = queue.collection.store.load(key)
            if outcome is None or outcome.bundle is None or name != REPORT:
                return self.refuse(404, "there is no such run")
            folder = queue.collection.store.bundles / outcome.bundle.rsplit("/", 1)[-1]
            if not (folder / name).is_file():
                await asyncio.to_thread(Run.load(folder).report)
            self.set_header("Content-Type", "text/html; charset=utf-8")
            return self.give(await asyncio.to_thread((folder / name).read_bytes))

    rules: list[tuple[str, type[RequestHandler]]] = [
        (r"/([^/]+)/", PageHandler),
        (r"/([^/]+)/runs", RunsHandler),
        (r"/([^/]+)/runs/([0-9]{1,9})/cancel", Cancel),
        (r"/([^/]+)/news", News),
        (r"/([^/]+)/bundles/([0-9a-f]{24})/([a-z.]+)", Bundle),
    ]
    return Application(rules, default_handler_class=NotFoundHandler, log_function=_silent)


def _silent(_: Any) -> None:
    """Log no requests: addresses have the token in them."""
