"""Settings of what happens when an operator fails."""

from __future__ import annotations

from typing import Any

import pytest

from drover.control.failing import HOLD_BYTES, FailurePolicy, OnFailure, failure_policy
from drover.errors import DroverError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, FailurePolicy(OnFailure.HOLD, HOLD_BYTES), id="nothing is lost by default"),
        pytest.param({"on_failure": "skip"}, FailurePolicy(OnFailure.SKIP), id="skip"),
        pytest.param({"stop_on_failure": True}, FailurePolicy(OnFailure.STOP), id="the older word"),
        pytest.param({"on_failure": "stop", "stop_on_failure": True}, FailurePolicy(OnFailure.STOP), id="both words"),
        pytest.param({"hold_bytes": 5}, FailurePolicy(hold_bytes=5), id="a bound"),
    ],
)
def test_settings(given: dict[str, Any], expected: FailurePolicy) -> None:
    assert failure_policy(**given) == expected


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param({"on_failure": "hodl"}, "must be one of hold, skip, stop. Did you mean hold?", id="a wrong word"),
        pytest.param({"on_failure": "skip", "stop_on_failure": True}, "Leave stop_on_failure out", id="a conflict"),
        pytest.param({"hold_bytes": 0}, "hold_bytes is 0, but must be at least 1", id="no bytes"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(DroverError) as caught:
        failure_policy(**given)
    assert says in str(caught.value)
