"""`drover experiment`: repeat the experiments of the papers.

Rule 1: this is the only module of drover that imports `drover_lab`, and it does so inside functions: the package is
optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drover.cli.row_progress import show_row_progress
from drover.cli.timed_step import timed_step
from drover.errors import DroverError

if TYPE_CHECKING:
    from drover_lab.run import ExperimentResult, Runner
    from drover_lab.table import Experiment

OUT: Final = "build/experiments"
PAGES: Final = "docs/experiments"

quick_option = click.option("--quick", is_flag=True, help="Few rows, to check that it works; do not quote the results.")
jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 1024), default=1, show_default=True, help="Number of processes that compute rows."
)


class MissingLabError(click.ClickException):
    """The optional package drover_lab is not installed."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__("drover experiment needs the package drover_lab. Install it: pip install 'drover[lab]'")


@click.group()
def experiment() -> None:
    """Repeat the experiments of the papers, and compare the results.

    An experiment is a table: one row of parameters in, one row of measurements out. The claims of a paper are checked
    against the rows; the output shows each claim, what was measured, and whether the claim holds.

    These commands need the package drover-lab: `pip install 'drover[lab]'`.
    """
    # Checked here, for all commands at once. A help text is printed without it, so it can say what to install.
    if find_spec("drover_lab") is None:
        raise MissingLabError


@experiment.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def show_all(as_json: bool) -> None:
    """List the experiments: name, rows of the full and of the quick version, title."""
    from drover_lab.catalogue import EXPERIMENTS  # noqa: PLC0415 - numba takes a second to import

    found = [
        {
            "name": each.name,
            "title": each.title,
            "rows": len(each.rows()),
            "quick_rows": len(each.rows(quick=True)),
            "claims": [{"claim": claim.name, "text": claim.text} for claim in each.claims],
        }
        for each in EXPERIMENTS.values()
    ]
    if as_json:
        click.echo(json.dumps({"experiments": found}, indent=2))
        return
    for each in found:
        click.echo(f"{each['name']:14} {each['rows']:>6} rows, quick {each['quick_rows']:>4}   {each['title']}")


@experiment.command("run")
@click.argument("name", metavar="NAME")
@quick_option
@click.option("--seeds", type=click.IntRange(1, 1_000_000), help="Number of seeds for every combination of parameters.")
@jobs_option
@click.option("--spark", "on_spark", is_flag=True, help="Compute the rows on Spark.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master for --spark.")
@click.option("--out", default=OUT, show_default=True, metavar="FOLDER", help="Folder for all files.")
@click.option("--resume", is_flag=True, help="Continue after the rows that an interrupted run has finished.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs, as the last line.")
def run_one(
    name: str,
    quick: bool,
    seeds: int | None,
    jobs: int,
    on_spark: bool,
    master: str,
    out: str,
    resume: bool,
    as_json: bool,
) -> None:
    """Run the experiment NAME and check the claims of its paper.

    The command writes to FOLDER: the rows as NAME.parquet and NAME.csv, the figure as NAME.png and NAME.svg, and the
    verdicts as NAME.json. Equal seeds give equal rows, whether one process, several, or Spark compute them. Only
    measured times differ.

    \b
      drover experiment run R-fig6.3 --quick
      drover experiment run B-table3 --seeds 20 --jobs 4 --json

    Each row of an experiment on Spark takes minutes and is kept in NAME.jsonl as soon as it is measured. If the run is
    interrupted, --resume continues after these rows. It cannot see whether the code has changed since then.

    A claim that does not hold is a result, not an error: the exit code is 0. If the rows cannot decide a claim, for
    example one about 200 operators after a quick run, it is reported as "not judged" and as not holding.
    """  # noqa: D301 - click wants the character itself
    from drover_lab import files  # noqa: PLC0415 - numba takes a second to import
    from drover_lab.catalogue import find  # noqa: PLC0415 - as above
    from drover_lab.resume import resuming  # noqa: PLC0415 - as above
    from drover_lab.run import run  # noqa: PLC0415 - as above

    chosen = find(name)
    if chosen.engine and (on_spark or jobs > 1):
        given = "--spark" if on_spark else f"--jobs {jobs}"
        raise DroverError(f"{given} is given, but each row of {name} is a Spark run of its own. Leave the option out.")
    if resume and not chosen.engine:
        raise DroverError(
            f"--resume is given, but {name} does not run on Spark and keeps no rows. Leave the option out."
        )
    folder = files.open_folder(out)  # before the work, so that a wrong folder costs no time
    finished = folder / f"{chosen.name}.jsonl"
    if not resume:
        finished.unlink(missing_ok=True)
    with _runner(jobs, master if on_spark else None) as runner, show_row_progress(chosen.name) as progress:
        keeping = resuming(finished, runner) if chosen.engine else runner
        result = run(chosen, quick=quick, seeds=seeds, runner=keeping, progress=progress)
    written = files.write(result, out)
    finished.unlink(missing_ok=True)
    if as_json:
        click.echo(json.dumps(files.as_data(result, written)))
    else:
        click.echo("\n".join(lines(result, written)))


