"""The header line of CSV files: recognised, because Spark would take it for a row unless it is told.

Rule 1: only the first line of one local file is read. A file that cannot be read is left to Spark, which says why.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Collection, Mapping
from glob import glob
from pathlib import Path
from typing import Final

from drover.errors import DroverError, shorten
from drover.files import local_folder

HEADER: Final = "header"
LONGEST: Final = 1 << 20  # bytes of a first line that are looked at


def check_header(kind: str | None, path: str | None, options: Mapping[str, str], columns: Collection[str]) -> None:
    """Refuse a CSV file whose first line has the names of its columns, if nobody has said what that line is."""
    given = {name.lower(): value for name, value in options.items()}
    # Whoever has set the option, to true or false, has decided.
    if kind != "csv" or path is None or HEADER in given:
        return
    file = _first_file(path)
    line = None if file is None else _first_line(file)
    if not line:
        return
    cells = next(csv.reader([line], delimiter=_separator(given)), [])
    if names_columns(cells, columns):
        raise DroverError(
            f"the first line of {file} is {shorten(line)}, which has the names of the columns, but would be read as a "
            "row. Add the option header: true to skip it, or header: false if it is a row."
        )


def names_columns(cells: Collection[str], columns: Collection[str]) -> bool:
    """Return whether the cells of a line are names: at least half of the columns are among them.

    >>> names_columns(["ts", " Number", "extra"], ["ts", "number", "seconds"]), names_columns(["1", "ts"], ["a", "b"])
    (True, False)
    """
    found = {cell.strip().lower() for cell in cells}
    return 2 * sum(name.lower() in found for name in columns) >= len(columns) > 0


def _separator(options: Mapping[str, str]) -> str:
    """Return the character between cells; Spark also takes a tab as a backslash and a letter."""
    given = options.get("sep", options.get("delimiter", ","))
    return "\t" if given == r"\t" else given[:1] or ","


def _first_file(path: str) -> Path | None:
    """Return the file, or the first file of a folder or a pattern; None if there is none on this machine."""
    local = local_folder(path)
    if local is None:
        return None
    places = [Path(local)] if Path(local).exists() else sorted(map(Path, glob(local)))  # noqa: PTH207 - absolute or not
    found = [file for place in places for file in (sorted(place.iterdir()) if place.is_dir() else [place])]
    # Spark ignores files with such names, too.
    return next((file for file in found if file.is_file() and not file.name.startswith(("_", "."))), None)


def _first_line(file: Path) -> str | None:
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as content:
            return content.readline(LONGEST).decode("utf-8-sig").rstrip("\r\n")
    except (OSError, ValueError, EOFError):
        return None
