"""What an experiment leaves behind: rows, figure and verdicts; each file whole or not at all."""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict
from pathlib import Path

import polars as pl

from drover.errors import DroverError, shorten
from drover.experiments.draw import draw
from drover.experiments.run import Result
from drover.experiments.table import MARKS, Experiment, tabulate, version
from drover.network.files.disk import write_bytes, write_text


def write(result: Result, folder: str | os.PathLike[str]) -> list[str]:
    """Write rows, figure and verdicts of a result to a folder; return the names of the files."""
    target = open_folder(folder)
    name = result.experiment.name
    figures = draw(result.experiment, result.rows)
    contents = {"parquet": parquet(result.rows), "csv": result.rows.write_csv().encode("utf-8"), **figures}
    for suffix, data in contents.items():
        write_bytes(target / f"{name}.{suffix}", data)
    files = [str(target / f"{name}.{suffix}") for suffix in (*contents, "json")]
    write_text(files[-1], json.dumps(as_data(result, files), indent=2) + "\n")
    return files


def read(experiment: Experiment, folder: str | os.PathLike[str], *, quick: bool) -> Result | None:
    """Return a result from the rows in a folder, if they are all those that would go in, of this very version."""
    path = Path(folder) / f"{experiment.name}.parquet"
    if not path.is_file():
        return None
    try:
        rows = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError):  # not written by us, or damaged: as good as none
        return None
    given = tabulate(experiment.rows(quick=quick))
    if set(rows.columns) != {*given.columns, *experiment.columns, *MARKS} or rows["version"].unique().to_list() != [
        version()
    ]:
        return None
    if not rows.select(given.columns).equals(given):
        return None
    return Result(experiment, rows, experiment.judge(rows), 0.0, quick)


def open_folder(folder: str | os.PathLike[str]) -> Path:
    """Return a folder, made if it is not there."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise DroverError(
            f"out is {shorten(str(folder))}, but a folder must be there or be made ({error}). Name another one."
        ) from error
    return target


def parquet(rows: pl.DataFrame) -> bytes:
    """Return rows as a Parquet file."""
    with io.BytesIO() as file:
        rows.write_parquet(file)
        return file.getvalue()


def as_data(result: Result, files: list[str]) -> dict[str, object]:
    """Return what a program reads."""
    experiment = result.experiment
    return {
        "name": experiment.name,
        "title": experiment.title,
        "quick": result.quick,
        "rows": len(result.rows),
        "seconds": round(result.seconds, 3),
        "version": str(result.rows["version"][0]),
        "files": files,
        "holds": sum(verdict.holds for verdict in result.verdicts),
        "claims": [
            {key: value for key, value in asdict(verdict).items() if key != "why"} for verdict in result.verdicts
        ],
    }
