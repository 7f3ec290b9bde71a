from __future__ import annotations

import numpy as np
import pytest

from drover.herding.problem import HerdingProblem
from drover_lab.herding.faults import faults

PROBLEM = HerdingProblem(
    start=np.arange(9), source=np.zeros(8, dtype=np.int64), rate=np.ones(1), capacity=np.ones(2), slack=0.0
)


def test_a_balanced_assignment_is_sound() -> None:
    assert list(faults(PROBLEM, np.repeat([0, 1], 4))) == []


@pytest.mark.parametrize(
    "servers",
    [
        pytest.param(np.zeros(8, dtype=np.int64), id="all on one server"),
        pytest.param(np.full(8, 2), id="a server that does not exist"),
        pytest.param(np.full(8, -1), id="no server"),
        pytest.param(np.repeat([0, 1], 3), id="too few"),
    ],
)
def test_what_breaks_a_rule_is_found(servers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    assert list(faults(PROBLEM, servers))
