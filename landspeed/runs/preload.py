"""Import the judge and report in a thread while the world runs. Saves half a second, in which this process only waits.

Nobody else imports it meanwhile: of two threads that import pyarrow at once, one may be given a module that is half
there ("partially initialized module").
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from importlib import import_module

LATER = (
    *(
        "landspeed.judge.judge",
        "landspeed.results.sample_columns",
        "landspeed.report.run_report",
        "landspeed.report.summary",
    ),
    *(
        "landspeed.report.charts",
        "landspeed.report.configuration",
        "landspeed.report.diagram",
        "landspeed.report.queue_table",
        "landspeed.report.tables",
    ),
    *("pyarrow.csv", "pyarrow.parquet", "pyarrow.compute", "pyarrow.acero", "jinja2", "rich.console"),
)
"""What is imported when a world has run: to judge, to keep, to report."""


class Imports:
    """Imports that are made once, by a thread of their own."""

    def __init__(self) -> None:
        """Prepare the thread; import nothing yet."""
        self._starting = threading.Lock()
        self._alone = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Let them begin, if they have not."""
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._go, name="imports")
                thread.start()  # Ctrl-C may end it here: who waits then must not find one that has not begun
                self._thread = thread

    def wait(self) -> None:
        """Wait until the imports have ended, if they have begun."""
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """A block that imports something of it by itself."""
        with self._alone:
            yield

    def _go(self) -> None:
        with self._alone, contextlib.suppress(Exception):  # it is told where it is imported for good
            for name in LATER:
                import_module(name)
            import_module("pyarrow").array([0])  # looks for pandas
            import_module("landspeed.report.page_parts").environment().get_template("report.html.j2")  # compiles it


IMPORTS = Imports()
"""Those of this process."""
