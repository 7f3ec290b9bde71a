"""Contexts in which a period of the control loop ends in a certain way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator

from drover.control import loop
from drover.control.context import ControlContext
from drover.control.loop import step
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal
from drover.control.settings import Mode
from drover.control.state import ControlState
from drover.load.arrays import Ints
from drover.placement.problem import PlacementProblem
from tests.control.runs import AUTO, Run, shifted, start

UNEVEN = shifted(0, 0, 3.0)  # source 0 is three times as fast as source 1


def policy_of(*units: str) -> Callable[[PlacementProblem, str, Generator, Collection[str]], Ints]:
    """A policy that wants these units on the other one of two nodes."""

    def propose(problem: PlacementProblem, _policy: str, _rng: Generator, _alone: Collection[str]) -> Ints:
        wants = np.isin(problem.units, units)
        return np.where(wants, 1 - problem.current, problem.current)

    return propose


HALF = tuple(f"s0-{k}" for k in range(5))  # half of the faster chain


def measured(run: Run, periods: int) -> ControlContext:
    """The context after so many periods in which nothing was decided."""
    for _ in range(periods):
        run.measure(UNEVEN)
    return run.context


def end(record: PeriodRecord) -> tuple[PeriodOutcome, str]:
    return record.kind, record.reason


def uneven_run() -> Run:
    """Two chains on two nodes, each on its own; the first one has three times the load of the second."""
    return start(nodes=2, count=2, plan="whole", load=0.3, noise=0.01)


def on_trial(run: Run, monkeypatch: pytest.MonkeyPatch) -> tuple[ControlContext, Proposal]:
    """A context in which the move of half of the faster chain has just been put on trial."""
    monkeypatch.setattr(loop, "propose_fused", policy_of(*HALF))
    context = measured(run, 10).with_state(placed=True)
    state, record = step(context)
    assert record.kind is PeriodOutcome.TRIAL, record.reason
    assert record.proposal is not None
    run.state = state
    return replace(context, state=state), record.proposal


def waiting(run: Run, monkeypatch: pytest.MonkeyPatch, **changes: object) -> Proposal:
    """A proposal that waits, with some of its fields changed."""
    _, proposal = on_trial(run, monkeypatch)
    changed: Proposal = replace(proposal, **changes)  # type: ignore[arg-type]  # fields of Proposal
    run.state = replace(run.state, trial=None, waiting=changed)
    run.settings = replace(AUTO, mode=Mode.PROPOSE)
    return changed


def outcome_of(reason: str) -> tuple[ControlState, PeriodRecord]:
    return ControlState(), PeriodRecord(1, PeriodOutcome.TRIAL, reason, (), 1)
