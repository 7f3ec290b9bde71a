from __future__ import annotations

import pytest

from drover.errors import LoadError
from drover.load.profile import COST, RATE, Origin, make_profile
from drover.load.statistics import Behaviour, Statistics
from drover.network.build import Builder
from tests.load.networks import COLUMNS, example_3, example_9


@pytest.mark.parametrize(
    ("operator", "selectivity"),
    [pytest.param("switch", 0.5, id="a switch of two"), pytest.param("filter", 1.0, id="anything else")],
)
def test_assumed_selectivities_of_outputs(operator: str, selectivity: float) -> None:
    builder = Builder("n")
    source = builder.source("s", COLUMNS, time="ts")
    if operator == "switch":
        for stream in source.switch("o", {"a": "k > 0"}, rest="b").values():
            stream.output()
    else:
        source.filter("o", "k > 0").output()
    assert set(make_profile(builder.build()).selectivities.values()) == {selectivity}


def test_the_first_origin_that_knows_a_number_wins() -> None:
    measured = Statistics({"r1": 5.0}, {"o1": Behaviour(2.0)})
    given = Statistics({"r1": 7.0, "r2": 9.0}, {"o1": Behaviour(3.0, {"o1": 0.5}), "o2": Behaviour(4.0)})
    found = make_profile(example_3(), [(Origin.MEASURED, measured), (Origin.GIVEN, given)])
    assert found.rates == {"r1": 5.0, "r2": 9.0}
    assert (found.costs["o1"], found.costs["o2"], found.costs["o3"]) == (2.0, 4.0, COST)
    assert found.selectivities["o1"] == 0.5
    assert found.origins["rates"] == {"r1": Origin.MEASURED, "r2": Origin.GIVEN}
    assert [found.origins["costs"][name] for name in ("o1", "o2", "o3")] == ["measured", "given", "assumed"]
    assert found.counts()["costs"] == {"measured": 1, "given": 1, "assumed": 2}


def test_a_series_gives_the_rate_if_there_is_no_other() -> None:
    found = make_profile(example_3(), [(Origin.GIVEN, Statistics({"r1": 1.0}, {}, {"r1": (5.0,), "r2": (2.0, 4.0)}))])
    assert found.rates == {"r1": 1.0, "r2": 3.0}
    assert make_profile(example_3(), [(Origin.GIVEN, Statistics(series={"r1": ()}))]).rates["r1"] == RATE


def test_declared_loads_come_before_assumptions() -> None:
    builder = Builder("n")
    builder.source("s", COLUMNS, time="ts").synthetic("o", cost=3e-6, selectivity=0.25).output()
    found = make_profile(builder.build())
    assert found.costs == {"o": 3e-6}
    assert found.selectivities == {"o": 0.25}
    assert set(found.origins["costs"].values()) == {Origin.DECLARED}


def test_operators_that_vary_are_known() -> None:
    given = Statistics(operators={"o1": Behaviour(varies=True), "o2": Behaviour()})
    assert make_profile(example_3(), [(Origin.GIVEN, given)]).varying == {"o1"}


def test_a_change_of_rates_keeps_the_measurements_of_joins() -> None:
    found = make_profile(example_9(), [(Origin.MEASURED, Statistics({"r1": 10.0, "r2": 10.0}))])
    faster = found.at({"r1": 20.0, "unknown": 1.0})
    assert faster.rates == {"r1": 20.0, "r2": 10.0}
    assert faster.origins["rates"] == {"r1": Origin.GIVEN, "r2": Origin.MEASURED}
    assert faster.gains == found.gains
    assert float(faster.loads()["o5"]) == pytest.approx(2 * float(found.loads()["o5"]))
    with pytest.raises(LoadError, match=r"the rate of 'r1' is -1\.0"):
        found.at({"r1": -1.0})


def test_loads_at_given_rates() -> None:
    found = make_profile(example_3(), [(Origin.GIVEN, Statistics({}, {"o1": Behaviour(2.0, {"o1": 0.5})}))])
    streams = found.stream_rates({"r1": 10.0, "r2": 0.0})
    assert (streams["o1"], streams["o2"]) == (5.0, 5.0)
    loads = found.loads({"r1": 10.0, "r2": 0.0})
    assert loads["o1"] == 20.0
    assert loads["o2"] == pytest.approx(5.0 * COST)
