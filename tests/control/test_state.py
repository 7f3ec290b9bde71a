from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drover.control import state as states
from drover.control.settings import MEMORY
from drover.control.state import ControlState
from drover.load.batch_model import KEPT, BatchMeasure, BatchWork
from drover.load.sample import Sample
from drover.load.window import Window
from tests.control.runs import shifted, start


def test_what_small_moves_took_says_little_about_the_price_of_a_byte() -> None:
    run = start()
    usual = run.state.move_cost.per_byte
    assert run.state.learn_move_cost(0.5, 1000).move_cost.per_byte < 2 * usual
    dear = run.state
    for _ in range(20):
        dear = dear.learn_move_cost(10.0, 1e8)
    assert dear.move_cost.per_byte == pytest.approx(1e-7, rel=0.05)


def test_a_move_without_bytes_says_nothing_about_the_cost_of_a_byte() -> None:
    state = ControlState()
    assert state.learn_move_cost(3.0, 0.0) is state
    assert state.learn_move_cost(-1e9, 1e9).move_cost.per_byte == 0.0, "a cost is never negative"


def at_period(number: int, **fields: object) -> ControlState:
    window = Window(MEMORY).push(number, 1.0, {}, [])
    return ControlState(window=window, **fields)  # type: ignore[arg-type]  # fields of ControlState


def test_a_unit_rests_for_its_cool_down() -> None:
    state = at_period(10, moved={"a": 10, "b": 8, "c": 5})
    assert state.resting(5) == {"a": 5, "b": 3}
    assert state.resting(0) == {}


@pytest.mark.parametrize(
    ("period", "last_change", "recent"),
    [
        pytest.param(10, 0, False, id="there was no change"),
        pytest.param(10, 10, True, id="just now"),
        pytest.param(10, 7, True, id="a period is missing"),
        pytest.param(10, 6, False, id="a window is full"),
    ],
)
def test_a_change_is_recent_until_a_window_is_full(period: int, last_change: int, recent: bool) -> None:
    assert at_period(period, last_change=last_change).changed_recently(5) is recent


def test_a_state_before_its_first_period() -> None:
    assert ControlState().period == 0
    assert not ControlState().changed_recently(5)
    assert ControlState().detect_change() == ControlState()


def test_a_load_that_goes_and_comes_back_is_known_afterwards() -> None:
    state = ControlState()
    seen = []
    rates = [100.0] * 8 + [900.0] * 8 + [100.0] * 8 + [900.0] * 8
    for number, rate in enumerate(rates, start=1):
        state = replace(state, window=state.window.push(number, 1.0, {"a": rate}, [])).detect_change()
        seen.append((state.last_change, state.known_from))
    assert seen[8] == (0, 0), "one period may be an outlier"
    assert seen[9] == (9, 9), "the first change"
    assert seen[17] == (17, 9), "back again: the time before the first change is forgotten"
    assert seen[-1] == (17, 9), "both levels are known, so the next rise is a burst"


def test_speeds_and_query_loads_are_kept_for_a_while() -> None:
    state = ControlState()
    for k in range(MEMORY + 3):
        state = state.add_speeds((float(k),), (k / 100,))
    assert state.speeds[0] == (3.0,)
    assert len(state.speeds) == len(state.query_loads) == MEMORY
    assert state.query_loads[-1] == ((MEMORY + 2) / 100,)


def test_a_state_survives_json() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.4)
    run.go(14, shifted(0, 0, 3.0))
    state = run.state.add_speeds((1.0, 0.5), (0.1, 0.0))
    assert state.trial is not None or state.moved
    assert states.state_of(json.loads(json.dumps(states.to_json(state)))) == state


def test_files_of_older_runs_have_no_query_loads() -> None:
    body = states.to_json(ControlState())
    del body["herds"]
    assert states.state_of(body) == ControlState()


def test_a_period_survives_json() -> None:
    samples = [Sample("a", {"in": 3.0}, {"out": 2.0}, 0.5, 10, 0.25)]
    (period,) = Window(5).push(7, 2.0, {"in": 3.0}, samples).periods
    body = json.loads(json.dumps(states.period_to_json(period)))
    assert states.period_of(body) == period
    body["samples"]["a"].pop()
    older = states.period_of(body)
    assert older.samples["a"].waited == 0.0, "an older run has not written it"


def test_measured_batches_are_kept_up_to_a_number_and_survive_json() -> None:
    made = [BatchMeasure(BatchWork(rows=float(at)), 0.5, 0.1, 0.0, 0.0, 2, 2, 2, 1.0, "shuffle") for at in range(100)]
    state = ControlState().add_batches(made)
    assert state.batches == tuple(made[-KEPT:])
    assert states.state_of(json.loads(json.dumps(states.to_json(state)))) == state
    old = {name: value for name, value in states.to_json(state).items() if name != "batches"}
    assert states.state_of(old).batches == (), "an older run has not written any"
