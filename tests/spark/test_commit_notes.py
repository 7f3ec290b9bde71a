"""The notes of a commit are part of the checkpoint format."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from drover.flow.parking import ParkedOperator
from drover.flow.state.commits import Checkpoint
from drover.flow.watermarks import SourceProgress
from drover.spark.commit_notes import CommitNotes, notes_of, to_json

BROKEN = ParkedOperator("ValueError: no", holds=True, frozen=5, since=2, at=1.5, rows=3, bytes=40)
NOTES = CommitNotes(7, 3, 5, SourceProgress({"a": 1}, {"a": 2}), {"broken": BROKEN}, {"network.yaml": "1c8a"})
JSON = {
    "spark_batch": 7,
    "plan": 3,
    "planned": 5,
    "late": {"a": 1},
    "now": {"a": 2},
    "parked": {"broken": "ValueError: no"},
    "parking": {"broken": {"holds": True, "frozen": 5, "since": 2, "at": 1.5, "rows": 3, "bytes": 40}},
    "files": {"network.yaml": "1c8a"},
}
OLD = {key: value for key, value in JSON.items() if key != "parking"}


def test_the_keys_of_a_commit_do_not_change() -> None:
    assert to_json(NOTES) == JSON


def test_notes_come_back_from_json() -> None:
    assert notes_of(Checkpoint(notes=json.loads(json.dumps(to_json(NOTES))))) == NOTES


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({}, CommitNotes(), id="nothing was committed"),
        pytest.param({"spark_batch": 4}, CommitNotes(spark_batch=4), id="an older commit"),
        pytest.param(
            OLD,
            replace(NOTES, parked={"broken": ParkedOperator("ValueError: no")}),
            id="parked before inputs were held",
        ),
        pytest.param({**JSON, "queries": {"turn": 1}}, NOTES, id="with notes of queries"),
    ],
)
def test_absent_and_foreign_keys_are_no_error(body: dict[str, Any], expected: CommitNotes) -> None:
    assert notes_of(Checkpoint(notes=body)) == expected
