"""A page that code, tests or another document names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT

NAMED = re.compile(r"\bdocs/[\w./-]*\w\.md\b")


def naming() -> list[object]:
    """Every file that names a page, with the page."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    files += [path for folder in ("src", "tests", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    found = {(path, page) for path in files for page in NAMED.findall(path.read_text(encoding="utf-8"))}
    return [pytest.param(page, id=f"{path.relative_to(ROOT)} {page}") for path, page in sorted(found)]


@pytest.mark.parametrize("page", naming())
def test_a_page_that_is_named_is_there(page: str) -> None:
    assert Path(ROOT, page).is_file()
