"""Limits of tenants: which are valid, and which queries are parked."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.tenants import OTHERS, QueryLimits, limits_for, limits_of, too_heavy
from drover.errors import DroverError

FIGURES = {"number": pl.Int64, "tenant": pl.String, "state": pl.Int64, "busy": pl.Float64}


def figures(*rows: tuple[int, str, int, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=FIGURES, orient="row")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"acme": {"querys": 1}}, "Did you mean queries", id="an unknown limit"),
        pytest.param({"acme": {"queries": -1}}, "limits.acme.queries is -1", id="a negative number"),
        pytest.param({"acme": {"queries": 1.5}}, "whole number", id="half a query"),
        pytest.param({"acme": {"busy": "much"}}, "limits.acme.busy is 'much'", id="no number"),
        pytest.param({"acme": 3}, "mapping of limits", id="no mapping"),
    ],
)
def test_bad_limits_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(DroverError, match=said):
        limits_of(given)


def test_a_tenant_without_limits_of_its_own_has_those_of_all_others() -> None:
    limits = limits_of({OTHERS: {"queries": 5}, "acme": {}})
    assert limits_for("acme", limits) == QueryLimits()
    assert limits_for("b", limits).queries == 5
    assert limits_for("b", limits_of(None)) == QueryLimits()


def test_the_heaviest_are_parked_and_no_more_than_needed() -> None:
    found = too_heavy(
        figures((0, "a", 10, 0.1), (1, "a", 70, 0.1), (2, "a", 30, 0.1), (3, "b", 500, 9.0)),
        limits_of({"a": {"state": 50}}),
    )
    assert found["number"].to_list() == [1]
    assert "tenant a is over its limit: its queries took 110 bytes of state, but may take 50" in found["parked"][0]


@given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 100), st.integers(0, 8)), max_size=8),
    state=st.integers(0, 200),
    busy=st.integers(0, 20),
)
def test_the_rest_is_within_the_limits_and_tenants_within_them_lose_nothing(
    rows: list[tuple[str, int, int]], state: int, busy: int
) -> None:
    given = figures(*((number, tenant, held, share / 8) for number, (tenant, held, share) in enumerate(rows)))
    parked = too_heavy(given, limits_of({"a": {"state": state, "busy": busy / 8}}))["number"].to_list()
    left = given.filter(~pl.col("number").is_in(parked), tenant="a")
    assert left["state"].sum() <= state
    assert left["busy"].sum() <= busy / 8
    mine = given.filter(tenant="a")
    if mine["state"].sum() <= state and mine["busy"].sum() <= busy / 8:
        assert parked == []
    assert set(parked) <= set(mine["number"])
