"""Windows of many members at once are those of each member, row by row."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.flow.families.local_members import make_local_members
from drover.flow.families.members import make_members
from drover.flow.families.run import RunFamily, with_names
from drover.flow.operators import UnitState, Watermarks
from drover.network.durations import UNITS
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Named
from drover.network.parts import Source
from drover.network.queries import Query, Shapes
from drover.network.schema import Column
from drover.network.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP
from tests.flow.oracle import assert_same_rows

START = datetime(2024, 1, 1, tzinfo=UTC)
MICROS = 1_704_067_200 * UNITS["s"]
COLUMNS = (
    Column("ts", TIMESTAMP),
    Column("source", STRING),
    Column("x", DOUBLE),
    Column("k", INT),
    Column("amount", BIGINT),
)
SCHEMA = {
    "ts": pl.Datetime("us", "UTC"),
    "source": pl.String(),
    "x": pl.Float64(),
    "k": pl.Int32(),
    "amount": pl.Int64(),
}
NETWORK = Network("net", (Source("rows", COLUMNS, "ts", UNITS["s"]),), (), ("rows",))
CONDITIONS = (
    "source = '{s}' AND x > {x}",
    "source = '{s}' AND x >= {x}",
    "source = '{s}' AND {x} > x",
    "x <= {x} AND k IS NOT NULL",
    "k > {k}",
    "k = {k} AND source = '{s}'",
    "amount < {k} AND source = '{s}'",
    "source = '{s}' AND ts >= TIMESTAMP '2024-01-01 00:00:0{k}'",
    "k = {k} AND abs(x) < {x}",
    "source = '{s}' AND x > {x} AND x < {x} + {k}",
    "x <= {x} AND k >= {k}",
    "k < 2 * {k} AND amount > {k} AND {x} >= abs(x)",
    "x < sqrt({x} - 0.5)",
    "x > 1.0 / {x}",
)
COMPUTE = (
    "count(*)",
    "count(x)",
    "sum(x)",
    "avg(amount)",
    "sum(k)",
    "min(amount)",
    "max(k)",
    "min(x)",
    "max(x)",
    "min(ts)",
    "max(CAST(ts AS DATE))",
    "count(1)",
    "sum(amount % {k})",
    "min(x * {x})",
    "max(k + {k})",
)
NUMBERS = st.sampled_from((None, math.nan, -0.0, 0.0, 0.5, 1.0, 1.0, 2.5, math.inf))

rows = st.lists(
    st.tuples(
        st.integers(0, 40).map(lambda half: START + timedelta(seconds=half / 2)),
        st.sampled_from((None, "a", "b", "c")),
        NUMBERS,
        st.none() | st.integers(0, 4),
        st.none() | st.sampled_from((-(2**62), -1, 0, 1, 3, 2**62, 2**63 - 1)),
    ),
    max_size=40,
)
constants = st.tuples(st.sampled_from("abz"), st.sampled_from(("0.0", "-0.0", "0.5", "1.0", "7.5")), st.integers(0, 4))


@settings(max_examples=100)
@given(
    condition=st.sampled_from(CONDITIONS),
    compute=st.lists(st.sampled_from(COMPUTE), min_size=1, max_size=3, unique=True),
    group_by=st.sampled_from(((), ("k",), ("source", "k"))),
    window=st.sampled_from(((10, 10), (10, 4), (3, 1))),
    members=st.lists(constants, min_size=1, max_size=6),
    batches=st.lists(rows, min_size=1, max_size=3),
)
def test_shared_windows_are_those_of_each_member(
    condition: str,
    compute: list[str],
    group_by: tuple[str, ...],
    window: tuple[int, int],
    members: list[tuple[str, str, int]],
    batches: list[list[tuple[object, ...]]],
) -> None:
    shapes = Shapes(NETWORK)
    size, advance = (seconds * UNITS["s"] for seconds in window)
    shaped = []
    for s, x, k in members:
        where = condition.format(s=s, x=x, k=k)
        named = tuple(Named(f"c{number}", text.format(s=s, x=x, k=k)) for number, text in enumerate(compute))
        aggregate = Aggregate(name="w", input="f", size=size, advance=advance, compute=named, group_by=group_by)
        query = Query("q", "t", (Filter(name="f", input="rows", where=where), aggregate), "w")
        shaped.append(shapes.shape_of(query))
    shape = shaped[0].shape
    assert {one.shape.id for one in shaped} == {shape.id}
    count = range(len(shaped))
    table = make_members(shape, count, [f"q{i}" for i in count], [0] * len(shaped), [one.constants for one in shaped])
    local = make_local_members(shape, table, 0)
    given_out = []
    dropped: list[list[int]] = [[], []]  # late rows by batch, with and without sharing
    for sharing in (True, False):
        family = RunFamily(shape, lambda _: None, sharing=sharing)
        assert bool(family.shared) == sharing
        states = [UnitState(), UnitState()]
        late, pieces = None, []
        for number, batch in enumerate([*batches, []]):
            now = MICROS + number * 5 * UNITS["s"]
            frame = pl.DataFrame(batch, schema=SCHEMA, orient="row")
            for state in states:
                state.begin()
            output = family.run({"rows": frame}, local, states, [Watermarks(late, now)] * 2, most=20)
            pieces.append(with_names(output, local))
            dropped[sharing].append(output.late)
            late = now
        end = Watermarks(late, MICROS + 100 * UNITS["s"])
        pieces.append(with_names(family.run({}, local, states, [end, end]), local))
        given_out.append(pl.concat(pieces))
    assert_same_rows(*given_out)
    assert dropped[True] == dropped[False]


@pytest.mark.parametrize(
    ("where", "compute"),
    [
        pytest.param("x > 1 AND k <> 3", "count(*)", id="a bound and another condition"),
        pytest.param("x > 1 AND x > k + 3", "count(*)", id="a limit that depends on rows"),
        pytest.param("source = 'a' OR x > 1", "count(*)", id="no bound"),
        pytest.param("source > 'a'", "count(*)", id="a bound on text"),
        pytest.param("x > 1", "max(source)", id="an extreme of texts"),
        pytest.param("x > 1", "stddev(x)", id="a deviation"),
        pytest.param("x > 1", "count(DISTINCT k)", id="different values"),
    ],
)
def test_other_windows_are_not_shared(where: str, compute: str) -> None:
    aggregate = Aggregate(name="w", input="f", size=UNITS["s"], advance=UNITS["s"], compute=(Named("n", compute),))
    query = Query("q", "t", (Filter(name="f", input="rows", where=where), aggregate), "w")
    assert RunFamily(Shapes(NETWORK).shape_of(query).shape, lambda _: None).shared == ()
