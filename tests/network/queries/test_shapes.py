"""Which queries are of one shape, and what their constants are."""

from __future__ import annotations

import datetime as dt
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import NetworkError
from drover.network.durations import UNITS
from drover.network.expressions.tree import Value
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, Map, Named, Operator, Pair, Switch, Synthetic
from drover.network.parts import Source
from drover.network.queries import MOST_OPERATORS, Query, Shapes, Topic, examine_query, shape_of
from drover.network.schema import Column
from drover.network.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, TINYINT
from tests.flow.families.queries import random_network, random_query, varied

COLUMNS = {
    "ts": TIMESTAMP,
    "source": STRING,
    "x": DOUBLE,
    "k": INT,
    "big": BIGINT,
    "tiny": TINYINT,
    "day": DATE,
    "ok": BOOLEAN,
}
EVENTS = Source("events", tuple(Column(name, kind) for name, kind in COLUMNS.items()), "ts")
NETWORK = Network(
    "net",
    (EVENTS,),
    (Switch(name="s", input="events", cases=(Named("hot", "x > 9"),), rest="cold"),),
    ("s.hot", "s.cold"),
)


def filtering(where: str, name: str = "f", stream: str = "events") -> Query:
    return Query("q", "tenant", (Filter(name=name, input=stream, where=where),), name)


@pytest.mark.parametrize(
    ("where", "constants"),
    [
        pytest.param("source = 'a'", ("a",), id="text"),
        pytest.param("k > 5", (5,), id="whole number"),
        pytest.param("k > -5", (-5,), id="a sign belongs to its number"),
        pytest.param("k > -2147483648", (-2147483648,), id="the least int is one"),
        pytest.param("big > -9223372036854775808", (-9223372036854775808,), id="the least bigint is one"),
        pytest.param("big > 5", (5,), id="a number is what it is compared with"),
        pytest.param("x > 5", (5.0,), id="a double from a whole number"),
        pytest.param("x BETWEEN 1 AND 2.5", (1.0, 2.5), id="between"),
        pytest.param("k + 1 BETWEEN 3 AND 4", (1, 3, 1, 4), id="one literal in two places"),
        pytest.param("source IN ('a', 'b')", ("a", "b"), id="a list"),
        pytest.param("k IN (1, NULL)", (), id="a list with NULL belongs to the shape"),
        pytest.param("k = NULL", (), id="so does NULL"),
        pytest.param("ok = TRUE", (), id="and the truth"),
        pytest.param("source LIKE 'a%'", (), id="and a pattern"),
        pytest.param("substring(source, 2, 3) = 'bc'", ("bc",), id="and a position"),
        pytest.param("ts > ts - INTERVAL '5' MINUTE", (), id="and an interval"),
        pytest.param("day = DATE '2024-02-29'", (dt.date(2024, 2, 29),), id="date"),
        pytest.param("pmod(k, 7) = 3", (3,), id="a divisor that must be written out"),
        pytest.param("tiny = CAST(100 AS TINYINT)", (100,), id="a cast literal"),
        pytest.param("CASE WHEN k > 1 THEN 5 ELSE 6 END = k", (1,), id="values that are chosen stay"),
    ],
)
def test_constants(where: str, constants: tuple[Value, ...]) -> None:
    assert shape_of(filtering(where), NETWORK).constants == constants


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("k > 5", "k > 7", True, id="other constants"),
        pytest.param("k > 5", "k  >  -7", True, id="other blanks, another sign"),
        pytest.param("k > 5", "(k > 5)", True, id="parentheses"),
        pytest.param("x > 5", "x > 5.5", True, id="what is a double anyway"),
        pytest.param("big > 5", "big > 5000000000", True, id="what is a bigint anyway"),
        pytest.param("k > 5", "k > 5.5", False, id="another type of constant"),
        pytest.param("k > 5", "k > 5000000000", False, id="a constant too large for an int"),
        pytest.param("k > 5", "k >= 5", False, id="another sign"),
        pytest.param("k > 5", "k > NULL", False, id="NULL"),
        pytest.param("source LIKE 'a%'", "source LIKE 'b%'", False, id="another pattern"),
        pytest.param("k IN (1, 2)", "k IN (1, 2, 3)", False, id="a longer list"),
    ],
)
@pytest.mark.parametrize("warm", [True, False])
def test_the_same_shape(one: str, other: str, same: bool, warm: bool) -> None:
    shapes = Shapes(NETWORK)
    first = shapes.shape_of(filtering(one))
    second = (shapes if warm else Shapes(NETWORK)).shape_of(filtering(other, "another"))
    assert (first.shape.id == second.shape.id) == same


@given(seed=st.integers(0, 10_000))
def test_what_is_remembered_is_what_is_parsed(seed: int) -> None:
    rng = default_rng(seed)
    network = random_network(rng)
    query = random_query(rng, network, "q0")
    shapes = Shapes(network)
    shapes.shape_of(query)
    for number in range(3):
        other = varied(rng, query, f"q{number}")
        if examine_query(other, network):
            continue
        quick, slow = shapes.shape_of(other), shape_of(other, network)
        assert quick.shape.id == slow.shape.id
        assert [(type(value), value) for value in quick.constants] == [(type(value), value) for value in slow.constants]


def test_no_whole_number_is_minus_zero() -> None:
    shapes = Shapes(NETWORK)
    shapes.shape_of(filtering("x > -5"))
    assert str(shapes.shape_of(filtering("x > -0")).constants) == str(shape_of(filtering("x > -0"), NETWORK).constants)


