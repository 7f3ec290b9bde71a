"""Calls of users' functions: whatever they do, the reason names the place."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable

import pytest

from drover.flow.operators.calls import FunctionFailedError, call


def raises() -> None:
    raise ValueError("no")


def leaves() -> None:
    raise SystemExit(3)


def calls_a_library() -> None:
    int("x", base=10)
    signal.signal(-1, signal.SIG_DFL)


def hangs() -> None:
    time.sleep(20)


def catches_everything() -> None:
    with contextlib.suppress(Exception):
        time.sleep(20)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        pytest.param(raises, r"ValueError: no \(at .*test_calls\.py:\d+ in raises\)", id="an exception"),
        pytest.param(leaves, r"SystemExit: 3 \(at .*test_calls\.py:\d+ in leaves\)", id="the end of the process"),
        pytest.param(calls_a_library, r"ValueError: .* in calls_a_library\)", id="an error in a library"),
        pytest.param(hangs, r"longer than its timeout of 0\.1 s \(at .* in hangs\)", id="no end"),
        pytest.param(catches_everything, r"timeout of 0\.1 s .* in catches_everything\)", id="exceptions are caught"),
    ],
)
def test_what_goes_wrong_is_reported(function: Callable[[], None], says: str) -> None:
    with pytest.raises(FunctionFailedError, match=says):
        call(function, limit=0.1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_an_interruption_from_outside_passes(error: type[BaseException]) -> None:
    def interrupted() -> None:
        raise error

    with pytest.raises(error):
        call(interrupted)


def test_what_is_quick_enough_returns_and_leaves_no_alarm() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert call(lambda value: value + 1, 2, limit=60) == 3
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_limit_does_not_hold_in_another_thread() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(call(lambda: 5, limit=0.1)))
    thread.start()
    thread.join()
    assert found == [5]
