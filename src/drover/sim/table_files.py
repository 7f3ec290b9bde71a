"""Tables of results as files: `TABLE_WRITERS` is the table of their formats.

Rule 1: nothing is imported here that takes time, because the command line reads the names of the formats for its help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from drover.errors import DroverError, shorten

if TYPE_CHECKING:
    import polars as pl

DEFAULT_FORMAT: Final = "parquet"
TABLE_WRITERS: Final[Mapping[str, Callable[[pl.DataFrame, Path], object]]] = {
    "parquet": lambda table, path: table.write_parquet(path),
    "csv": lambda table, path: table.write_csv(path),
    "json": lambda table, path: table.write_json(path),
}


def write_table(table: pl.DataFrame, folder: Path, name: str, form: str = DEFAULT_FORMAT) -> Path:
    """Write a table as `<folder>/<name>.<format>`; return the file."""
    if form not in TABLE_WRITERS:
        formats = ", ".join(TABLE_WRITERS)
        raise DroverError(f"format is {shorten(form)}, but must be one of {formats}. Choose one.")
    path = folder / f"{name}.{form}"
    TABLE_WRITERS[form](table, path)
    return path
