"""An empty checkpoint on used sink folders: refused before anything is written, unless one says what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import drover
from drover.errors import DroverError
from drover.spark.sinks import Files
from tests.spark.conftest import Worlds

AT = datetime(2024, 1, 1, tzinfo=UTC)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("_"))


def test_a_new_run_on_used_folders(worlds: Worlds, tmp_path: Path) -> None:
    net = drover.Builder("n")
    net.source("s", {"ts": "timestamp", "k": "int"}, time="ts").filter("f", "k > 0").output()
    world = worlds(net.build())
    schema = {"ts": pl.Datetime("us", "UTC"), "k": pl.Int32()}
    world.add([{"s": pl.DataFrame({"ts": [AT, None], "k": [1, 2]}, schema)}])
    folder = tmp_path / "out"
    dead = tmp_path / "dead"
    sinks: dict[str, Any] = {"sinks": {"f": Files(f"file://{folder}")}, "dead_letters": Files(str(dead), "json")}
    world.drain(**sinks)
    assert pl.read_parquet(folder)["k"].to_list() == [1]
    world.drain(**sinks)  # the same run may continue
    again = {**sinks, "checkpoint": str(tmp_path / "again")}
    for _ in range(2):  # a refused run leaves nothing that would change the answer
        with pytest.raises(DroverError, match=f"the sink folder {folder} has 1 file of run"):
            world.drain(**again)
    assert not (tmp_path / "again" / "run.json").exists()
    world.drain(**again, existing="adopt")
    world.drain(**again)
    assert len(files(folder)) == len(files(dead)) == 2
    assert pl.read_parquet(folder)["k"].to_list() == [1, 1]
    world.drain(**sinks, checkpoint=str(tmp_path / "third"), existing="overwrite")
    assert files(folder) == ["000000000000.parquet"]
    assert files(dead) == ["000000000000.json"]
