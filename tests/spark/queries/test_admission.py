"""Admission: each query is checked on its own against names, limits and the network."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from drover.control.tenants import limits_of
from drover.network.queries import Query, Shaped, Shapes
from drover.network.queries.notation import LONGEST_LINE
from drover.spark.queries.admission import AdmissionResult, admit, entry_for
from tests.spark.meters import meters, query

SHAPES = Shapes(meters())


def check(*given: object, names: tuple[str, ...] = (), counts: dict[str, int] | None = None) -> AdmissionResult:
    entries = ((index, entry_for(one, index)) for index, one in enumerate(given))  # type: ignore[arg-type] # malformed
    return admit(entries, SHAPES, names, counts or {}, limits_of({"acme": {"queries": 2}}))


def long(name: str) -> dict[str, Any]:
    select = {f"c{number}": f"concat(site, '{'x' * 280}')" for number in range(LONGEST_LINE // 280)}
    return {"name": name, "operators": {"m": {"kind": "map", "input": "readings", "select": select}}}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        pytest.param(7, "a query is a mapping", id="not a mapping"),
        pytest.param(query("taken", 0), "a query of the run has that name", id="name in use"),
        pytest.param(query("good", 1), "an earlier query of the request has that name", id="name twice"),
        pytest.param(query("third", 0, "acme"), "it has 2 queries and may have 2", id="over the limit"),
        pytest.param(long("long"), f"at most {LONGEST_LINE} characters", id="too long"),
    ],
)
def test_a_query_is_refused_with_its_fault(given: object, rule: str) -> None:
    result = check(query("good", 0, "b"), given, query("last", 2, "b"), names=("taken",), counts={"acme": 2})
    assert [one.query.name for one in result.accepted] == ["good", "last"]
    (refused,) = result.refused
    assert refused.index == 1
    assert rule in refused.json()["faults"][0]["text"]


def test_accepted_queries_of_a_request_count_towards_the_limit() -> None:
    result = check(*(query(f"q{number}", number) for number in range(3)))
    assert [one.index for one in result.accepted] == [0, 1]
    assert [one.index for one in result.refused] == [2]


def test_a_query_that_drover_fails_to_check_is_refused_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Shapes.shape_of

    def broken(shapes: Shapes, asked: Query) -> Shaped:
        if asked.name == "cursed":
            raise KeyError("boolean")
        return real(shapes, asked)

    monkeypatch.setattr(Shapes, "shape_of", broken)
    with caplog.at_level(logging.CRITICAL):
        result = check(query("good", 0), query("cursed", 1), query("last", 2))
    assert [one.query.name for one in result.accepted] == ["good", "last"]
    (refused,) = result.refused
    assert (refused.index, refused.name) == (1, "cursed")
    assert refused.faults[0].text == (
        "query is not accepted, but drover failed to check it (KeyError: \"'boolean'\"). See the driver's log, and "
        "write the query in another way."
    )


def test_the_negative_of_a_boolean_is_refused_alone() -> None:
    bad = query("bad", 1)
    bad["operators"] = {"f": {"kind": "filter", "input": "readings", "where": "- TRUE"}}
    result = check(query("good", 0), bad, query("last", 2))
    assert [one.query.name for one in result.accepted] == ["good", "last"]
    assert "negative" in result.refused[0].faults[0].text
    assert "drover failed" not in result.refused[0].faults[0].text
