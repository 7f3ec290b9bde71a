from __future__ import annotations

import pytest

from drover.network.functions import columns_of
from drover.network.operators import Table, TableWrite
from tests.network.cases import LATEST, TIMELESS, Case, a_map, assert_only_fault, examined

WRITE = ("operators", "saved")
KEYS = Table("latest", columns_of({"key": "int"}), ("key",))
TWO_TIMES = a_map({"ts": "ts", "at": "ts", "key": "key"})
SWAPPED = a_map({"at": "ts", "ts": "at", "key": "key"}, name="swapped", source="mapped")


def a_write(source: str = "events", name: str = "saved") -> TableWrite:
    return TableWrite(name=name, input=source, into="latest")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_write("timeless")], (*WRITE, "input"), "need a stream with event time", [TIMELESS], [KEYS]),
            id="a write needs event time",
        ),
        pytest.param(
            Case(
                [a_map({"ts": "ts", "key": "key"}), a_write("mapped")],
                (*WRITE, "input"),
                "table 'latest' has column amount bigint and the stream does not",
                tables=[LATEST],
            ),
            id="a written stream has every column of the table",
        ),
        pytest.param(
            Case(
                [a_map({"amount": "key"}, extend=True), a_write("mapped")],
                (*WRITE, "input"),
                "has column amount bigint",
                tables=[LATEST],
            ),
            id="a written stream has the types of the table",
        ),
        pytest.param(
            Case([a_write()], (*WRITE, "into"), "must keep the stream's event time, column 'ts'", tables=[KEYS]),
            id="a written table keeps the event time",
        ),
        pytest.param(
            Case(
                [TWO_TIMES, SWAPPED, a_write("mapped"), a_write("swapped", "again")],
                ("operators", "again", "into"),
                "another uses 'ts'",
                tables=[Table("latest", columns_of({"ts": "timestamp", "at": "timestamp", "key": "int"}), ("key",))],
            ),
            id="streams written into one table agree on the event time",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_a_write_makes_no_stream() -> None:
    found = examined(Case([a_write()], (), "", tables=[LATEST]))
    assert found.faults == ()
    assert set(found.streams) == {"events"}
