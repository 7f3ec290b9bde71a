from __future__ import annotations

from dataclasses import replace

import pytest

from drover.errors import ProblemError
from drover.hierarchy.durable_state import replay
from drover.hierarchy.machine import initial_snapshot
from drover.hierarchy.messages import Bundle, TookIn
from drover.hierarchy.node_state import NodeConfig, NodeState, Timing
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import TreeThresholds
from drover.hierarchy.tree import ROOT, Tree


@pytest.mark.parametrize("field", ["period", "patience", "tries"])
def test_time_must_pass(field: str) -> None:
    with pytest.raises(ProblemError, match=f"{field} is 0"):
        Timing(**{field: 0})


def test_a_promise_outlasts_the_tries_of_the_asking_node() -> None:
    timing = Timing(patience=0.5, tries=3)
    assert timing.promise > timing.patience * timing.tries


CONFIG = NodeConfig(1, Tree((ROOT, 0, 1)), Queries(((),) * 4, ((2,),) * 4), (100.0,), TreeThresholds(0.4, 0.6))


def node(sizes: dict[int, float]) -> NodeState:
    return NodeState(CONFIG, replay([initial_snapshot({j: (size,) for j, size in sizes.items()})]))


@pytest.mark.parametrize(
    ("use", "drop", "fill", "ask"),
    [
        pytest.param(49.0, False, True, True, id="below the target"),
        pytest.param(50.0, True, True, True, id="at the target"),
        pytest.param(51.0, True, True, False, id="above the target"),
        pytest.param(59.0, True, True, False, id="at the margin"),
        pytest.param(59.5, True, False, False, id="within the margin"),
    ],
)
def test_how_far_a_node_gives_accepts_and_requests(use: float, drop: bool, fill: bool, ask: bool) -> None:
    state = node({})
    found = (state.may_drop_to((use,)), state.may_fill_to((use,)), state.may_request_to((use,)))
    assert found == (drop, fill, ask)


def test_rounding_does_not_decide() -> None:
    assert node({}).may_drop_to((50.0 - 1e-12,))


@pytest.mark.parametrize(
    ("least", "size", "worth"),
    [
        pytest.param(0.0, 0.0, True, id="without a least size anything counts"),
        pytest.param(0.05, 4.0, False, id="too small"),
        pytest.param(0.05, 5.0, True, id="just large enough"),
    ],
)
def test_a_transfer_has_a_least_size(least: float, size: float, worth: bool) -> None:
    state = node({})
    state.config = replace(CONFIG, thresholds=TreeThresholds(0.4, 0.6, least=least))
    assert state.worth_giving(Bundle((0,), ((size,),))) is worth


def test_a_node_gives_what_is_wanted_down_to_its_target_with_current_sizes() -> None:
    state = node({0: 10.0, 1: 20.0, 2: 30.0, 3: 20.0})
    stale = [Bundle((j,), ((1.0,),)) for j in (2, 1, 0)]
    gone = {3}
    found = state.givable(2, stale, state.use(), gone)
    assert found == [Bundle((2,), ((30.0,),))]
    assert gone == {2, 3}


def test_what_goes_elsewhere_is_not_given_twice() -> None:
    state = node({0: 10.0, 1: 90.0})
    assert state.givable(2, [Bundle((0,), ((10.0,),))], state.use(), {0}) == []


def test_open_transfers_follow_every_written_record() -> None:
    state = node({0: 10.0})
    assert [transfer.operators for transfer in state.transfers_to(2)] == [(0,)]
    state.write(TookIn(2, 1, (Bundle((1,), ((5.0,),)),)))
    assert [transfer.operators for transfer in state.transfers_to(2)] == [(0,), (1,)]


def test_a_flush_returns_the_effects_once() -> None:
    state = node({0: 10.0})
    state.write(TookIn(2, 1, ()))
    assert state.flush().records == (TookIn(2, 1, ()),)
    assert state.flush().records == ()
