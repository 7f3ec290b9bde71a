from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.errors import DroverError
from drover.sim.table_files import TABLE_WRITERS, write_table

TABLE = pl.DataFrame({"node": [0, 1], "load": [0.5, 0.25]})
READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    "parquet": pl.read_parquet,
    "csv": pl.read_csv,
    "json": pl.read_json,
}


@pytest.mark.parametrize("form", TABLE_WRITERS)
def test_a_table_is_read_as_it_was_written(tmp_path: Path, form: str) -> None:
    path = write_table(TABLE, tmp_path, "nodes", form)
    assert path == tmp_path / f"nodes.{form}"
    assert_frame_equal(READERS[form](path), TABLE)


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DroverError, match="format is 'xml', but must be one of parquet, csv, json"):
        write_table(TABLE, tmp_path, "nodes", "xml")
