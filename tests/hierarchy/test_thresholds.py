from __future__ import annotations

import pytest

from drover.errors import ProblemError
from drover.hierarchy.thresholds import TreeThresholds, add, less, level


@pytest.mark.parametrize("values", [(0.6, 0.4), (-0.1, 0.6), (0.4, 0.4)])
def test_marks_must_rise(values: tuple[float, float]) -> None:
    with pytest.raises(ProblemError, match="must rise from 0"):
        TreeThresholds(*values)


def test_a_margin_must_leave_room() -> None:
    with pytest.raises(ProblemError, match=r"margin is 0\.2"):
        TreeThresholds(0.4, 0.6, 0.2)


def test_sizes_are_added_and_subtracted_by_resource() -> None:
    assert add([(1.0, 2.0), (0.5, 0.0)], (10.0, 20.0)) == (11.5, 22.0)
    assert less((11.5, 22.0), (1.5, 2.0)) == (10.0, 20.0)


@pytest.mark.parametrize(
    ("use", "found"),
    [
        pytest.param((10.0, 10.0), 0.5, id="the first resource is fuller"),
        pytest.param((10.0, 90.0), 0.9, id="the second resource is fuller"),
        pytest.param((0.0, 0.0), 0.0, id="empty"),
    ],
)
def test_the_fullest_resource_determines_the_level(use: tuple[float, float], found: float) -> None:
    assert level(use, (20.0, 100.0)) == found


def test_the_target_is_in_the_middle() -> None:
    assert TreeThresholds(0.2, 0.6).target == pytest.approx(0.4)
