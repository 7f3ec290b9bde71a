"""The site: it builds without a warning, and a page needs nothing from the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS, ROOT

FETCHED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        built = site / page.relative_to(DOCS).with_suffix(".html")
        assert built.exists() or built.with_name("index.html").exists(), page


@pytest.mark.parametrize("folder", ["decisions", "experiments"])
def test_an_index_names_every_page_beside_it(folder: str) -> None:
    (index,) = [page for page in (DOCS / folder).glob("*.md") if page.stem in {"index", "README"}]
    text = index.read_text(encoding="utf-8")
    missing = [page.name for page in (DOCS / folder).glob("*.md") if page != index and f"({page.name})" not in text]
    assert missing == []


def test_no_page_fetches_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_what_a_page_would_fetch_is_noticed() -> None:
    assert FETCHED.search('<script src="https://cdn.example/x.js"></script>')
    assert FETCHED.search('<link rel="stylesheet" href="//fonts.example/css">')
    assert not FETCHED.search('<script src="assets/x.js"></script><a href="https://example.org">')


def test_the_command_line_is_described_from_the_commands(site: Path) -> None:
    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for words in ("drover status", "drover experiment run", "--statistics FILE"):
        assert words in text


def test_the_python_api_has_every_public_name(site: Path) -> None:
    import drover  # noqa: PLC0415 - slow, and only needed here

    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    missing = [name for name in drover.__all__ if f'id="drover.{name}"' not in text]
    assert missing == []
