"""A move names a unit of the network, or else a query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from drover.errors import DroverError
from drover.spark.queries.moving import answer_move, move
from tests.spark.queries.catalogs import ServedRun, served

QUERY = {"name": "mine", "operators": {"f": {"kind": "filter", "input": "events", "where": "key = 7"}}}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[ServedRun]:
    with served(tmp_path) as made:
        yield made


def test_a_unit_moves_and_the_plan_changes(run: ServedRun) -> None:
    assert move(run.run.controller, run.service, "a", 1).node_of["a"] == 1
    answer = answer_move(run.run.controller, run.service, {"unit": "a", "node": 0})
    assert (answer["unit"], answer["node"], run.run.places["a"]) == ("a", 0, 0)


def test_a_query_moves_and_the_plan_stays(run: ServedRun) -> None:
    run.service.submit([QUERY])
    before = run.run.controller.status.plan.number
    answer = answer_move(run.run.controller, run.service, {"unit": "mine", "node": 1})
    assert answer == {"query": "mine", "node": 1, "plan": before}


def test_an_unknown_name_is_refused(run: ServedRun) -> None:
    with pytest.raises(DroverError, match="there is no unit 'mine'"):  # without queries, only units are searched
        move(run.run.controller, run.service, "mine", 1)
    run.service.submit([QUERY])
    with pytest.raises(DroverError, match=r"there is no unit and no query 'mines'\. Did you mean mine"):
        move(run.run.controller, run.service, "mines", 1)
