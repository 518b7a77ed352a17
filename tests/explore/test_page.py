"""The explore page in a browser: by mouse, keyboard and touch, from a telephone to a desk, on paper, for everybody."""

import json
import random
import shutil
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from landspeed.explore.goodput_theory import bound
from landspeed.explore.grid import code_of, steps
from landspeed.explore.setting import setting_at, sliders
from tests.support.explore_fixtures import Served, explore, serving
from tests.support.toy_world import make_site

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("explore-page")]
SWITCHES = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
PATIENCE_MS = 120_000  # on a machine that others keep busy
expect.set_options(timeout=PATIENCE_MS)
FIRST_PICTURE_S = 1.0
CURVE = "#time .theory-line"


@dataclass
class Seen:
    """What a page did beside what it shows."""

    console: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Site of the world, folder of the runs, and a page with a grid of them."""
    folder = tmp_path_factory.mktemp("explore")
    site, page = make_site(folder), folder / "explore.html"
    done = explore(site, folder / "runs", "--out", page, "--quiet", "--measure", "--spread", 20)
    assert done.returncode == 0, done.stderr
    return site, folder / "runs", page


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        assert chromium is not None, "apt-get install chromium (setup/apt-packages-test.txt)"
        found = playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield found
        found.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Generator[Page]:
    """A tab for one test after the other: to make one is more work than to load a page."""
    with browser.new_page() as page:
        yield page


def shown(page: Page, address: str, width: int = 1440) -> tuple[Page, Seen]:
    """A page, loaded anew in a tab and drawn."""
    page.goto("about:blank")
    page.mouse.move(0, 0)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
    page.set_default_timeout(PATIENCE_MS)
    seen = Seen()
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    page.on("request", lambda request: seen.asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page, seen


@pytest.fixture
def static(tab: Page, place: tuple[Path, Path, Path]) -> Generator[tuple[Page, Seen]]:
    page, seen = shown(tab, place[2].as_uri())
    yield page, seen
    assert seen.console == []
    assert all(each.startswith(("file:", "data:")) for each in seen.asked), seen.asked


def rate(page: Page, place: str) -> float:
    """A goodput that the page tells, in bit/s."""
    number, unit = page.locator(f"#{place}").inner_text().split("\u00a0")
    return float(number) * {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}[unit]


def slide(page: Page, key: str, value: int) -> None:
    page.locator(f"#s-{key}").fill(str(value))
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_sliders_move_the_curve(static: tuple[Page, Seen]) -> None:
    page, _ = static
    before, mean = page.locator(CURVE).get_attribute("d"), rate(page, "theory-mean")
    assert mean == pytest.approx(setting_at(sliders(), [each.start for each in sliders()]).mean_bps, rel=1e-3)
    assert page.locator("#theory-delay").inner_text() == "Round trip under load 100\u00a0ms, idle 100 ms."
    slide(page, "window", 4)  # 16 MB, more than the BDP: the rest stands in the queue
    delay = page.locator("#theory-delay").inner_text().removeprefix("Round trip under load ").split("\u00a0")[0]
    places = [4 if each.key == "window" else each.start for each in sliders()]
    assert float(delay) == pytest.approx(100 * setting_at(sliders(), places).window_bdp, rel=1e-3)
    slide(page, "window", 2)
    assert page.locator(CURVE).get_attribute("d") != before
    assert rate(page, "theory-mean") == pytest.approx(690 * 1448 * 8 / 0.1, rel=1e-3)
    assert page.locator("#o-window").inner_text() == "1 MB"
    assert "window" in page.locator("#theory-bound").inner_text()
    page.locator("#s-control").select_option("reno")
    slide(page, "window", 7)
    slide(page, "loss", 4)
    assert "loss at random" in page.locator("#theory-bound").inner_text()
    assert "Reno" in page.locator("#time").inner_text()  # the limit's line has its name
    page.locator("#reset").click()
    expect(page.locator(CURVE)).to_have_attribute("d", str(before))


def test_the_page_says_what_python_says(static: tuple[Page, Seen]) -> None:
    """Its script is the model once more: nodes, means and limits of settings that were drawn."""
    page, _ = static
    chosen = sliders()
    draw = random.Random(7)
    places = [[draw.randrange(len(slider.values)) for slider in chosen] for _ in range(600)]
    told = page.evaluate("places => places.map(landspeed.theory)", places)
    for at, theory in zip(places, told, strict=True):
        found = setting_at(chosen, at)
        share, curve = found.share, found.curve
        assert theory["mean"] == pytest.approx(found.mean_bps, rel=1e-6), at
        assert theory["long"] == pytest.approx(found.line_rate_bps * curve.long_level(share.pipe), rel=1e-6), at
        assert theory["bound"] == bound(curve, share), at
        for part, nodes in (("rise", curve.rise), ("cycle", curve.cycle)):
            drawn = {round(each["time"], 6): each["level"] for each in theory[part]}
            for time_s, window in nodes[-1:]:
                assert drawn[round(time_s, 6)] == pytest.approx(min(window / share.pipe, 1), rel=1e-6), (at, part)
            peak = max(1 + each["queue"] if each["level"] == 1 else each["level"] for each in theory[part])
            assert peak == pytest.approx(max(window for _, window in nodes) / share.pipe, rel=1e-6), (at, part)


def test_measured_points_lie_where_they_were_measured(static: tuple[Page, Seen]) -> None:
    page, _ = static
    dots = page.locator("#along .measured-dot:not(.near)")
    assert dots.count() == len(sliders()[2].values)  # the grid moves the window alone
    assert rate(page, "measured-mean") == pytest.approx(rate(page, "theory-mean"), rel=0.15)
    page.locator("summary").click()
    rows = page.locator("#table tbody tr").count()
    assert rows == page.evaluate("landspeed.data.points.length") > 25


def test_the_nearest_run_is_named_where_nothing_is_measured(static: tuple[Page, Seen]) -> None:
    """How far it is, what is different there, and how far it is from its own theory; a press goes to it."""
    page, _ = static
    assert not page.locator("#near").is_visible()  # the first setting is measured
    for key, value in (("rtt", 1), ("streams", 2), ("window", 4), ("mtu", 1)):
        slide(page, key, value)
    chosen = sliders()
    here, points = page.evaluate("[landspeed.chosen(), landspeed.data.points]")
    far = {tuple(each["at"]): steps(code_of(chosen, each["at"]), code_of(chosen, here)) for each in points}
    nearest = min(far.values())
    assert nearest >= 1
    said = "one step of a slider away" if nearest == 1 else f"{nearest} steps of sliders away"
    assert page.locator("#near-far").inner_text() == said
    page.locator("#near-go").click()
    expect(page.locator("#near")).to_be_hidden()
    there = page.evaluate("landspeed.chosen()")
    assert far[tuple(there)] == nearest
    point = next(each for each in points if each["at"] == there)
    assert rate(page, "measured-mean") == pytest.approx(point["mean"], rel=1e-3)


def test_keyboard_alone(static: tuple[Page, Seen]) -> None:
    page, _ = static
    reached: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.id || document.activeElement.tagName")
        if name in reached or name == "BODY":  # round, or out at the end
            break
        reached.append(name)
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring != "none", f"{name} does not show that it has the focus"
    for wanted in (
        *(f"s-{slider.key}" for slider in sliders()),
        "reset",
        "play",
        "moment",
        "still",
        "span",
        "along-key",
    ):
        assert wanted in reached
    page.locator("#s-window").focus()
    before = page.locator("#theory-mean").inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#o-window")).to_have_text("1 MB")
    expect(page.locator("#s-window")).to_have_attribute("aria-valuetext", "1 MB")
    expect(page.locator("#theory-mean")).not_to_have_text(before)
    moment = page.locator("#moment-text").inner_text()
    page.locator("#play").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#moment-text")).not_to_have_text(moment)
    page.keyboard.press("Enter")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("width", [360, 768, 1024, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(tab: Page, place: tuple[Path, Path, Path], width: int, scheme: str) -> None:
    page, seen = shown(tab, place[2].as_uri(), width)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    slide(page, "streams", 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page).response["violations"]
    grave = [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")]
    assert grave == []
    assert seen.console == []


def test_the_pipe_moves_unless_it_shall_not(tab: Page, place: tuple[Path, Path, Path]) -> None:
    page, _ = shown(tab, place[2].as_uri())
    first = "document.querySelector('#pipe .packet').getAttribute('x')"
    expect(page.locator("#still")).to_have_attribute("aria-pressed", "true")  # the reader asked for less motion
    before = page.evaluate(first)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate(first) == before
    page.locator("#still").click()
    expect(page.locator("#pipe .packet").first).not_to_have_attribute("x", before)
    assert page.locator("#pipe .packet").count() == round(
        48 * 2762 / (12_500_000 / 1538)
    )  # the window's part of the BDP


def test_on_a_tablet(browser: Browser, place: tuple[Path, Path, Path]) -> None:
    """What is pressed is as large as a finger; a slider is moved, and a measured point chosen, by a tap."""
    context = browser.new_context(viewport={"width": 820, "height": 1180}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(place[2].as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 820
    for each in page.locator("#form input, #form select, #form button, #moment, .chart select").all():
        box = each.bounding_box()
        assert box is not None
        assert box["height"] >= 44, each.get_attribute("id")
    slider = page.locator("#s-rtt")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] - 9, box["y"] + box["height"] / 2)
    expect(slider).to_have_value(str(slider.get_attribute("max")))
    page.locator("#reset").tap()
    before = slider.input_value()
    dot = page.locator(
        "#along .measured-dot:not(.near)"
    ).first  # along the round-trip time: the slider that was touched last
    assert "10 ms" in (dot.text_content() or "")
    dot.tap()
    expect(slider).to_have_value("0")
    assert before != "0"
    assert rate(page, "measured-mean") > 0
    context.close()


def test_on_paper(static: tuple[Page, Seen], tmp_path: Path) -> None:
    """As wide as a sheet: the path in words, the pictures below each other, each over the whole width."""
    page, _ = static
    page.set_viewport_size({"width": 680, "height": 1000})
    page.emulate_media(media="print")
    assert not page.locator("#play").is_visible()
    assert not page.locator("#s-rtt").is_visible()
    assert page.locator("#o-rtt").is_visible()
    assert page.locator(CURVE).is_visible()
    for picture in ("#pipe", "#time", "#along"):
        box = page.locator(picture).bounding_box()
        assert box is not None
        assert box["width"] > 600, picture
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_setting_has_an_address(browser: Browser, place: tuple[Path, Path, Path], static: tuple[Page, Seen]) -> None:
    page, _ = static
    slide(page, "rtt", 5)
    address = page.url
    mean = rate(page, "theory-mean")
    other, _ = shown(browser.new_page(), address)
    assert other.locator("#o-rtt").inner_text() == "300 ms"
    assert rate(other, "theory-mean") == mean
    broken, seen = shown(other, place[2].as_uri() + "#1.2.x")
    assert broken.locator("#o-rtt").inner_text() == "100 ms"
    assert seen.console == []
    broken.close()


def test_size_and_first_picture(browser: Browser, place: tuple[Path, Path, Path]) -> None:
    assert place[2].stat().st_size <= 2_000_000
    page = browser.new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(place[2].as_uri())
    page.wait_for_selector("html[data-ready]", timeout=PATIENCE_MS)
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["TaskDuration"] <= FIRST_PICTURE_S, json.dumps(metrics)  # of this thread's own time on a core
    page.close()


# --- Served ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    return tmp_path / "go"


@pytest.fixture
def served(place: tuple[Path, Path, Path], hold: Path) -> Generator[Served]:
    with serving(place[0], place[1], "--hold", hold, "--jobs", 1) as found:
        yield found


def test_a_served_run_adds_its_points(browser: Browser, served: Served, hold: Path) -> None:
    page, seen = shown(browser.new_page(), served.address)
    slide(page, "mtu", 1)
    slide(page, "rtt", 0)
    slide(page, "window", 0)
    assert page.locator("#measured-mean").inner_text() == "–"
    count = page.evaluate("landspeed.data.points.length")
    page.locator("#ask").click()
    expect(page.locator("#runs li")).to_have_count(1)
    expect(page.locator("#runs .state")).to_contain_text("transfer")
    page.locator("#ask").click()  # asked twice is one run
    slide(page, "rtt", 1)
    page.locator("#ask").click()
    expect(page.locator("#runs li")).to_have_count(2)
    expect(page.locator("#runs li").first.locator(".state")).to_have_text("waits for a core")
    page.locator("#runs li").first.locator(".cancel").click()
    expect(page.locator("#runs li").first.locator(".state")).to_have_text("cancelled")
    hold.touch()
    expect(page.locator("#runs li").last.locator(".state")).to_contain_text("measured")
    page.locator("#runs li").last.locator(".go").click()
    expect(page.locator("#measured-mean")).not_to_have_text("–")
    assert rate(page, "measured-mean") == pytest.approx(rate(page, "theory-mean"), rel=0.15)
    assert page.evaluate("landspeed.data.points.length") == count + 1
    assert page.locator("#along .measured-dot:not(.near)").count() >= 1
    with page.context.expect_page() as opened:
        page.locator("#runs a").click()
    expect(opened.value.locator("h1")).to_be_visible()
    assert opened.value.url.endswith("/report.html")
    assert seen.console == []
    assert all(each.startswith((served.address, "data:")) for each in seen.asked), seen.asked
    page.close()


def test_cancel_by_keyboard(browser: Browser, served: Served) -> None:
    page, seen = shown(browser.new_page(), served.address, 360)
    slide(page, "mtu", 1)
    slide(page, "rtt", 2)
    page.locator("#ask").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#runs .state")).to_contain_text("transfer")
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    page.locator("#runs .cancel").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#runs .state")).to_have_text("cancelled")
    assert page.locator("#served-note").inner_text().endswith("cancelled")
    assert seen.console == []
    page.close()
