"""Requests about queries by HTTP, to a run without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drover.spark.caller import ask
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.routes import MOST_REFUSALS
from drover.spark.queries.service import QueryService
from tests.spark.control_runs import ControlRun, four_filters
from tests.spark.queries.catalogs import ServedRun, served
from tests.spark.test_endpoint import send

GOOD = {"name": "good", "tenant": "acme", "operators": {"f": {"kind": "filter", "input": "events", "where": "key = 7"}}}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[ServedRun]:
    with served(tmp_path / "checkpoint") as made:
        yield made


def submit(run: ControlRun, *given: object, **fields: object) -> tuple[int, dict[str, Any]]:
    return send(run, "POST", "/submit", json.dumps({"queries": list(given), **fields}).encode())


@pytest.mark.parametrize("given", [1, None, [], {}, {"name": ["a"]}, {"name": "a", "operators": {"f": 3}}, "name: a"])
def test_a_malformed_query_is_refused_on_its_own(run: ServedRun, given: object) -> None:
    status, answer = submit(run.run, given, GOOD)
    assert (status, answer["accepted"], answer["refused"]) == (200, 1, 1)
    assert answer["refusals"][0]["index"] == 0
    assert answer["refusals"][0]["faults"]


def test_only_a_caller_with_the_token_may_send_a_large_request(run: ServedRun) -> None:
    many = [{**GOOD, "name": f"q{number}"} for number in range(2_000)]
    body = json.dumps({"queries": many}).encode()
    assert len(body) > 200_000
    status, answer = send(run.run, "POST", "/submit", body, Authorization="Bearer x")
    assert (status, "may have 65536" in answer["error"]) == (413, True)
    assert send(run.run, "POST", "/submit", body)[1]["accepted"] == 2_000
    assert len(ask(run.path, "queries")["queries"]) == 2_000
    assert ask(run.path, "drop", all=True)["dropped"] == 2_000


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        pytest.param("/submit", b"{}", "queries is missing", id="nothing"),
        pytest.param("/submit", b'{"queries": "all"}', "must be a list", id="no list"),
        pytest.param("/drop", b'{"names": "all"}', "must be a list", id="no names"),
        pytest.param("/drop", b'{"names": [["a"]]}', "there is no query", id="odd names"),
    ],
)
def test_a_bad_request_is_refused_with_the_reason(run: ServedRun, path: str, body: bytes, says: str) -> None:
    status, answer = send(run.run, "POST", path, body)
    assert status in (400, 409)
    assert says in answer["error"]


def test_a_run_without_a_sink_for_queries_accepts_none(tmp_path: Path) -> None:
    catalog = QueryCatalog(four_filters(), str(tmp_path / "checkpoint"), {})
    with ControlRun(tmp_path / "checkpoint", queries=QueryService(four_filters(), catalog)) as made:
        status, answer = submit(made, GOOD)
    assert status == 409
    assert "has no sink for results of queries" in answer["error"]


def test_an_answer_has_a_bounded_number_of_refusals(run: ServedRun) -> None:
    status, answer = submit(run.run, *([1] * (MOST_REFUSALS + 5)))
    assert (status, answer["refused"], len(answer["refusals"])) == (200, MOST_REFUSALS + 5, MOST_REFUSALS)
