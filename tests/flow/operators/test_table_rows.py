"""What reads and writes of tables share: the declaration, and one zero for both signs."""

from __future__ import annotations

import math

import polars as pl
import pytest

import drover
from drover.flow.operators.table_rows import declared, without_negative_zero


def test_a_table_is_found_by_its_name() -> None:
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "string"}, time="ts")
    for name in ("one", "two"):
        source.write_table(f"write_{name}", net.table(name, {"k": "string", "ts": "timestamp"}, key="k"))
    network = net.build()
    assert declared(network, "two") is network.tables[1]


@pytest.mark.parametrize("kind", [pl.Float64(), pl.Float32()])
def test_only_the_sign_of_zero_changes(kind: pl.DataType) -> None:
    cells = [-0.0, 0.0, -1.5, None, math.inf, math.nan]
    rows = pl.DataFrame({"x": cells, "s": ["-0.0"] * 6, "n": [-1] * 6}).cast({"x": kind})
    found = without_negative_zero(rows)
    assert found.schema == rows.schema
    assert [math.copysign(1, cell) for cell in found["x"][:2]] == [1, 1]
    assert found["x"][2:5].to_list() == [-1.5, None, math.inf]
    assert math.isnan(found["x"][5])
    assert found.drop("x").equals(rows.drop("x"))
