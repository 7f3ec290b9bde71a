"""Faults of queries: every one is found, and names its field and its rule."""

from __future__ import annotations

import pytest

from drover.errors import NetworkError
from drover.network.operators import Filter, Join, KeyPair, Map, Named, Synthetic, Union
from drover.network.queries import MOST_OPERATORS, Query, Shapes, examine_query
from drover.network.queries.query import rename_inputs, source_names
from drover.network.rewrite import expressions_of, with_expressions
from tests.network.queries.cases import NETWORK, filtering, window


@pytest.mark.parametrize(
    ("query", "path", "rule"),
    [
        pytest.param(filtering("k >"), "operators.f.where", "not a SQL expression", id="syntax"),
        pytest.param(filtering("missing > 1"), "operators.f.where", "no column 'missing'", id="unknown column"),
        pytest.param(filtering("k > 'a'"), "operators.f.where", "do not mix", id="types"),
        pytest.param(filtering("k > 1", stream="event"), "operators.f.input", "no such stream", id="unknown stream"),
        pytest.param(filtering("rand() > 1"), "operators.f.where", "refused", id="a forbidden function"),
        pytest.param(filtering("k > 1", name="events"), "operators.events", "a stream of that name", id="name taken"),
        pytest.param(filtering("k = 1" + " OR k = 1" * 300), "operators.f.where", "at most 2000", id="too long"),
        pytest.param(Query("q", "t", (), "f"), "operators", "at least one", id="empty"),
        pytest.param(
            Query("q", "t", (Filter(name="f", input="events", where="k > 1", was="g"),), "f"),
            "operators.f.was",
            "have no names before",
            id="a former name",
        ),
        pytest.param(Query("q q", "t", filtering("k > 1").operators, "f"), "name", "a name has", id="a bad name"),
        pytest.param(
            Query("q", "t", filtering("k > 1").operators, "g"), "output", "is a stream that", id="unknown output"
        ),
        pytest.param(
            Query("q", "t", tuple(Filter(name=f"f{i}", input="events", where="ok") for i in range(17)), "f0"),
            "operators",
            f"at most {MOST_OPERATORS}",
            id="too many operators",
        ),
        pytest.param(
            Query("q", "t", (Synthetic(name="f", input="events", cost=1, selectivity=1, seed=1),), "f"),
            "operators.f.kind",
            "cannot be shared",
            id="a kind that cannot be shared",
        ),
        pytest.param(
            Query(
                "q",
                "t",
                (
                    Join(
                        name="j",
                        left="events",
                        right="s.hot",
                        left_window=1,
                        right_window=1,
                        spread=2,
                        on=(KeyPair("k", "k"),),
                        select=(Named("x", "left.x"),),
                    ),
                ),
                "j",
            ),
            "operators.j.spread",
            "not spread",
            id="a join that is spread",
        ),
        pytest.param(
            Query("q", "t", (Map(name="m", input="events", select=(Named("Query", "k"),)),), "m"),
            "output",
            "name of their query",
            id="a column named query",
        ),
    ],
)
def test_a_faulty_query_is_refused_with_the_reason(query: Query, path: str, rule: str) -> None:
    shapes = Shapes(NETWORK)
    with pytest.raises(NetworkError) as caught:
        shapes.shape_of(query)
    assert path in [fault.field for fault in caught.value.faults]
    assert any(rule in fault.rule for fault in caught.value.faults)
    assert caught.value.faults == examine_query(query, NETWORK)


def test_the_branch_of_a_switch_gets_a_source_name_without_a_dot() -> None:
    query = Query("q", "t", (Filter(name="s-hot", input="s.hot", where="k > 1"),), "s-hot")
    assert source_names(query) == {"s.hot": "s-hot_"}  # the plain name is that of an operator


def test_inputs_are_renamed_and_others_stay() -> None:
    union = Union(name="u", streams=("s.hot", "s.cold"))
    assert rename_inputs(union, {"s.hot": "a"}).inputs == ("a", "s.cold")
    assert rename_inputs(filtering("ok").operators[0], {"events": "b"}).inputs == ("b",)


@pytest.mark.parametrize(
    ("operator", "paths"),
    [
        pytest.param(filtering("k > 1").operators[0], [("where",)], id="filter"),
        pytest.param(NETWORK.operators[0], [("cases", "hot")], id="switch"),
        pytest.param(window("w", "events"), [("compute", "n")], id="aggregate"),
        pytest.param(Map(name="m", input="events", select=(Named("y", "x"),)), [("select", "y")], id="map"),
        pytest.param(
            Join(name="j", left="a", right="b", left_window=1, right_window=1, where="ok", select=(Named("y", "x"),)),
            [("where",), ("select", "y")],
            id="join",
        ),
    ],
)
def test_every_expression_is_found_and_can_be_changed(operator: Filter, paths: list[tuple[str, ...]]) -> None:
    assert [path for path, _ in expressions_of(operator)] == paths
    changed = with_expressions(operator, lambda text: f"({text})")
    assert [text for _, text in expressions_of(changed)] == [f"({text})" for _, text in expressions_of(operator)]
