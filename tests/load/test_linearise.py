from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.load.arrays import Floats
from drover.load.linearise import expand, needed
from tests.load.networks import example_3, example_9, profile


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=3, max_size=3), min_size=1, max_size=6))
@settings(max_examples=200)
def test_kept_columns_give_all_others(drawn: list[list[float]]) -> None:
    columns: Floats = np.array(drawn).T
    kept, mixture = needed(columns)
    np.testing.assert_allclose(columns[:, kept] @ mixture, columns, atol=1e-7)
    assert (mixture >= 0).all()
    assert len(kept) >= np.linalg.matrix_rank(columns)
    for index in kept:  # none can be spared
        others = [other for other in kept if other != index]
        assert len(needed(columns[:, [*others, index]])[0]) == len(kept)


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        pytest.param([[1.0, 0.0], [0.0, 1.0]], [0, 1], id="two directions"),
        pytest.param([[1.0, 2.0], [1.0, 2.0]], [0], id="one direction, the first is kept"),
        pytest.param([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [0, 1], id="the third is a mixture"),
        pytest.param([[0.0, 1.0], [0.0, 1.0]], [1], id="a column without load"),
    ],
)
def test_needed_columns(columns: list[list[float]], kept: list[int]) -> None:
    assert needed(np.array(columns))[0] == kept


def test_a_linear_network_needs_no_new_variable() -> None:
    found = expand(profile(example_3(), {"r1": 10.0, "r2": 20.0}, {"o1": 2.0, "o2": 3.0}, {"o1": 0.5}))
    assert found.names == ["r1", "r2"]
    assert found.values == [10.0, 20.0]
    assert found.loads["o1"] == {0: 2.0}
    assert found.loads["o2"] == {0: 1.5}
    assert found.streams["o1"] == {0: 0.5}


def test_a_join_is_a_variable_by_its_output() -> None:
    costs = {"o5": 4.0, "o6": 3.0}
    selectivities = {"o5": 0.5, "o6": 1.0}
    found = expand(profile(example_9(), {"r1": 10.0, "r2": 10.0}, costs, selectivities))
    assert found.names == ["r1", "r2", "o5"]
    assert found.loads["o5"] == {2: 8.0}, "cost over selectivity, per row out"
    assert found.loads["o6"] == {2: 3.0}


@pytest.mark.parametrize(
    ("selectivity", "varying"),
    [pytest.param(0.0, (), id="without results"), pytest.param(0.5, ("o5",), id="results that vary")],
)
def test_a_join_that_cannot_be_relied_on_is_a_variable_by_its_input(
    selectivity: float, varying: tuple[str, ...]
) -> None:
    given = profile(example_9(), {"r1": 10.0, "r2": 10.0}, {"o5": 4.0}, {"o5": selectivity}, varying)
    found = expand(given)
    assert found.names[2] == "rows into o5"
    assert found.loads["o5"] == {2: 4.0}
    assert found.values[2] == pytest.approx(given.gains["o5"] * 10.0 * 10.0)
