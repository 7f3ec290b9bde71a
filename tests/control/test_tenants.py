"""Limits of tenants: which are valid, and which queries are parked."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.tenants import OTHERS, QueryLimits, limits_faults, limits_for, limits_of, too_heavy
from drover.errors import DroverError

FIGURES = {"number": pl.Int64, "tenant": pl.String, "state": pl.Int64, "busy": pl.Float64}


def figures(*rows: tuple[int, str, int, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=FIGURES, orient="row")


KNOWN = "Known: queries, state, busy."
WHOLE = "it must be a whole number, at least 0"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(
            {"acme": {"querys": 1}},
            f"acme.querys is unknown, but there is no such limit. Did you mean queries? {KNOWN}",
            id="an unknown limit",
        ),
        pytest.param(
            {"acme": {"queries": -1}},
            f"acme.queries is -1, but {WHOLE} (how many queries it may have at a time). Leave it out for no limit.",
            id="a negative number",
        ),
        pytest.param(
            {"acme": {"state": 1.5}},
            f"acme.state is 1.5, but {WHOLE} (bytes of state that its queries may hold together). "
            "Leave it out for no limit.",
            id="half a byte",
        ),
        pytest.param(
            {"acme": {"busy": "much"}},
            "acme.busy is 'much', but it must be a number, at least 0 (busy seconds per second that its queries may "
            "take together). Leave it out for no limit.",
            id="no number",
        ),
        pytest.param(
            {"a b": {"queries": 1}},
            "a b is 'a b', but a name has letters, digits, _ and -, up to 128 of them, and starts with a letter or _. "
            "Rename the tenant; * is for all others.",
            id="no name of a tenant",
        ),
        pytest.param({"acme": 3}, f"acme is 3, but it must be a mapping of limits. {KNOWN}", id="no mapping"),
    ],
)
def test_bad_limits_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(DroverError) as caught:
        limits_of(given)
    assert str(caught.value) == f"limits.{said}"


@pytest.mark.parametrize("value", [True, math.inf, math.nan, -0.5], ids=str)
def test_what_is_no_amount_is_refused(value: float) -> None:
    with pytest.raises(DroverError, match=r"limits\.acme\.busy is .*, but it must be a number, at least 0"):
        limits_of({"acme": {"busy": value}})


def test_a_limit_may_be_beyond_all_numbers_of_the_machine() -> None:
    assert limits_of({"acme": {"queries": 10**400}})["acme"].queries == 10**400


def test_all_faults_are_found_at_once() -> None:
    found = list(limits_faults({"a": 3, "b": {"queries": -1, "x": 1, "busy": True}, "c": {"state": 0.5}}))
    assert [fault.path for fault in found] == [("a",), ("b", "queries"), ("b", "x"), ("b", "busy"), ("c", "state")]
    (fault,) = limits_faults([1])
    assert fault.text.startswith(" is [1], but it must be a mapping of tenants to their limits. Write for example")


def test_nothing_at_all_is_a_limit() -> None:
    given = {"acme": {"queries": 0, "state": 0, "busy": 0}, "b": {"busy": 0.25}, "c": QueryLimits(3)}
    assert limits_of(given) == {"acme": QueryLimits(0, 0, 0), "b": QueryLimits(busy=0.25), "c": QueryLimits(3)}


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


def test_what_is_just_within_a_limit_stays() -> None:
    given = figures((0, "a", 30, 0.25), (1, "a", 20, 0.25))
    assert too_heavy(given, limits_of({"a": {"state": 50, "busy": 0.5}})).height == 0
    assert too_heavy(given, limits_of(None)).height == 0
    assert too_heavy(figures(), limits_of({"a": {"state": 0}})).height == 0


def test_of_equal_queries_the_latest_are_parked_first() -> None:
    given = figures((0, "a", 10, 0.5), (1, "a", 10, 0.5), (2, "a", 10, 0.5), (3, "b", 10, 0.5))
    found = too_heavy(given, limits_of({"a": {"busy": 0.5}, "b": {"busy": 0.25}}))
    assert found["number"].to_list() == [2, 1, 3]
    assert found["parked"][0] == (
        "tenant a is over its limit: its queries took 1.5 busy seconds per second, but may take 0.5. "
        "Drop it or others, or raise the limit; then submit it again."
    )


def test_a_query_that_breaks_two_limits_is_parked_once() -> None:
    found = too_heavy(figures((0, "a", 2000, 0.5), (1, "a", 1, 0.1)), limits_of({"a": {"state": 1500, "busy": 0.3}}))
    assert found["number"].to_list() == [0]
    assert "took 2,001 bytes of state, but may take 1,500." in found["parked"][0]


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
