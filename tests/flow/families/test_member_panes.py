"""The panes of members: who takes which rows is tested against each member alone in `test_shared_aggregates.py`."""

from __future__ import annotations

import polars as pl
import pytest

from drover.flow.families.local_members import make_local_members
from drover.flow.families.member_panes import update_panes
from drover.flow.families.members import make_members
from drover.flow.families.run import RunFamily
from drover.flow.operators import UnitState, Watermarks
from drover.flow.operators.aggregate import PANES, RunAggregate
from drover.network.durations import UNITS
from drover.network.operators import Aggregate, Filter, Named
from drover.network.queries import Query, Shapes
from tests.flow.families.test_shared_aggregates import MICROS, NETWORK, SCHEMA, START

ROWS = pl.DataFrame(
    [(START, "a", 1.0, 1, 1), (START, "b", 2.0, 1, 2), (START, "a", 3.0, 1, 4)], schema=SCHEMA, orient="row"
)


def updated(wheres: list[str], watermark: Watermarks) -> tuple[list[int], int, UnitState]:
    """Return the rows of each member, the late rows of all, and the state."""
    window = Aggregate(name="w", input="f", size=UNITS["s"], advance=UNITS["s"], compute=(Named("n", "sum(amount)"),))
    shapes = Shapes(NETWORK)
    shaped = [
        shapes.shape_of(Query("q", "t", (Filter(name="f", input="rows", where=where), window), "w")) for where in wheres
    ]
    shape = shaped[0].shape
    count = range(len(wheres))
    table = make_members(shape, count, [f"q{i}" for i in count], [0] * len(wheres), [one.constants for one in shaped])
    family = RunFamily(shape, lambda _: None)
    (shared,) = family.shared
    runner = family.runners[shared.aggregate]
    assert isinstance(runner, RunAggregate)
    state = UnitState()
    rows_in, late = update_panes(shared, runner, ROWS, make_local_members(shape, table, 0), state, watermark)
    return rows_in.tolist(), late, state


@pytest.mark.parametrize("more", [pytest.param("", id="one bound"), pytest.param(" AND x < 9.0", id="two bounds")])
def test_members_take_rows_of_their_key_within_their_bounds(more: str) -> None:
    keys = [("a", 0.0), ("a", 2.0), ("b", 5.0), ("z", 0.0)]
    wheres = [f"source = '{source}' AND x > {least}{more}" for source, least in keys]
    rows_in, late, state = updated(wheres, Watermarks(None, None))
    assert rows_in == [2, 2, 1, 0]
    assert late == 0
    assert state.parts[PANES].select("drover_member", "drover.0.low").rows() == [(0, 5), (1, 4)]


@pytest.mark.parametrize("more", [pytest.param("", id="one bound"), pytest.param(" AND x < 9.0", id="two bounds")])
def test_late_rows_are_counted_for_each_member_that_takes_them(more: str) -> None:
    wheres = [f"source = 'a' AND x > {least}{more}" for least in (0.0, 2.0, 5.0)]
    _, late, state = updated(wheres, Watermarks(MICROS + 5 * UNITS["s"], MICROS + 5 * UNITS["s"]))
    assert late == 3
    assert state.parts == {}