def test_a_shape_is_the_same_in_another_process() -> None:
    shape = shape_of(filtering("source = 'a' AND x > 1"), NETWORK).shape
    again = pickle.loads(pickle.dumps(shape))
    assert (again.id, again.outline, again.steps) == (shape.id, shape.outline, shape.steps)


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        pytest.param("source = 'a' AND x > 1", ["`source`"], id="a column"),
        pytest.param("'a' = source", ["`source`"], id="the other way round"),
        pytest.param("source = 'a' AND k = 1", ["`source`", "`k`"], id="two"),
        pytest.param("tiny = 5", ["CAST(`tiny` AS int)"], id="a column of another type"),
        pytest.param("x = 1", [], id="not of doubles, where -0.0 equals 0.0"),
        pytest.param("source = 'a' OR k = 1", [], id="not of alternatives"),
        pytest.param("source <=> 'a'", [], id="not where NULL equals NULL"),
    ],
)
def test_what_rows_can_be_looked_up_by(where: str, keys: list[str]) -> None:
    (step,) = shape_of(filtering(where), NETWORK).shape.steps
    assert [key.column for key in step.keys] == keys


def test_branches_of_a_switch_can_be_read() -> None:
    shape = shape_of(filtering("source = 'a'", stream="s.hot"), NETWORK).shape
    assert shape.reads == ("s.hot",)
    assert shape.topics(("a",)) == (Topic("s.hot", "`source`", "a"),)
    assert shape_of(filtering("x > 1"), NETWORK).shape.topics((1.0,)) == (Topic("events"),)


def window(name: str, stream: str, **more: object) -> Operator:
    size = UNITS["s"]
    return Aggregate(name=name, input=stream, size=size, advance=size, compute=(Named("n", "count(*)"),), **more)  # type: ignore[arg-type] # fields of an aggregate


@pytest.mark.parametrize(
    ("query", "path", "rule"),
    [
        pytest.param(filtering("k >"), "operators.f.where", "no SQL expression", id="syntax"),
        pytest.param(filtering("nobody > 1"), "operators.f.where", "no column 'nobody'", id="unknown column"),
        pytest.param(filtering("k > 'a'"), "operators.f.where", "do not mix", id="types"),
        pytest.param(filtering("k > 1", stream="event"), "operators.f.input", "no such stream", id="unknown stream"),
        pytest.param(filtering("rand() > 1"), "operators.f.where", "refused", id="a forbidden function"),
        pytest.param(filtering("k > 1", name="events"), "operators.events", "a stream of that name", id="name taken"),
        pytest.param(filtering("k = 1" + " OR k = 1" * 300), "operators.f.where", "at most 2000", id="too long"),
        pytest.param(Query("q", "t", (), "f"), "operators", "at least one", id="empty"),
        pytest.param(Query("q q", "t", filtering("k > 1").operators, "f"), "name", "a name has", id="a bad name"),
        pytest.param(Query("q", "t", filtering("k > 1").operators, "g"), "output", "is a stream that", id="no output"),
        pytest.param(
            Query("q", "t", tuple(Filter(name=f"f{i}", input="events", where="ok") for i in range(17)), "f0"),
            "operators", f"at most {MOST_OPERATORS}", id="too many operators",
        ),
        pytest.param(
            Query("q", "t", (Synthetic(name="f", input="events", cost=1, selectivity=1, seed=1),), "f"),
            "operators.f.kind", "cannot be shared", id="a kind that cannot be shared",
        ),
        pytest.param(
            Query("q", "t", (Join(name="j", left="events", right="s.hot", left_window=1, right_window=1, spread=2,
                                  on=(Pair("k", "k"),), select=(Named("x", "left.x"),)),), "j"),
            "operators.j.spread", "not spread", id="a join that is spread",
        ),
        pytest.param(
            Query("q", "t", (Map(name="m", input="events", select=(Named("Query", "k"),)),), "m"),
            "output", "name of their query", id="the column of names",
        ),
    ],
)  # fmt: skip
def test_a_faulty_query_is_refused_with_the_reason(query: Query, path: str, rule: str) -> None:
    shapes = Shapes(NETWORK)
    with pytest.raises(NetworkError) as caught:
        shapes.shape_of(query)
    assert path in [fault.field for fault in caught.value.faults]
    assert any(rule in fault.rule for fault in caught.value.faults)
    assert caught.value.faults == examine_query(query, NETWORK)


def test_faults_that_no_skeleton_tells_of_are_found_when_it_is_known() -> None:
    shapes = Shapes(NETWORK)
    shapes.shape_of(filtering("k > 1"))
    for query in (filtering("k > 1", name="events"), Query("q q", "t", filtering("k > 1").operators, "f")):
        with pytest.raises(NetworkError):
            shapes.shape_of(query)


def test_columns_that_nobody_needs_are_left_behind() -> None:
    query = Query("q", "t", (Filter(name="f", input="events", where="source = 'a' AND x > 1"), window("w", "f")), "w")
    first, second = shape_of(query, NETWORK).shape.steps
    assert first.network.sources[0].schema.names == ("ts", "x", "drover_member", "drover_c1")
    assert second.network.sources[0].schema.names == ("ts", "drover_member")


def test_a_join_keeps_members_apart() -> None:
    join = Join(
        name="j", left="f", right="events", left_window=UNITS["s"], right_window=0, on=(Pair("k", "k"),),
        where="left.x + 1 < right.x", select=(Named("y", "right.x * 2"),),
    )  # fmt: skip
    shaped = shape_of(Query("q", "t", (Filter(name="f", input="events", where="x > 1"), join), "j"), NETWORK)
    made = shaped.shape.steps[1].operator
    assert isinstance(made, Join)
    assert made.on == (Pair("k", "k"), Pair("drover_member", "drover_member"))
    assert shaped.constants == (1.0, 1.0, 2.0)
    assert [column.name for column in shaped.shape.schema.columns] == ["ts", "y"]
