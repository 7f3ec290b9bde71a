"""Pages have everything that their experiment says; those in the repository say what the experiments say now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from drover_lab import pages
from drover_lab.catalogue import EXPERIMENTS
from drover_lab.run import ExperimentResult, run
from drover_lab.table import ClaimVerdict, Experiment
from tests.drover_lab.toy import TOY


def test_a_page_and_an_index(tmp_path: Path) -> None:
    result = run(TOY)
    pages.write_page(result, tmp_path)
    pages.write_index([result], {"X": "A text", "Y": "Another"}, tmp_path)
    page = (tmp_path / "X-fig1.md").read_text(encoding="utf-8")
    assert page.splitlines()[3] == "drover experiment run X-fig1"
    assert "| `larger` | Three times is more. | 3 > 1 | yes |" in page
    assert "| `unknown` | Nine times is more. | not judged: nine was not run | **not judged** |" in page
    assert "Why `smaller` does not hold, as far as we can tell: It is not." in page
    assert "| factor \\ size | 1 | 2 | 4 | 8 |" in page
    assert "| 3 | 3 ± 0 | 6 ± 0 | 12 ± 0 |  |" in page
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| [X-fig1](X-fig1.md) | Products | 1 of 3; not `smaller`, `unknown` |" in index
    assert "Another" not in index
    assert "quick versions" not in index


def test_rows_are_shared_by_those_who_measure_the_same() -> None:
    assert pages.run_key(TOY, quick=False) == pages.run_key(replace(TOY, name="X-fig2", claims=()), quick=False)
    assert pages.run_key(TOY, quick=False) != pages.run_key(TOY, quick=True)


WRITTEN: Final = Path(__file__).parents[2] / "docs" / "experiments"
LIBRARIES: Final = ", libraries"  # a workload of H-fig9 that needs data which the repository does not include
ROWS: Final = re.compile(r"^\d+ rows\. ")


def verdicts_of(experiment: Experiment, page: str) -> Iterator[ClaimVerdict]:
    """Yield the verdicts that a page shows, with the texts of the experiment as it is now."""
    for claim in experiment.claims:
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{claim.name}` | "))
        *_, measured, holds = re.split(r"(?<!\\) \| ", line.removesuffix(" |"))
        found = measured.replace("\\|", "|")
        yield ClaimVerdict(claim.name, claim.text, found, holds == "yes", holds != "**not judged**", claim.why)


def without_tables(lines: list[str]) -> list[str]:
    """Return the lines of a page up to its tables of means; the number of rows is left out."""
    first = next((at for at, line in enumerate(lines) if line.endswith(": mean and standard error over seeds.")), None)
    return [ROWS.sub("n rows. ", line.replace(LIBRARIES, "")) for line in lines[:first] if line]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_written_page_has_the_texts_of_its_experiment(name: str) -> None:
    experiment = EXPERIMENTS[name]
    page = (WRITTEN / f"{name}.md").read_text(encoding="utf-8")
    verdicts = tuple(verdicts_of(experiment, page))
    result = ExperimentResult(replace(experiment, panels=()), pl.DataFrame(), verdicts, 0.0, quick=False)
    now = "\n".join(pages.page(result))
    assert without_tables(now.splitlines()) == without_tables(page.splitlines())


def test_the_written_index_names_every_experiment() -> None:
    index = (WRITTEN / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}]({name}.md) | {one.title} |" in index for name, one in EXPERIMENTS.items())
