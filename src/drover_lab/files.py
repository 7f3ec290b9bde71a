"""The files of a result: rows, figure and verdicts. Each is written atomically."""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict
from pathlib import Path

import polars as pl

from drover.errors import DroverError, shorten
from drover.network.files.disk import write_bytes, write_text
from drover_lab.draw import draw
from drover_lab.run import ExperimentResult
from drover_lab.table import MARKS, Experiment, tabulate, version


def write(result: ExperimentResult, folder: str | os.PathLike[str], *, figure: bool = True) -> list[str]:
    """Write rows, figure and verdicts of a result to a folder; return the names of the files."""
    target = open_folder(folder)
    name = result.experiment.name
    contents = {"parquet": parquet(result.rows), "csv": result.rows.write_csv().encode("utf-8")}
    if figure:
        contents |= draw(result.experiment, result.rows)
    for suffix, data in contents.items():
        write_bytes(target / f"{name}.{suffix}", data)
    files = [str(target / f"{name}.{suffix}") for suffix in (*contents, "json")]
    write_text(files[-1], json.dumps(as_data(result, files), indent=2) + "\n")
    return files


def read(experiment: Experiment, folder: str | os.PathLike[str], *, quick: bool) -> ExperimentResult | None:
    """Return the result stored in a folder, if its rows have the same parameters and version; else None."""
    path = Path(folder) / f"{experiment.name}.parquet"
    if not path.is_file():
        return None
    try:
        rows = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError):  # damaged, or not a file of ours: run again
        return None
    given = tabulate(experiment.rows(quick=quick))
    if set(rows.columns) != {*given.columns, *experiment.columns, *MARKS} or rows["version"].unique().to_list() != [
        version()
    ]:
        return None
    if not rows.select(given.columns).equals(given):
        return None
    return ExperimentResult(experiment, rows, experiment.judge(rows), 0.0, quick)


def open_folder(folder: str | os.PathLike[str]) -> Path:
    """Return a folder; create it if it does not exist."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise DroverError(
            f"out is {shorten(str(folder))}, but that folder cannot be created ({error}). Name another one."
        ) from error
    return target


def parquet(rows: pl.DataFrame) -> bytes:
    """Return rows as a Parquet file."""
    with io.BytesIO() as file:
        rows.write_parquet(file)
        return file.getvalue()


def as_data(result: ExperimentResult, files: list[str]) -> dict[str, object]:
    """Return a result for JSON."""
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
