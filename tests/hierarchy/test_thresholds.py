from __future__ import annotations

import pytest

from drover.errors import ProblemError
from drover.hierarchy.thresholds import TreeThresholds, add, less, level


@pytest.mark.parametrize(
    ("values", "says"),
    [
        pytest.param({"lower": 0.6, "upper": 0.4}, "lower and upper are 0.6 and 0.4, but must rise", id="they fall"),
        pytest.param({"lower": -0.1, "upper": 0.6}, "lower and upper are -0.1 and 0.6, but must rise", id="below 0"),
        pytest.param({"lower": 0.4, "upper": 0.4}, "lower and upper are 0.4 and 0.4, but must rise", id="equal"),
        pytest.param({"lower": 0.4, "upper": 1.5}, "lower and upper are 0.4 and 1.5, but must rise", id="above 1"),
        pytest.param({"margin": 0.2}, "margin is 0.2, but must be at least 0 and below 0.1,", id="too wide"),
        pytest.param(
            {"lower": 0.25, "upper": 0.75, "margin": 0.25}, "margin is 0.25, .* below 0.25,", id="just too wide"
        ),
        pytest.param({"margin": -0.01}, "margin is -0.01, but must be at least 0", id="a negative margin"),
        pytest.param({"least": 0.6}, "least is 0.6, but must be at least 0 and below 0.6,", id="nothing is worth it"),
        pytest.param({"least": -0.01}, "least is -0.01, but must be at least 0", id="a negative size"),
    ],
)
def test_thresholds_that_leave_no_room_are_refused(values: dict[str, float], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        TreeThresholds(**values)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"lower": 0.0, "upper": 1.0}, id="all of the capacity"),
        pytest.param({"margin": 0.0}, id="no margin"),
        pytest.param({"least": 0.59}, id="only large transfers"),
    ],
)
def test_the_ends_of_the_ranges_are_allowed(values: dict[str, float]) -> None:
    found = TreeThresholds(**values)
    assert {name: getattr(found, name) for name in values} == values


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
