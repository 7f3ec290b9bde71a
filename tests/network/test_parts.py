from __future__ import annotations

import pytest

from drover.network.functions import columns_of
from drover.network.operators import Table
from drover.network.parts import Source, source_faults, table_faults

COLUMNS = columns_of({"ts": "timestamp", "key": "int"})


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        pytest.param(Source("s", COLUMNS, "ts", 5), [], id="sound"),
        pytest.param(Source("s", COLUMNS, "ts", -1), [("lateness",)], id="negative lateness"),
        pytest.param(Source("s", COLUMNS, "key"), [("time",)], id="event time is a timestamp"),
        pytest.param(Source("s", ()), [("columns",)], id="no columns"),
    ],
)
def test_faults_of_a_source(source: Source, paths: list[tuple[str, ...]]) -> None:
    assert [fault.path for fault in source_faults(source)] == paths


@pytest.mark.parametrize(
    ("key", "paths"),
    [
        pytest.param(("key",), [], id="sound"),
        pytest.param((), [("key",)], id="no key"),
        pytest.param(("kye",), [("key", 0)], id="unknown column"),
        pytest.param(("key", "key"), [("key", 1)], id="named twice"),
    ],
)
def test_faults_of_a_table(key: tuple[str, ...], paths: list[tuple[str | int, ...]]) -> None:
    assert [fault.path for fault in table_faults(Table("t", COLUMNS, key))] == paths
