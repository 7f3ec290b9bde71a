from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from drover_lab import pages
from drover_lab.run import run
from tests.drover_lab.toy import TOY


def test_a_page_and_an_index(tmp_path: Path) -> None:
    result = run(TOY)
    pages.write_page(result, tmp_path)
    pages.write_index([result], {"X": "A text", "Y": "Another"}, tmp_path)
    page = (tmp_path / "X-fig1.md").read_text(encoding="utf-8")
    assert page.splitlines()[3] == "drover experiment run X-fig1"
    assert "| `larger` | Three times is more. | 3 > 1 | yes |" in page
    assert "| `unknown` | Nine times is more. | not judged: nine was not run | **not judged** |" in page
    assert "Why `smaller` does not hold, as far as we see: It is not." in page
    assert "| factor \\ size | 1 | 2 | 4 | 8 |" in page
    assert "| 3 | 3 ± 0 | 6 ± 0 | 12 ± 0 |  |" in page
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| [X-fig1](X-fig1.md) | Products | 1 of 3; not `smaller`, `unknown` |" in index
    assert "Another" not in index
    assert "Quick" not in index


def test_rows_are_shared_by_those_who_measure_the_same() -> None:
    assert pages.run_key(TOY, quick=False) == pages.run_key(replace(TOY, name="X-fig2", claims=()), quick=False)
    assert pages.run_key(TOY, quick=False) != pages.run_key(TOY, quick=True)
