"""A part of state travels as it is, and whatever goes wrong on the way is no error."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from polars.testing import assert_frame_equal

from drover.flow.lending import LentPart, PartRequest
from drover.flow.state.versions import PartState
from drover.spark.resident.state_transfer import StateBorrower, from_table, to_table
from drover.spark.resident.wire import NodeAddress

ROWS = pl.DataFrame(
    {"t": [1, 2, None], "s": ["ä", None, "x" * 40], "l": [[1.5], [], None], "b": [b"\xff", b"", None]},
    schema={"t": pl.Int64, "s": pl.String, "l": pl.List(pl.Float64), "b": pl.Binary},
)
HOLDER = NodeAddress(1, "grpc://127.0.0.1:1", "start")
WANTED = {"p": PartState((), 3)}


@pytest.mark.parametrize("rows", [ROWS, ROWS.clear(), pl.concat([ROWS, ROWS], rechunk=False)], ids=len)
def test_a_part_travels_as_it_is(rows: pl.DataFrame) -> None:
    found = from_table(to_table(LentPart(PartState((), 7), rows)))
    assert found.saved == PartState((), 7)
    assert_frame_equal(found.rows, rows)


def test_only_operators_that_have_moved_are_asked_for() -> None:
    asked: list[tuple[NodeAddress, PartRequest]] = []

    def fetch(holder: NodeAddress, request: PartRequest) -> LentPart:
        asked.append((holder, request))
        return LentPart(request.wanted, ROWS)

    borrower = StateBorrower({"moved": HOLDER}, fetch)
    assert borrower("root", "stayed", WANTED) is None
    assert asked == []
    lent = borrower("root", "moved", WANTED)
    assert lent is not None
    assert lent[0] == WANTED
    assert asked == [(HOLDER, PartRequest("root", "moved", "p", WANTED["p"]))]


@pytest.mark.parametrize(
    "error", [fl.FlightUnavailableError("gone"), fl.FlightServerError("not here"), pa.ArrowInvalid("torn")], ids=str
)
def test_what_is_not_lent_is_left_to_the_log(error: Exception) -> None:
    def fetch(_holder: NodeAddress, _request: PartRequest) -> LentPart:
        raise error

    lent = StateBorrower({"moved": HOLDER}, fetch)("root", "moved", WANTED)
    assert lent is not None
    assert lent[0] == {}
