from __future__ import annotations

import numpy as np
import pytest

from drover.load.rates import find_gains, find_rates, rows_in
from drover.network.build import Builder
from tests.load.networks import COLUMNS, example_9

ONES = {f"o{k}": 1.0 for k in range(1, 7)}


def test_rates_follow_from_sources_and_selectivities() -> None:
    found = find_rates(example_9(), {"r1": 8.0, "r2": 4.0}, {**ONES, "o1": 0.5, "o5": 0.25}, {"o5": 0.1})
    assert (found["o1"], found["o2"], found["o4"]) == (4.0, 4.0, 4.0)
    assert found["o5"] == pytest.approx(0.25 * 0.1 * 4.0 * 4.0)
    assert found["o6"] == found["o5"]


def test_all_cases_in_one_walk() -> None:
    found = find_rates(example_9(), {"r1": np.array([1.0, 2.0]), "r2": np.array([1.0, 3.0])}, ONES, {"o5": 1.0})
    assert np.asarray(found["o5"]).tolist() == [1.0, 6.0]


def test_rows_into_operators() -> None:
    network = example_9()
    streams = {"o2": 3.0, "o4": 5.0, "r1": 7.0}
    assert rows_in(network.operator("o1"), streams, {}) == 7.0
    assert rows_in(network.operator("o5"), streams, {"o5": 2.0}) == 30.0


def test_rows_into_a_union_are_the_sum() -> None:
    builder = Builder("n")
    a, b = (builder.source(name, COLUMNS, time="ts") for name in "ab")
    a.union("u", b).output()
    assert rows_in(builder.build().operator("u"), {"a": 3.0, "b": 4.0}, {}) == 7.0


@pytest.mark.parametrize(
    ("rates", "gain"),
    [
        pytest.param({"o2": 4.0, "o4": 2.0}, 6.0 / 8.0, id="rows in over the product"),
        pytest.param({"o2": 4.0, "o4": 0.0}, 8.0 / 16.0, id="an idle side counts as the other"),
        pytest.param({"o2": 0.0, "o4": 5.0}, 10.0 / 25.0, id="the other side is idle"),
        pytest.param({"o2": 0.0, "o4": 0.0}, 2.0, id="both idle: one row per second each"),
        pytest.param({"o2": 5e-324, "o4": 5e-324}, 2.0, id="rates whose product is 0 are idle"),
    ],
)
def test_the_gain_of_a_join(rates: dict[str, float], gain: float) -> None:
    found = find_gains(example_9(), {"r1": 100.0, "r2": 100.0}, ONES, {"o5": rates})
    assert found == {"o5": pytest.approx(gain)}


def test_without_measured_rates_the_sources_decide() -> None:
    assert find_gains(example_9(), {"r1": 4.0, "r2": 2.0}, ONES, {}) == {"o5": pytest.approx(6.0 / 8.0)}


def test_a_stream_joined_with_itself_is_read_once() -> None:
    builder = Builder("n")
    a = builder.source("a", COLUMNS, time="ts")
    a.join("j", a, within="1 s", on=["k"], select={"k": "left.k"}).output()
    assert find_gains(builder.build(), {"a": 4.0}, {"j": 1.0}, {}) == {"j": pytest.approx(4.0 / 16.0)}
