"""Whether batches keep up with their trigger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.lateness import pace_of
from drover.control.state import ControlState
from tests.load.batches import RATE, batches


def state(trigger: float = 1.0, backlogs: tuple[float, ...] = ()) -> ControlState:
    return replace(ControlState().add_batches(batches(spread=0.02, trigger=trigger)), backlogs=backlogs)


def test_too_few_batches_have_no_pace() -> None:
    assert pace_of(ControlState()) is None


@pytest.mark.parametrize(
    ("trigger", "backlogs", "late"),
    [
        pytest.param(1.0, (), False, id="in time"),
        pytest.param(0.5, (), True, id="longer than the trigger"),
        pytest.param(0.0, (), False, id="without a pause"),
        pytest.param(0.0, (1e4, 2e4, 3e4, 4e4), True, id="more and more rows wait"),
        pytest.param(0.0, (1e4, 2e4, 2e4, 4e4), False, id="they do not always grow"),
        pytest.param(0.0, (1.0, 2.0, 3.0, 4.0), False, id="a few rows"),
        pytest.param(0.0, (1e4, 2e4, 3e4, 4e4, -1.0), False, id="nobody knows now"),
    ],
)
def test_late(trigger: float, backlogs: tuple[float, ...], late: bool) -> None:
    pace = pace_of(state(trigger, backlogs))
    assert pace is not None
    assert pace.is_late is late
    assert pace.seconds == pytest.approx(0.81, rel=0.1)
    assert pace.rows == pytest.approx(RATE, rel=0.05)
    assert pace.is_up_to_nodes
    assert pace.backlog == (backlogs[-1] if backlogs and backlogs[-1] >= 0 else None)
