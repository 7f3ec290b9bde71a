"""The memory of the control loop after operators got other names.

Rule 1: measurements follow the operator. Proposals do not: they were made for a plan with the old names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from pyarrow.fs import FileSystem

from drover.control import history
from drover.control.state import ControlState
from drover.errors import StateError
from drover.load.sample import Sample
from drover.load.window import Period

V = TypeVar("V")


def rename_history(fs: FileSystem, root: str, renamed: Mapping[str, str]) -> None:
    """Rename operators in the files of a stopped control loop; the loop itself reports files that are damaged."""
    if not renamed:
        return
    with suppress(StateError):
        saved = history.load_state(fs, root)
        state = renamed_state(saved.state, renamed)
        history.save_state(fs, root, replace(saved, state=state))
        history.write_periods(fs, root, state.window.periods)


def renamed_state(state: ControlState, renamed: Mapping[str, str]) -> ControlState:
    """Return the state with the new names of operators and their streams, and without proposals."""
    periods = tuple(_period(period, renamed) for period in state.window.periods)
    moved = _renamed_keys(state.moved, renamed)
    weighed = _renamed_keys(state.weighed, renamed)
    window = replace(state.window, periods=periods)
    return replace(state, window=window, moved=moved, weighed=weighed, trial=None, waiting=None)


def _period(period: Period, renamed: Mapping[str, str]) -> Period:
    samples = {_now(name, renamed): _sample(sample, renamed) for name, sample in _heirs(period.samples, renamed)}
    return Period(period.number, period.seconds, period.sources, samples)


def _sample(sample: Sample, renamed: Mapping[str, str]) -> Sample:
    return replace(
        sample,
        operator=_now(sample.operator, renamed),
        rows_in=_renamed_keys(sample.rows_in, renamed),
        rows_out=_renamed_keys(sample.rows_out, renamed),
    )


def _renamed_keys(values: Mapping[str, V], renamed: Mapping[str, str]) -> dict[str, V]:
    return {_now(name, renamed): value for name, value in _heirs(values, renamed)}


def _heirs(values: Mapping[str, V], renamed: Mapping[str, str]) -> Iterable[tuple[str, V]]:
    """Return the entries without those whose name another operator gets."""
    # If `b` is renamed to `a`, what was measured of the former `a` belongs to an operator that is gone.
    left_out = set(renamed.values()) - set(renamed)
    return [(name, value) for name, value in values.items() if _operator(name) not in left_out]


def _now(name: str, renamed: Mapping[str, str]) -> str:
    """Return the new name of an operator, of a branch of a switch, or of an instance of a spread join."""
    operator = _operator(name)
    return renamed.get(operator, operator) + name.removeprefix(operator)


def _operator(name: str) -> str:
    return name.partition("[")[0].partition(".")[0]
