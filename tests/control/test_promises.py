"""What was promised is compared with what came."""

from __future__ import annotations

import json
from dataclasses import replace

from drover.control import state as states
from drover.control.promises import PERIODS, Promise, compare_promise
from drover.control.settings import MEMORY
from drover.control.state import ControlState
from drover.load.batch_model import BatchMeasure, BatchWork
from drover.load.window import Window


def state_at(period: int) -> ControlState:
    window = Window(MEMORY).push(period, 1.0, {}, [])
    slow = BatchMeasure(BatchWork(), 2.0, 0.0, 0.0, 0.0)
    batches = [slow, *[replace(slow, compute=0.7, sinks=0.1, commit=0.03)] * 6]
    return ControlState(window, promise=Promise("p3", 3, 0.8)).add_batches(batches)


def test_a_promise_is_compared_once_when_it_is_due() -> None:
    early = state_at(3 + PERIODS - 1)
    assert compare_promise(early) == (early, "")
    due, said = compare_promise(state_at(3 + PERIODS))
    assert said == "p3 promised 0.80 s per batch, came 0.83 s"
    assert compare_promise(due) == (due, "")


def test_after_a_change_of_load_a_promise_says_nothing() -> None:
    after, said = compare_promise(replace(state_at(9), last_change=5))
    assert (after.promise, said) == (None, "")


def test_a_promise_survives_a_restart() -> None:
    state = state_at(4)
    assert states.state_of(json.loads(json.dumps(states.to_json(state)))).promise == state.promise
