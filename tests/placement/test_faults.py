from __future__ import annotations

import numpy as np
import pytest

from drover.placement.faults import faults
from drover.placement.problem import PlacementProblem

ABC = ("a", "b", "c")


@pytest.mark.parametrize(
    ("places", "says"),
    [
        pytest.param([0, 0, 0], [], id="sound"),
        pytest.param([0, 0], ["places is 2 long"], id="a unit is missing"),
        pytest.param([0, 2, 0], ["b.node is 2, but the nodes are 0 to 1"], id="no such node"),
        pytest.param([1, 1, 1], ["a.node is 1, but it is pinned to node 0", "not allowed"], id="pinned, and barred"),
        pytest.param([0, 1, 0], ["must stay together"], id="separated"),
    ],
)
def test_faults_are_named(places: list[int], says: list[str]) -> None:
    problem = PlacementProblem(
        units=ABC,
        capacity=np.ones(2),
        pinned=[0, -1, -1],  # type: ignore[arg-type]  # lists are taken, too
        allowed=[[1, 1], [1, 1], [1, 0]],  # type: ignore[arg-type]  # as above
        together=((1, 2),),
    )
    found = [str(fault) for fault in faults(problem, np.array(places))]
    assert all(any(text in fault for fault in found) for text in says)
    assert bool(found) == bool(says)


def test_units_that_stay_apart_do_not_share_a_node() -> None:
    problem = PlacementProblem(units=ABC, capacity=np.ones(2), apart=((0, 2),))
    (fault,) = faults(problem, np.array([1, 0, 1]))
    assert "a is on the same node" in str(fault)
