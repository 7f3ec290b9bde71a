from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drover.web.report import RunFiles, build_report, render_page
from drover.web.report.page import SECTIONS
from tests.web import browser
from tests.web.browser import Browser
from tests.web.report.test_page import hostile, long_run
from tests.web.sample_run import run_files


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = browser.programs()
    if found is None:
        pytest.skip("there is no browser with a driver: neither chromium nor google-chrome beside chromedriver")
    with browser.running(*found, tmp_path_factory.mktemp("browser")) as running:
        yield running


def show(chromium: Browser, given: RunFiles, folder: Path) -> None:
    file = folder / "report.html"
    file.write_text(render_page(build_report(given)), encoding="utf-8")
    chromium.open(file)


@pytest.mark.parametrize("name", ["small", "hostile", "long", "empty"])
def test_a_page_opens_from_disk_without_errors(name: str, chromium: Browser, tmp_path: Path) -> None:
    given: dict[str, Callable[[], RunFiles]] = {
        "small": run_files,
        "hostile": hostile,
        "long": lambda: long_run(3600, 20, 100),
        "empty": lambda: RunFiles("x"),
    }
    show(chromium, given[name](), tmp_path)
    assert chromium.complaints() == []
    assert chromium.ask("return [...document.querySelectorAll('h2')].map(h => h.textContent)") == ["Summary", *SECTIONS]
    assert chromium.ask("return document.querySelectorAll('script, img, iframe').length") == 0
    assert chromium.ask("return performance.getEntriesByType('resource').map(e => e.name)") == []


def test_the_policy_allows_the_style_sheet_and_no_script(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    text = render_page(build_report(run_files()))
    file.write_text(text.replace("</main>", "<script>document.title = 'broken in'</script></main>"), encoding="utf-8")
    chromium.open(file)
    assert chromium.ask("return document.title") == "drover report: traffic"
    (complaint,) = chromium.complaints()
    assert "Content Security Policy" in complaint
    assert chromium.ask("return getComputedStyle(document.querySelector('.line')).strokeWidth") == "2px"


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_page_itself_never_scrolls_sideways(width: int, chromium: Browser, tmp_path: Path) -> None:
    phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    chromium.send_command("Emulation.setDeviceMetricsOverride", **phone)
    for given in (run_files(), hostile()):
        show(chromium, given, tmp_path)
        wide = chromium.ask("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide == [width, width]
    chromium.send_command("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 23, 29)")])
def test_light_and_dark(scheme: str, ground: str, chromium: Browser, tmp_path: Path) -> None:
    chromium.send_command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    show(chromium, run_files(), tmp_path)
    assert chromium.ask("return getComputedStyle(document.documentElement).backgroundColor") == ground
    chromium.send_command(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    assert chromium.ask("return getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.ask("return getComputedStyle(document.querySelector('nav')).display") == "none"
    chromium.send_command("Emulation.setEmulatedMedia", media="", features=[])


def test_words_at_the_ends_of_lines_do_not_touch(chromium: Browser, tmp_path: Path) -> None:
    show(chromium, long_run(300, 20, 30), tmp_path)
    tops = chromium.ask(
        "return [...document.querySelectorAll('svg.chart')[0].querySelectorAll('text.label')].map(t => t.getBBox().y)"
    )
    assert len(tops) == 17
    steps = [later - earlier for earlier, later in zip(sorted(tops)[:-1], sorted(tops)[1:], strict=True)]
    assert min(steps) >= 12.9
