"""A page as somebody gets it who is sent this one file: alone in a folder, in a browser, at any width."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, sync_playwright

SWITCHES = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
PATIENCE_MS = 240_000  # of a machine that others use, too
WIDTHS = (360, 768, 1440)
EMPTY = """() => [...document.querySelectorAll("[role=img]")].filter(each => {
  const drawn = each.querySelectorAll("path, polyline, line, rect, circle");
  return each.getClientRects().length > 0 && drawn.length < 3;
}).map(each => each.getAttribute("aria-label"))"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@contextmanager
def chromium() -> Generator[Browser]:
    """The browser, until the end."""
    found = shutil.which("chromium")
    assert found is not None, "apt-get install chromium (setup/apt-packages-test.txt)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=SWITCHES)
        yield browser
        browser.close()


@contextmanager
def opened(page: Page, file: Path, width: int = 1440, scheme: Literal["light", "dark"] = "light") -> Generator[None]:
    """Load a file anew in a tab; in the end it has complained of nothing and asked for nothing but itself.

    A tab of its own for each load is a browser's process more: twice the work of the load.
    """
    told, asked = list[str](), list[str]()

    def complained(message: ConsoleMessage) -> None:
        told.append(message.text)

    def broke(error: Error) -> None:
        told.append(str(error))

    def requested(request: Request) -> None:
        asked.append(request.url)

    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", complained)
    page.on("pageerror", broke)
    page.on("request", requested)
    page.goto(file.as_uri())
    yield
    page.goto("about:blank")  # what it still had to say is said
    page.remove_listener("console", complained)
    page.remove_listener("pageerror", broke)
    page.remove_listener("request", requested)
    assert told == []
    assert [each for each in asked if not each.startswith(("data:", "about:"))] == [file.as_uri()]


def holds_alone(browser: Browser, file: Path, empty: Path) -> None:
    """Open a copy in an empty folder: every chart is drawn, nothing is too wide, axe finds nothing.

    Raises:
        AssertionError: something of this does not hold.
    """
    empty.mkdir()
    alone = Path(shutil.copy(file, empty / "page.html"))
    page = browser.new_page()
    for width in WIDTHS:
        with opened(page, alone, width):
            assert page.evaluate(EMPTY) == [], f"empty pictures at {width} px"
            assert page.evaluate(TOO_WIDE) <= 0, f"too wide at {width} px"
    for scheme in ("light", "dark"):
        with opened(page, alone, 1024, scheme):
            for each in page.locator("details").all():
                each.evaluate("each => { each.open = true; }")
            found = Axe().run(page).response["violations"]
            complaints = [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]
            assert complaints == [], complaints
    page.close()
