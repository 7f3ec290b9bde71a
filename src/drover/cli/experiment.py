"""`drover experiment`: what the texts measured, measured again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drover.cli.counting import counting
from drover.cli.steps import step

if TYPE_CHECKING:
    from drover.experiments.run import Result, Runner
    from drover.experiments.table import Experiment

OUT: Final = "build/experiments"
PAGES: Final = "docs/experiments"

quick_option = click.option("--quick", is_flag=True, help="Few rows: to see that it runs, not to be quoted.")
jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 1024), default=1, show_default=True, help="Compute rows in so many processes."
)


@click.group()
def experiment() -> None:
    """Run the experiments of the texts, and compare.

    An experiment is a table: one row of parameters in, one row of measurements out. Its claims are what the text says
    of the results; each is told beside what was measured, and whether it holds.
    """


@experiment.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def show_all(as_json: bool) -> None:
    """List the experiments: name, rows of the full and of the quick version, title."""
    from drover.experiments.catalogue import EXPERIMENTS  # noqa: PLC0415 - numba takes a second to import

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
@click.option("--seeds", type=click.IntRange(1, 1_000_000), help="How many seeds for every combination of parameters.")
@jobs_option
@click.option("--spark", "on_spark", is_flag=True, help="Compute rows on Spark instead.")
@click.option("--master", default="local[*]", show_default=True, help="The Spark to compute on, with --spark.")
@click.option("--out", default=OUT, show_default=True, metavar="FOLDER", help="Where files go.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs; it is the last line.")
def run_one(
    name: str, quick: bool, seeds: int | None, jobs: int, on_spark: bool, master: str, out: str, as_json: bool
) -> None:
    """Run the experiment NAME and judge the claims of its text.

    Written to FOLDER are the rows, as NAME.parquet and NAME.csv, the figure, as NAME.png and NAME.svg, and the
    verdicts, as NAME.json. Rows are the same for the same seeds, whoever computes them: this process, several, or
    Spark. Only columns that a clock gives differ.

    \b
      drover experiment run R-fig6.3 --quick
      drover experiment run B-table3 --seeds 20 --jobs 4 --json

    A claim that does not hold is a result, not an error: the exit code is 0. A claim that the rows cannot tell, such as
    one about 200 operators after a quick run without them, is reported as "not judged" and as not holding.
    """  # noqa: D301 - click wants the character itself
    from drover.experiments import files  # noqa: PLC0415 - numba takes a second to import
    from drover.experiments.catalogue import find  # noqa: PLC0415 - as above
    from drover.experiments.run import run  # noqa: PLC0415 - as above

    chosen = find(name)
    files.open_folder(out)  # before the work, not after it
    with _runner(jobs, master if on_spark else None) as runner, counting(chosen.name) as progress:
        result = run(chosen, quick=quick, seeds=seeds, runner=runner, progress=progress)
    written = files.write(result, out)
    if as_json:
        click.echo(json.dumps(files.as_data(result, written)))
    else:
        click.echo("\n".join(lines(result, written)))


@contextmanager
def _runner(jobs: int, master: str | None) -> Iterator[Runner]:
    """Give what computes rows: processes, or the Spark at `master`."""
    from drover.experiments.run import run_in_processes  # noqa: PLC0415 - as above

    if master is None:
        yield run_in_processes(jobs)
        return
    with step("starting Spark", {}, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - a second that other commands need not wait
        from drover.spark.sweep import sweep_on  # noqa: PLC0415 - as above

        spark = session("drover experiment", master)
    try:
        yield sweep_on(spark)
    finally:
        spark.stop()


def lines(result: Result, files: list[str]) -> Iterator[str]:
    """Yield what a person reads."""
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
@click.option("--out", default=PAGES, show_default=True, metavar="FOLDER", help="Where pages and figures go.")
@click.option("--rows", default=OUT, show_default=True, metavar="FOLDER", help="Where rows go.")
@click.option("--reuse", is_flag=True, help="Take rows from there instead, if they are those that would be computed.")
def write_pages(names: tuple[str, ...], quick: bool, jobs: int, out: str, rows: str, reuse: bool) -> None:
    """Run all experiments, or those named, and write a page for each, and an index.

    Pages and figures are made of rows alone. With --reuse, rows that an earlier run left, for the same parameters and
    by the same version of drover, are not computed again; that the code is the same, too, is for you to know. The index
    lists what was asked for: with names, only those.
    """
    from drover.experiments import files, pages  # noqa: PLC0415 - numba takes a second to import
    from drover.experiments.catalogue import EXPERIMENTS, TEXTS, find  # noqa: PLC0415 - as above

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


def _run_all(chosen: list[Experiment], quick: bool, jobs: int, folder: str, reuse: bool) -> Iterator[Result]:
    """Run experiments, or take their rows from a folder; those whose rows are the same share them."""
    from drover.experiments import files, pages  # noqa: PLC0415 - as above
    from drover.experiments.run import run, share  # noqa: PLC0415 - as above

    known: dict[tuple[object, ...], Result] = {}
    for each in chosen:
        key = pages.run_key(each, quick=quick)
        kept = files.read(each, folder, quick=quick) if reuse else None
        if kept is not None:
            result = kept
        elif key in known:
            result = share(known[key], each)
        else:
            # A clock beside busy neighbours measures the neighbours.
            with _runner(1 if each.timed else jobs, None) as runner, counting(each.name) as progress:
                result = run(each, quick=quick, runner=runner, progress=progress)
        known.setdefault(key, result)
        if kept is None:
            files.write(result, folder)
        yield result