@contextmanager
def _runner(jobs: int, master: str | None) -> Iterator[Runner]:
    """Yield a function that computes rows: in processes, or on the Spark at `master`."""
    from drover_lab.run import run_in_processes  # noqa: PLC0415 - as above

    if master is None:
        yield run_in_processes(jobs)
        return
    with timed_step("starting Spark", {}, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - pyspark takes a second to import
        from drover_lab.engine.sweep import sweep_on  # noqa: PLC0415 - as above

        spark = session("drover experiment", master)
    try:
        yield sweep_on(spark)
    finally:
        spark.stop()


def lines(result: ExperimentResult, files: list[str]) -> Iterator[str]:
    """Yield the output for people."""
    experiment = result.experiment
    quick = " (quick: not to be quoted)" if result.quick else ""
    yield f"{experiment.name}: {experiment.title}{quick}"
    yield f"{len(result.rows)} rows in {result.seconds:.1f} s"
    for verdict in result.verdicts:
        yield ""
        yield f"{verdict.claim}: {'holds' if verdict.holds else 'does not hold' if verdict.judged else 'not judged'}"
        yield f"  the text  {verdict.text}"
        yield f"  measured  {verdict.measured}"
        if not verdict.holds and verdict.judged and verdict.why:
            yield f"  why       {verdict.why}"
    yield ""
    yield from (f"written to {file}" for file in files)


@experiment.command("pages")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@quick_option
@jobs_option
@click.option("--out", default=PAGES, show_default=True, metavar="FOLDER", help="Folder for pages and figures.")
@click.option("--rows", default=OUT, show_default=True, metavar="FOLDER", help="Folder for rows.")
@click.option("--reuse", is_flag=True, help="Reuse rows of an earlier run if the parameters are the same.")
def write_pages(names: tuple[str, ...], quick: bool, jobs: int, out: str, rows: str, reuse: bool) -> None:
    """Run all experiments, or those named, and write a page for each, and an index.

    Pages and figures are made from rows alone. --reuse takes rows from an earlier run with the same parameters and the
    same version of drover. It cannot see whether the code has changed since then. The index lists the experiments of
    this command only.
    """
    from drover_lab import files, pages  # noqa: PLC0415 - numba takes a second to import
    from drover_lab.catalogue import EXPERIMENTS, TEXTS, find  # noqa: PLC0415 - as above

    folder = files.open_folder(out)
    chosen = [find(name) for name in names] or list(EXPERIMENTS.values())
    results = []
    for result in _run_all(chosen, quick, jobs, rows, reuse):
        pages.write_page(result, folder)
        results.append(result)
    pages.write_index(results, TEXTS, folder)
    verdicts = [verdict for result in results for verdict in result.verdicts]
    holding = sum(verdict.holds for verdict in verdicts)
    click.echo(f"{len(results)} pages in {Path(out)}; {holding} of {len(verdicts)} claims hold")


def _run_all(chosen: list[Experiment], quick: bool, jobs: int, folder: str, reuse: bool) -> Iterator[ExperimentResult]:
    """Run experiments, or read their rows from a folder; experiments with equal rows share them."""
    from drover_lab import files, pages  # noqa: PLC0415 - as above
    from drover_lab.run import run, share  # noqa: PLC0415 - as above

    known: dict[tuple[object, ...], ExperimentResult] = {}
    for each in chosen:
        key = pages.run_key(each, quick=quick)
        kept = files.read(each, folder, quick=quick) if reuse else None
        if kept is not None:
            result = kept
        elif key in known:
            result = share(known[key], each)
        else:
            # Measured times are wrong if several processes share the cores.
            with _runner(1 if each.timed else jobs, None) as runner, show_row_progress(each.name) as progress:
                result = run(each, quick=quick, runner=runner, progress=progress)
        known.setdefault(key, result)
        if kept is None:
            files.write(result, folder, figure=False)  # it goes to the pages
        yield result
