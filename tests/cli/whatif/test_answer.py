from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.cli.whatif.answer import heaviest


@given(values=st.lists(st.integers(-20, 20), max_size=12))
def test_the_heaviest_stretch_is_the_heaviest_of_all(values: list[int]) -> None:
    begin, stop, pile = heaviest(np.array(values, dtype=np.float64))
    sums = [sum(values[i:j]) for i in range(len(values) + 1) for j in range(i, len(values) + 1)]
    assert pile == max(sums) == sum(values[begin:stop])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        pytest.param([-1.0, -2.0], (0, 0, 0.0), id="never behind"),
        pytest.param([-1.0, 2.0, 3.0, -1.0], (1, 3, 5.0), id="a while"),
        pytest.param([-1.0, 2.0, -0.5, 3.0], (1, 4, 4.5), id="a second of rest does not end it"),
        pytest.param([3.0, -9.0, 2.0], (0, 1, 3.0), id="the worse of two"),
    ],
)
def test_stretches(values: list[float], found: tuple[int, int, float]) -> None:
    assert heaviest(np.array(values)) == found
