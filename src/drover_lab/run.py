"""Runs the rows of an experiment, in this process or in several.

Rule 1: results have the order of the rows, and do not depend on which process computes them.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import polars as pl

from drover.errors import DroverError
from drover_lab.table import ClaimVerdict, Experiment, Measure, Row, complete, tabulate

Runner: TypeAlias = Callable[[Measure, Sequence[Row]], Iterable[Row]]
Progress: TypeAlias = Callable[[int, int], None]  # rows done, rows in all

PORTIONS: Final = 16  # per process; a slow process delays the end by at most one portion


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentResult:
    """The rows of an experiment, and the verdicts on its claims."""

    experiment: Experiment
    rows: pl.DataFrame
    verdicts: tuple[ClaimVerdict, ...]
    seconds: float
    quick: bool


def run_here(measure: Measure, rows: Sequence[Row]) -> Iterator[Row]:
    """Compute the rows one by one in this process."""
    return map(measure, rows)


def run_in_processes(jobs: int) -> Runner:
    """Return a runner with `jobs` processes; they are spawned, because threads do not survive a fork."""
    if jobs < 1:
        raise DroverError(f"jobs is {jobs}, but must be at least 1. Give 1 or more.")
    return run_here if jobs == 1 else partial(_run_in_pool, jobs)


def _run_in_pool(jobs: int, measure: Measure, rows: Sequence[Row]) -> Iterator[Row]:
    context = multiprocessing.get_context("spawn")
    portion = max(1, len(rows) // (jobs * PORTIONS))
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupts) as pool:
        try:
            yield from pool.map(measure, rows, chunksize=portion)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the main process; workers end with it and print no tracebacks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(
    experiment: Experiment,
    *,
    quick: bool = False,
    seeds: int | None = None,
    runner: Runner = run_here,
    progress: Progress | None = None,
) -> ExperimentResult:
    """Run an experiment and judge its claims; `seeds` is the number of seeds for every combination of parameters."""
    if seeds is not None and seeds < 1:
        raise DroverError(f"seeds is {seeds}, but must be at least 1. Give 1 or more.")
    given = experiment.rows(quick=quick, seeds=seeds)
    start = time.monotonic()
    found: list[Row] = []
    for row in runner(experiment.measure, given):
        found.append(complete(experiment, given[len(found)], row))
        if progress is not None:
            progress(len(found), len(given))
    rows = tabulate(found)
    return ExperimentResult(experiment, rows, experiment.judge(rows), time.monotonic() - start, quick)


def share(result: ExperimentResult, experiment: Experiment) -> ExperimentResult:
    """Return the result of another experiment that has the same rows: the rows are reused, the claims judged."""
    rows = result.rows.with_columns(experiment=pl.lit(experiment.name))
    return ExperimentResult(experiment, rows, experiment.judge(rows), result.seconds, result.quick)
