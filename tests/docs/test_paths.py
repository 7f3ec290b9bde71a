"""A page that code, tests or another document names is there, and so is a test that a page names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT

NAMED = re.compile(r"\bdocs/[\w./-]*\w\.md\b")
TESTS = re.compile(r"\btests/[\w./-]*\w\.py\b")


def naming() -> list[object]:
    """Every file that names a page, with the page."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    files += [path for folder in ("src", "tests", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    found = {(path, page) for path in files for page in NAMED.findall(path.read_text(encoding="utf-8"))}
    return [pytest.param(page, id=f"{path.relative_to(ROOT)} {page}") for path, page in sorted(found)]


@pytest.mark.parametrize("page", naming())
def test_a_page_that_is_named_is_there(page: str) -> None:
    assert Path(ROOT, page).is_file()


def named_tests() -> list[object]:
    """Every page that names a file of tests, with the file."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = {(page, file) for page in pages for file in TESTS.findall(page.read_text(encoding="utf-8"))}
    return [pytest.param(file, id=f"{page.relative_to(ROOT)} {file}") for page, file in sorted(found)]


@pytest.mark.parametrize("file", named_tests())
def test_a_test_that_a_page_names_is_there(file: str) -> None:
    assert Path(ROOT, file).is_file()
