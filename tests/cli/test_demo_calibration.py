from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.cli.demo_calibration import FEWEST, LEAST_GAIN, MachineSpeed, choose_workload, measure_speed


def test_one_node_is_as_much_too_slow_as_two_are_too_fast() -> None:
    made = choose_workload(MachineSpeed(alone=2e6, together=4e6), rate=400)
    assert made.before == pytest.approx(1.41, abs=0.01)
    assert made.after == pytest.approx(0.71, abs=0.01)
    assert made.rounds == int(1.4143 * 2e6 / 800)


@given(alone=st.floats(1e5, 1e8), gain=st.floats(0.5, 3.0))
def test_whatever_the_machine_is_one_node_falls_behind_and_two_keep_up(alone: float, gain: float) -> None:
    made = choose_workload(MachineSpeed(alone, alone * gain), rate=400)
    assert made.before > 1.05
    assert made.after < 0.95


@pytest.mark.parametrize(
    ("together", "gain"),
    [
        pytest.param(4e6, 2.0, id="two idle cores"),
        pytest.param(9e6, 2.0, id="no more than there are functions"),
        pytest.param(2.7e6, 1.35, id="one core is busy"),
        pytest.param(1e6, LEAST_GAIN, id="a single core, or noise"),
    ],
)
def test_the_gain_of_a_second_node(together: float, gain: float) -> None:
    assert MachineSpeed(2e6, together).gain == pytest.approx(gain)


def test_a_very_slow_machine_has_some_work() -> None:
    assert choose_workload(MachineSpeed(10.0, 20.0), rate=400).rounds == FEWEST


def test_the_speed_of_this_machine() -> None:
    found = measure_speed()
    assert found.alone > 0
    assert found.together > 0
