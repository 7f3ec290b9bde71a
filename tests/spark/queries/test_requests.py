"""A request is answered as if its queries were checked one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.tenants import AllLimits, limits_of
from drover.network.model import Network
from drover.network.queries import Query, Shapes
from drover.network.queries.notation import entry_of
from drover.network.queries.text_shapes import TextShapes
from drover.spark.queries.admission import admit, entry_for
from drover.spark.queries.families import tables_of
from drover.spark.queries.requests import CheckedRequest, all_or_none, check_request, text_of
from tests.network.queries.cases import NETWORK
from tests.network.queries.texts import as_text, query_text, text_batches
from tests.spark.meters import meters, parsed, query

FIRST = 5  # number of the first accepted query
TAKEN = ("taken", "q3")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.network.queries.text_shapes.FEW", 2)
    monkeypatch.setattr("drover.spark.queries.requests.MANY", 2)


class Number(IntEnum):
    """A number that JSON writes as something else than Python does."""

    ONE = 1


def check(given: Sequence[Any], network: Network, limits: AllLimits, counts: dict[str, int]) -> CheckedRequest:
    """Demand that a request is answered as its queries are one by one."""
    found = check_request(given, TextShapes(Shapes(network)), TAKEN, counts, limits, FIRST)
    entries = ((index, entry_for(one, index)) for index, one in enumerate(given))
    plain = admit(entries, Shapes(network), TAKEN, counts, limits)
    assert found.refused == plain.refused
    assert found.places.tolist() == [one.index for one in plain.accepted]
    expected = [
        (FIRST + number, one.query.name, one.query.tenant, one.shaped.shape.id, one.text)
        for number, one in enumerate(plain.accepted)
    ]
    assert found.added.rows() == expected
    tables = tables_of((FIRST + number, one.query, one.shaped) for number, one in enumerate(plain.accepted))
    assert found.families.keys() == tables.keys()
    for name, family in tables.items():
        assert repr(found.families[name].table.to_pylist()) == repr(family.table.to_pylist())
        assert found.families[name].table.schema == family.table.schema
    return found


@given(
    queries=text_batches(),
    limit=st.sampled_from([0, 3, 1000]),
    spoiled=st.dictionaries(
        st.integers(0, 23),
        st.sampled_from(
            [
                7,
                None,
                {"name": True, "operators": {}},
                {1: 2},
                {**query_text("q1", "k > 1"), "size": 5},
                {**query_text("q1", "k > 1"), "tenant": Number.ONE},
                query_text("q1", "k > 'ß'"),
                entry_of(query_text("q2", "k > 5")),
                MappingProxyType(query_text("q4", "k > 5")),
                {"name": "q5", "operators": [query_text("q1", "k > 1")]},
            ]
        ),
        max_size=3,
    ),
)
def test_a_request_is_answered_as_one_by_one(
    queries: list[dict[str, Any]], limit: int, spoiled: dict[int, object]
) -> None:
    given = [spoiled.get(number, one) for number, one in enumerate(queries)]
    check(given, NETWORK, limits_of({"acme": {"queries": limit}}), {"acme": 1})


def test_queries_and_dicts_may_be_mixed() -> None:
    one: list[dict[str, Any] | Query] = [query(f"a{number}", number) for number in range(12)]
    found = check([*one, *(parsed(query(f"b{number}", number)) for number in range(12))], meters(), {}, {})
    assert found.added.height == 24


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        pytest.param(["a", "b", "a", "a b", "taken", "c"], ["a", "b", "c"], id="names twice, faulty and taken"),
        pytest.param(["a", "b", "c", "d"], ["a", "b", "c", "d"], id="all"),
    ],
)
def test_one_faulty_query_refuses_no_other(given: list[str], accepted: list[str]) -> None:
    found = check([query_text(name, f"k > {n}") for n, name in enumerate(given)], NETWORK, {}, {})
    assert found.added["name"].to_list() == accepted


def test_atomic_refuses_all_in_the_order_given() -> None:
    result = all_or_none(check([query("good", 0), 7, query("last", 2)], meters(), {}, {}))
    assert (result.added.height, result.families, len(result.places)) == (0, {}, 0)
    assert [(one.index, one.name) for one in result.refused] == [(0, "good"), (1, None), (2, "last")]
    good = check([query("good", 0)], meters(), {}, {})
    assert all_or_none(good) is good


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"name": 5}, id="a number"),
        pytest.param({"name": Number.ONE}, id="a subclass"),
        pytest.param({1: "a"}, id="a key that is no text"),
        pytest.param({"name": ("a",)}, id="a tuple"),
        pytest.param({"name": "ß"}, id="not ASCII"),
        pytest.param({"name": "\ud800"}, id="half a character"),
        pytest.param([{"name": "a"}], id="a list"),
        pytest.param("a", id="a text"),
    ],
)
def test_what_json_does_not_keep_is_read_alone(given: object) -> None:
    assert text_of(given) is None


def test_nesting_without_end_is_read_alone() -> None:
    endless: dict[str, Any] = {}
    endless["name"] = [endless]
    assert text_of(endless) is None
    assert text_of({"name": "a", "n": None, "b": [True, {"c": "d"}]}) == '{"name":"a","n":null,"b":[true,{"c":"d"}]}'
    assert text_of(query_text("q", "k > 1")) == as_text(query_text("q", "k > 1"))
