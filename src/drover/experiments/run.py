"""Running the rows of an experiment: here, or in several processes.

Rule 1: results come in the order of the rows, and are the same, whoever computes them.
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
from drover.experiments.table import Experiment, Measure, Row, Verdict, complete, tabulate

Runner: TypeAlias = Callable[[Measure, Sequence[Row]], Iterable[Row]]
Progress: TypeAlias = Callable[[int, int], None]  # rows done, rows in all

PORTIONS: Final = 16  # for each process: a slow one delays the end by one portion at most


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What became of an experiment."""

    experiment: Experiment
    rows: pl.DataFrame
    verdicts: tuple[Verdict, ...]
    seconds: float
    quick: bool


def run_here(measure: Measure, rows: Sequence[Row]) -> Iterator[Row]:
    """Compute the rows one after the other."""
    return map(measure, rows)


def run_in_processes(jobs: int) -> Runner:
    """Return what computes rows in so many processes; they are started afresh, since threads do not survive a fork."""
    if jobs < 1:
        raise DroverError(f"jobs is {jobs}, but somebody has to compute. Give 1 or more.")
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
    """Leave Ctrl-C to the process that people talk to; the others end with it, without tracebacks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(
    experiment: Experiment,
    *,
    quick: bool = False,
    seeds: int | None = None,
    runner: Runner = run_here,
    progress: Progress | None = None,
) -> Result:
    """Run an experiment and judge its claims; `seeds` is how many, for every combination of parameters."""
    if seeds is not None and seeds < 1:
        raise DroverError(f"seeds is {seeds}, but every combination needs one. Give 1 or more.")
    given = experiment.rows(quick=quick, seeds=seeds)
    start = time.monotonic()
    found: list[Row] = []
    for row in runner(experiment.measure, given):
        found.append(complete(experiment, given[len(found)], row))
        if progress is not None:
            progress(len(found), len(given))
    rows = tabulate(found)
    return Result(experiment, rows, experiment.judge(rows), time.monotonic() - start, quick)


def share(result: Result, experiment: Experiment) -> Result:
    """Return the rows of a result as those of another experiment that measures the same, and its verdicts on them."""
    rows = result.rows.with_columns(experiment=pl.lit(experiment.name))
    return Result(experiment, rows, experiment.judge(rows), result.seconds, result.quick)
