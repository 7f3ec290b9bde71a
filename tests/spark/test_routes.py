"""Fields of requests: typed, known and complete, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from drover.errors import DroverError
from drover.spark.routes import REQUESTS, Request

SOME: Request[None] = Request(lambda _of, fields: dict(fields), needs={"unit": str, "node": int}, takes={"empty": bool})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param({"unit": "a", "node": 3}, {"unit": "a", "node": 3}, id="as JSON has them"),
        pytest.param({"unit": "a", "node": "3"}, {"unit": "a", "node": 3}, id="a number of a URL"),
        pytest.param(
            {"unit": "a", "node": 3, "empty": False}, {"unit": "a", "node": 3, "empty": False}, id="an optional field"
        ),
    ],
)
def test_fields_are_read(given: dict[str, Any], read: dict[str, Any]) -> None:
    assert SOME.read(given) == read


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"node": 3}, "field unit is missing, but must be text", id="missing"),
        pytest.param({"unit": "a", "node": True}, "node is True, but must be a whole number", id="a boolean"),
        pytest.param({"unit": "a", "node": "x3"}, "node is 'x3', but must be a whole number", id="no number"),
        pytest.param({"unit": "a", "node": "1234567890"}, "must be a whole number", id="a long number"),
        pytest.param({"unit": "a", "node": 3, "empty": 1}, "empty is 1, but must be true or false", id="no boolean"),
        pytest.param({"unit": "a", "node": 3, "emty": True}, "Did you mean empty?", id="unknown"),
    ],
)
def test_wrong_fields_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(DroverError) as caught:
        SOME.read(given)
    assert said in str(caught.value)


def test_requests_that_only_read_take_no_required_lists() -> None:
    """They are sent as URLs, which have text and numbers only."""
    kinds = {kind for request in REQUESTS.values() if not request.changes for kind in request.needs.values()}
    assert kinds <= {str, int}
