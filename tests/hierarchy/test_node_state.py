from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from drover.errors import ProblemError
from drover.hierarchy.durable_state import replay
from drover.hierarchy.machine import initial_snapshot
from drover.hierarchy.messages import Bundle, Clear, DemandReply, StepEffects, Stop, TookIn
from drover.hierarchy.node_state import NEVER, NodeConfig, NodeState, Phase, Timing
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import TreeThresholds
from drover.hierarchy.tree import ROOT, Tree


@pytest.mark.parametrize("field", ["period", "patience", "tries"])
@pytest.mark.parametrize("value", [0, -1, math.inf])
def test_time_must_pass(field: str, value: Any) -> None:  # Any: `tries` is a whole number
    with pytest.raises(ProblemError, match=f"{field} is {value}, but must be above 0 and finite"):
        Timing(**{field: value})


def test_times_may_be_short() -> None:
    assert Timing(period=0.5, patience=0.1, tries=1).period == 0.5


def test_a_promise_outlasts_the_tries_of_the_asking_node() -> None:
    # The asking node waits three times for all its replies, and once for what it takes; one more is for the way.
    assert Timing(patience=0.5, tries=3).promise == 2.5


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


@pytest.mark.parametrize("error", [-1e-12, 1e-12])
def test_rounding_does_not_decide(error: float) -> None:
    assert node({}).may_drop_to((50.0 + error,))
    assert node({}).may_fill_to((59.0 + error,))
    assert node({}).may_request_to((50.0 + error,))


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


def test_open_transfers_are_found_once_until_a_record_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    state = node({0: 10.0})
    state.transfers_to(2)
    monkeypatch.delattr("drover.hierarchy.node_state.open_transfers")
    assert [transfer.receiver for transfer in state.transfers_to(0)] == [0]
    assert [transfer.receiver for transfer in state.transfers_to(2)] == [2]


def test_a_flush_returns_the_effects_once() -> None:
    state = node({0: 10.0})
    record = TookIn(2, 1, ())
    action = Stop((0,))
    message = Clear(1, 2, (1, 1, 1))
    state.write(record)
    state.actions.append(action)
    state.messages.append(message)
    assert state.flush() == StepEffects((record,), (action,), (message,))
    assert state.flush() == StepEffects()


def test_nothing_of_a_round_is_left_when_it_ends() -> None:
    state = node({0: 10.0})
    begun = (1, 1, 1)
    state.round = begun
    state.tries = 2
    state.due = 7.0
    state.promise = state.replies[2] = DemandReply(1, 2, begun)
    state.asked[0] = Clear(1, 0, begun)
    assert state.end_round() is Phase.IDLE
    left: list[object] = [state.round, state.promise, state.due, state.tries, state.asked, state.replies]
    assert left == [None, None, NEVER, 0, {}, {}]


def test_a_phase_times_out_after_the_patience() -> None:
    state = node({})
    assert state.await_answer(3.0, Phase.GIVING) is Phase.GIVING
    assert state.due == 3.0 + CONFIG.timing.patience


def test_a_node_uses_what_its_operators_need_of_each_resource() -> None:
    config = replace(CONFIG, capacity=(100.0, 10.0))
    sizes = {0: (10.0, 1.0), 1: (20.0, 4.0)}
    state = NodeState(config, replay([initial_snapshot(sizes)]))
    assert state.use() == (30.0, 5.0)
    assert state.level(state.use()) == 0.5
    assert NodeState(config, replay([])).use() == (0.0, 0.0)


def test_a_node_gives_several_bundles_but_each_operator_once() -> None:
    queries = Queries(((), (0,), ()), ((2,), (), (2,)))
    state = NodeState(replace(CONFIG, queries=queries), replay([initial_snapshot({0: (5.0,), 1: (6.0,), 2: (70.0,)})]))
    single = Bundle((0,), ((5.0,),))
    both = Bundle((0, 1), ((5.0,), (6.0,)))
    unknown = Bundle((1,), ((6.0,),))
    gone: set[int] = set()
    assert state.givable(2, [unknown, single, both], state.use(), gone) == [single]
    assert gone == {0}
    assert state.givable(2, [both, single], state.use(), set()) == [both]
    assert state.givable(2, [single, Bundle((2,), ((70.0,),))], (120.0,), set()) == [single]
