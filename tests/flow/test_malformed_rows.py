"""Evidence of a malformed row becomes a reason, or the row goes on."""

from __future__ import annotations

import json

import polars as pl
import pytest

from drover.flow.malformed_rows import EVIDENCE, FEWER_CELLS, UNREADABLE, UNSURE, check_rows, reason_of

GOOD = {
    "format": "csv",
    "text": "1,,more",
    "values": {"id int": 1},
    "cells": {"id int": "1"},
    "longer": {"id int": "1"},
}
BAD = {**GOOD, "text": "1,x,more", "cells": {"id int": "1", "n int": "x"}, "longer": {"id int": "1", "n int": "x"}}
IN_ARRAY = {"format": "json", "text": ' [{"id": 1}, {"id": "x"}]', "values": {"id int": 1}}


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        pytest.param(GOOD, None, id="more cells than columns"),
        pytest.param(BAD, "n is no int", id="a field of another type"),
        pytest.param({**GOOD, "longer": {"id int": "1", "n int": "x"}}, FEWER_CELLS, id="fewer cells"),
        pytest.param({"format": "csv", "text": "?"}, UNREADABLE, id="no cells"),
        pytest.param({"format": "json", "text": "{"}, UNREADABLE, id="no JSON"),
        pytest.param({**BAD, "format": "json"}, "n is no int", id="a field of JSON"),
        pytest.param({**BAD, "cells": {"d decimal(3,1)": "x"}, "format": "json"}, "d is no decimal(3,1)", id="decimal"),
        pytest.param(IN_ARRAY, None, id="a row of an array"),
        pytest.param({**IN_ARRAY, "values": {}}, UNREADABLE, id="a bracket, and no row"),
    ],
)
def test_what_makes_a_row_malformed(evidence: dict[str, object], reason: str | None) -> None:
    assert reason_of(evidence) == reason


def test_rows_are_told_apart() -> None:
    texts = [None, json.dumps(GOOD), UNSURE + json.dumps(GOOD), json.dumps(BAD), UNSURE + json.dumps(BAD)]
    found = check_rows(pl.DataFrame({"n": range(5), EVIDENCE: texts}))
    assert found is not None
    assert found.good["n"].to_list() == [0, 1]  # the third is not wanted
    assert found.malformed["n"].to_list() == [3, 4]
    assert found.texts.to_list() == ["1,x,more"] * 2
    assert found.reasons.to_list() == ["n is no int"] * 2


def test_nothing_is_looked_at_without_evidence() -> None:
    assert check_rows(pl.DataFrame({"n": [1]})) is None
    assert check_rows(pl.DataFrame({"n": [1], EVIDENCE: [None]}, schema_overrides={EVIDENCE: pl.String})) is None
