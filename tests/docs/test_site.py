"""The site of the documents: it builds without a warning, its links lead somewhere, it asks nothing of a network."""

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.support.browser import visited

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}  # what a browser fetches


class Page(HTMLParser):
    """Names of places in a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each tag."""
        values = {name: value or "" for name, value in attrs}
        self.names |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]):
            self.loads.append(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(ROOT / "docs")]
    words += [str(folder / "html"), "-d", str(folder / "doctrees")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}


def test_every_internal_link_leads_to_a_place(pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            here = target in pages and unquote(parts.fragment) in pages[target].names | {""}
            if not (here or (target not in pages and target.is_file())):
                broken.append(f"{file.name}: {link}")
    assert not broken


def test_what_was_built_is_a_part_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links lead to the course where it was built, and it is copied into the site; else the words stand alone."""
    from docs.generators import built

    monkeypatch.setattr(built, "BUILT", {"course": tmp_path / "course", "submissions": tmp_path / "none"})
    assert built.course_links() == built.UNBUILT
    assert "<a" not in built.lessons()
    assert built.lessons().count("\n") == 1 + len(list((ROOT / "lessons").glob("*/lesson.md")))
    (tmp_path / "course").mkdir()
    for name in ("index", "delay", "explore"):
        (tmp_path / "course" / f"{name}.html").write_text(name)
    assert 'href="../course/index.html"' in built.course_links("../")
    assert built.lessons().count('<a href="../course/delay.html">') == 1
    site = tmp_path / "site"
    site.mkdir()
    app: Any = SimpleNamespace(outdir=str(site))
    built.copy_built(app, None)
    assert {file.name for file in (site / "course").iterdir()} == {"index.html", "delay.html", "explore.html"}
    assert not (site / "submissions").exists()


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    assert len(pages) > 40
    assert {
        load
        for page in pages.values()
        for load in page.loads
        if urlsplit(load).scheme not in ("", "data") or load[:2] == "//"
    } == set()


@pytest.mark.parametrize("page", ["index.html", "reference/scenario.html", "search.html"])
def test_a_browser_asks_nothing_of_a_network(site: Path, tmp_path: Path, page: str) -> None:
    text, console, asked = visited(site / page, tmp_path)
    assert "landspeed" in text
    assert console == ""
    assert {each for each in asked if not each.startswith(("file:", "data:", "blob:"))} == set()


def test_the_reference_is_of_this_program(site: Path) -> None:
    """One thing of each generator, which a page written by hand would not have the day it is added."""
    import landspeed
    from landspeed.cli.command_table import COMMANDS
    from landspeed.results.record import RunRecord
    from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS
    from landspeed.scenario.file.schema import scenario_schema

    pages = ("scenario", "commands", "bundle", "library", "exceptions")
    text = {name: (site / "reference" / f"{name}.html").read_text() for name in pages}
    assert all(
        f'id="landspeed.{name}"' in text["library"] + text["exceptions"] for name in landspeed.__all__ if name[0] != "_"
    )
    assert all(f'id="landspeed-{word}"' in text["commands"] for word in COMMANDS)
    schema = scenario_schema()
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", {})}
    assert len(keys) > 60
    assert all(f">{name}</span>" in text["scenario"] for name in keys | set(CONGESTION_CONTROLS))
    assert all(f">{field}</span>" in text["bundle"] for field in RunRecord.model_fields)


def test_the_record_book_shows_every_record(site: Path) -> None:
    from landspeed.runs.record_book import record_plans

    text = (site / "explanation" / "record-book.html").read_text()
    for plan in record_plans().values():
        assert f'id="record-{plan.scenario}"' in text
    assert "not rehearsed" not in text


def test_no_page_scrolls_sideways(site: Path) -> None:
    """At the widths around which the style changes: a list of pages, a text of 120 columns, a page's own contents."""
    wide = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        for file in ("ns3/03-prr.html", "explanation/engine-bench.html"):
            for width in (390, 1000, 1100, 1279, 1281, 1440, 1790, 1800, 1920):
                page.set_viewport_size({"width": width, "height": 900})
                page.goto((site / file).as_uri())
                takes = page.evaluate("document.documentElement.scrollWidth")
                wide += [(file, width, takes)] if takes > width else []
        browser.close()
    assert not wide
