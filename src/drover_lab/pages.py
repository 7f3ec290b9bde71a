"""Markdown pages: an index, and for every experiment its figure, parameters, claims and verdicts.

Rule 1: a page depends on a result alone. It names no date and no machine, so equal rows give equal pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from drover.network.files.disk import write_bytes, write_text
from drover_lab.draw import draw
from drover_lab.run import ExperimentResult
from drover_lab.summary import means, numbers_of, values_of
from drover_lab.table import ClaimVerdict, Experiment, Panel, ParameterGrid, Value

MOST_LINES: Final = 16  # most lines of a table of means; larger tables are left out
SHOWN: Final = 12  # most values of a parameter, and most columns of a table of means


def write_page(result: ExperimentResult, folder: Path) -> None:
    """Write the page of an experiment and its figure."""
    for suffix, data in draw(result.experiment, result.rows).items():
        write_bytes(folder / f"{result.experiment.name}.{suffix}", data)
    write_text(folder / f"{result.experiment.name}.md", "\n".join(page(result)) + "\n")


def write_index(results: Sequence[ExperimentResult], texts: Mapping[str, str], folder: Path) -> None:
    """Write the index of all pages."""
    write_text(folder / "README.md", "\n".join(index(results, texts)) + "\n")


def index(results: Sequence[ExperimentResult], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the index."""
    verdicts = [verdict for result in results for verdict in result.verdicts]
    yield "# Experiments"
    yield ""
    yield "```sh"
    yield "make experiments                 # runs all of them and writes these pages"
    yield "drover experiment list"
    yield "drover experiment run R-fig6.3   # one of them: rows, figure, verdicts"
    yield "```"
    yield ""
    yield (
        f"{len(results)} experiments, {len(verdicts)} claims; {sum(verdict.holds for verdict in verdicts)} hold. "
        "A claim of drover's own says so. No claim was tuned to hold: where a text leaves a parameter open, the page "
        "says what we chose. A claim that could not be judged counts as one that does not hold."
    )
    if any(result.quick for result in results):
        yield ""
        yield "These are **quick versions** with few rows. They show that the experiments run; do not quote them."
    for letter, title in texts.items():
        here = [result for result in results if result.experiment.name.startswith(f"{letter}-")]
        if here:
            yield ""
            yield f"## {letter}: {title}"
            yield ""
            yield "| experiment | what | claims that hold |"
            yield "|---|---|---|"
            yield from map(_index_line, here)


def _index_line(result: ExperimentResult) -> str:
    experiment = result.experiment
    verdicts = result.verdicts
    count = f"{sum(verdict.holds for verdict in verdicts)} of {len(verdicts)}"
    fails = ", ".join(f"`{verdict.claim}`" for verdict in verdicts if not verdict.holds)
    return f"| [{experiment.name}]({experiment.name}.md) | {experiment.title} | {count}{_unless(fails)} |"


def _unless(fails: str) -> str:
    return f"; not {fails}" if fails else ""


def page(result: ExperimentResult) -> Iterator[str]:
    """Yield the lines of a page."""
    experiment = result.experiment
    yield f"# {experiment.name}: {experiment.title}"
    yield ""
    yield "```sh"
    yield f"drover experiment run {experiment.name}{' --quick' if result.quick else ''}"
    yield "```"
    yield ""
    yield f"![{experiment.title}]({experiment.name}.svg)"
    yield ""
    yield experiment.about.strip()
    yield ""
    yield "## Claims"
    yield ""
    yield "| claim | the text | measured | holds |"
    yield "|---|---|---|---|"
    yield from map(_claim_line, result.verdicts)
    for verdict in result.verdicts:
        if not verdict.holds and verdict.why:
            yield ""
            yield f"Why `{verdict.claim}` does not hold, as far as we can tell: {verdict.why}"
    yield ""
    yield from _parameters(result)
    for panel in experiment.panels:
        yield from _table(result.rows, panel)


def _claim_line(verdict: ClaimVerdict) -> str:
    holds = "yes" if verdict.holds else "**no**" if verdict.judged else "**not judged**"
    return f"| `{verdict.claim}` | {_cell(verdict.text)} | {_cell(verdict.measured)} | {holds} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _parameters(result: ExperimentResult) -> Iterator[str]:
    experiment = result.experiment
    yield "## Parameters"
    yield ""
    for grid in experiment.quick if result.quick else experiment.grids:
        yield f"- {_grid(grid)}"
    yield ""
    yield f"{len(result.rows)} rows. The measurements are:"
    yield ""
    for name, meaning in experiment.columns.items():
        clock = " (measured by a clock, so it differs from run to run)" if name in experiment.timed else ""
        yield f"- `{name}`: {meaning}{clock}"


def _grid(grid: ParameterGrid) -> str:
    base = [f"{name} = {_number(value)}" for name, value in grid.base.items()]
    vary = [f"{name} in {_values(values)}" for name, values in grid.vary.items()]
    seeds = f"seeds {grid.first} to {grid.first + grid.seeds - 1}" if grid.seeds > 1 else f"seed {grid.first}"
    return "; ".join([*base, *vary, seeds])


def _values(values: Sequence[Value]) -> str:
    if len(values) > SHOWN:
        return f"{_number(values[0])}, {_number(values[1])}, ... {_number(values[-1])}"
    return ", ".join(map(_number, values))


def _number(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _table(rows: pl.DataFrame, panel: Panel) -> Iterator[str]:
    """Yield the means of a panel as a table, unless it would be too large."""
    found = means(rows, panel)
    if panel.kind == "points" or not len(found):
        return
    lines = values_of(found, panel.line) if panel.line else [panel.y]
    numeric = found[panel.x].dtype.is_numeric()
    across: Sequence[Value] = numbers_of(found, panel.x) if numeric else values_of(found, panel.x)
    if len(across) > SHOWN or len(lines) > MOST_LINES:
        return
    yield ""
    title = ", ".join(filter(None, (panel.title, panel.label or panel.y.replace("_", " "))))
    yield f"{title[0].upper()}{title[1:]}: mean and standard error over seeds."
    yield ""
    yield f"| {panel.line or ''} \\ {panel.x} | {' | '.join(map(_number, across))} |"
    yield f"|---|{'---|' * len(across)}"
    for name in lines:
        line = found.filter(pl.col(panel.line) == name) if panel.line else found
        cells = {row[panel.x]: f"{row['mean']:.3g} ± {row['error']:.1g}" for row in line.iter_rows(named=True)}
        yield f"| {name} | {' | '.join(cells.get(x, '') for x in across)} |"


def run_key(experiment: Experiment, *, quick: bool) -> tuple[object, ...]:
    """Return a key that is equal for two experiments exactly if their rows are."""
    return (experiment.measure, repr(experiment.quick if quick else experiment.grids), tuple(experiment.columns))
