"""Where the capacity of a node comes from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.capacity import (
    capacities,
    modelled_capacity,
    query_capacities,
    remaining_capacity,
    row_rate,
)
from drover.control.settings import Control, control_of
from drover.control.state import ControlState
from drover.load.window import Window
from tests.load.batches import RATE, batches


def test_measured_capacity_is_the_median_speed_and_never_above_one() -> None:
    settings = control_of({"capacity": "measured", "window": 3})
    speeds = [(0.1, 0.1, 0.1), (0.5, 1.2, 0.0), (0.6, 1.1, 0.0), (0.01, 1.3, 0.0)]
    state = replace(ControlState(), speeds=tuple(speeds))
    assert capacities(4, settings, state).tolist() == [0.5, 1.0, 1.0, 1.0]
    assert capacities(2, settings).tolist() == [1.0, 1.0]


def test_given_capacity_is_filled_up_with_ones() -> None:
    assert capacities(3, Control(capacity=(0.5,))).tolist() == [0.5, 1.0, 1.0]
    assert capacities(1, Control(capacity=(0.5, 2.0))).tolist() == [0.5]
    assert capacities(2, Control(capacity=0.25)).tolist() == [0.25, 0.25]


def test_what_queries_take_is_missing_from_the_capacity_of_their_node() -> None:
    settings = control_of({"window": 2})
    assert remaining_capacity(2, settings, ControlState()).tolist() == [1.0, 1.0]
    state = (
        ControlState()
        .add_speeds((1.0, 1.0), (0.9, 0.9))
        .add_speeds((1.0, 1.0), (0.2, 0.0))
        .add_speeds((1.0, 1.0), (0.4, 0.0))
    )
    assert remaining_capacity(2, settings, state).tolist() == pytest.approx([0.7, 1.0])  # of the last two periods
    assert (
        remaining_capacity(3, settings, state).tolist() == [1.0] * 3
    )  # a measurement of two nodes says nothing of three
    assert remaining_capacity(2, settings, state.add_speeds((1.0, 1.0), (5.0, 0.0))).tolist() == pytest.approx(
        [0.1, 1.0]
    )


def state_after(trigger: float = 1.0, cores: int = 2) -> ControlState:
    window = Window(60).push(1, 2.0, {"a": 2 * RATE}, [])
    return ControlState(window).add_batches(batches(trigger=trigger, cores=cores))


def test_by_default_the_model_of_a_batch_says_what_nodes_can_spend() -> None:
    state = state_after()
    found = modelled_capacity(4, Control(), state)
    assert found is not None
    assert capacities(4, Control(), state).tolist() == [found.each] * 4
    assert found.each < 0.35, "4 nodes share 2 cores, and batches have fixed costs"
    assert capacities(4, control_of({"capacity": 1}), state).tolist() == [1.0] * 4, "it was asked for"


def test_without_a_model_every_node_has_a_core() -> None:
    assert modelled_capacity(4, Control(), ControlState()) is None
    assert modelled_capacity(4, Control(), state_after(cores=0)) is None
    assert capacities(2, Control()).tolist() == [1.0, 1.0]


def test_queries_are_shared_out_by_capacities_that_differ() -> None:
    state = state_after().add_speeds((1.0, 0.5), (0.0, 0.0))
    assert query_capacities(2, control_of({"capacity": "measured"}), state) == (1.0, 0.5)
    assert query_capacities(3, control_of({"capacity": [2, 0.5]}), state) == (2.0, 0.5, 1.0)
    assert query_capacities(2, control_of({"capacity": 0.5}), state) == ()
    assert query_capacities(2, Control(), state) == (), "the model gives all nodes the same"


def test_the_rate_of_rows_is_that_of_all_sources() -> None:
    window = Window(9).push(1, 2.0, {"a": 10, "b": 20}, []).push(2, 1.0, {"a": 30}, [])
    assert row_rate(window.periods) == pytest.approx(20.0)
    assert row_rate(()) == 0.0
