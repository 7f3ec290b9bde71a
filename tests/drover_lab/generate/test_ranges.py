from __future__ import annotations

import pytest

from drover.errors import DroverError
from drover_lab.generate.ranges import demand, demand_range


def test_the_bounds_are_allowed() -> None:
    demand("size", 1, 1, 3)
    demand("size", 3, 1, 3)
    demand_range("cost", (0.0, 0.0), 0.0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param((-1.0, 2.0), r"cost\[0\] is -1.0, but must be from 0 to 5", id="too low"),
        pytest.param((1.0, 6.0), r"cost\[1\] is 6.0, but must be from 1 to 5", id="too high"),
        pytest.param((2.0, 1.0), r"cost\[1\] is 1.0, but must be from 2 to 5", id="the high end first"),
    ],
)
def test_a_range_outside_its_bounds_is_refused(value: tuple[float, float], words: str) -> None:
    with pytest.raises(DroverError, match=words):
        demand_range("cost", value, 0.0, 5.0)


def test_without_an_upper_bound_the_error_names_the_lower_one() -> None:
    with pytest.raises(DroverError, match="size is 0, but must be at least 1"):
        demand("size", 0, 1)
