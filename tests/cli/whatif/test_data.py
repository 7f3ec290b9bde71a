from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from drover.cli.whatif.answer import SimulationReport
from drover.cli.whatif.data import as_data, write
from drover.errors import DroverError
from tests.cli.whatif.scenarios import report_of


@pytest.fixture(scope="module")
def report() -> SimulationReport:
    return report_of("--seconds 20 --mode fluid --kill 1@12 --add 4@15 --compare stay,once:cor-bal")


def test_the_object_has_the_scenario_and_every_variant(report: SimulationReport) -> None:
    data = cast(dict[str, Any], as_data(report))
    assert (data["network"], data["nodes"], data["seconds"], data["mode"]) == ("traffic", 4, 20.0, "fluid")
    assert data["events"] == [{"event": "kill", "node": 1, "at": 12.0}, {"event": "add", "node": 4, "at": 15.0}]
    assert [variant["variant"] for variant in data["variants"]] == ["stay", "once:cor-bal"]
    assert data["best"] in {"stay", "once:cor-bal"}
    assert set(data["variants"][0]["node_of"]) == set(data["plan"])
    json.loads(json.dumps(data, allow_nan=False))


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_tables_of_all_variants_and_of_each(form: str, report: SimulationReport, tmp_path: Path) -> None:
    write(report, str(tmp_path), form)
    path = tmp_path / f"variants.{form}"
    match form:
        case "parquet":
            table = pl.read_parquet(path)
        case "csv":
            table = pl.read_csv(path)
        case _:
            table = pl.read_json(path)
    assert table["variant"].to_list() == ["stay", "once:cor-bal"]
    assert (tmp_path / "stay" / f"nodes.{form}").is_file()
    assert (tmp_path / "once-cor-bal" / "summary.json").is_file()


def test_a_folder_that_cannot_be_written(report: SimulationReport, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DroverError, match="the folder must be writable"):
        write(report, str(tmp_path / "file"), "csv")
