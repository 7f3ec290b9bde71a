from __future__ import annotations

import math

import pytest

from drover.errors import LoadError
from drover.load.statistics import Behaviour, Statistics


def test_known_costs_and_selectivities() -> None:
    found = Statistics(operators={"a": Behaviour(2.0, {"a.x": 0.5, "a.y": 0.1}), "b": Behaviour(None, {"b": 3.0})})
    assert found.costs == {"a": 2.0}
    assert found.selectivities == {"a.x": 0.5, "a.y": 0.1, "b": 3.0}


@pytest.mark.parametrize(
    ("rates", "operators", "series", "says"),
    [
        pytest.param({"s": -1.0}, {}, {}, "the rate of 's' is -1.0", id="a negative rate"),
        pytest.param({"s": math.nan}, {}, {}, "the rate of 's' is nan", id="no number"),
        pytest.param({}, {"o": Behaviour(1e19)}, {}, "the cost of 'o' is 1e.19", id="a cost beyond all use"),
        pytest.param({}, {"o": Behaviour(math.inf)}, {}, "the cost of 'o' is inf", id="an infinite cost"),
        pytest.param({}, {"o": Behaviour(None, {"o": -2.0})}, {}, "the selectivity of 'o' is -2.0", id="a selectivity"),
        pytest.param({}, {}, {"s": (1.0, -3.0)}, "a rate in the series of 's' is -3.0", id="a series"),
    ],
)
def test_impossible_numbers_are_refused(
    rates: dict[str, float], operators: dict[str, Behaviour], series: dict[str, tuple[float, ...]], says: str
) -> None:
    with pytest.raises(LoadError, match=says):
        Statistics(rates, operators, series)
    assert Statistics({"s": 0.0}).rates == {"s": 0.0}
