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


def catches_the_alarm() -> str:
    with contextlib.suppress(BaseException):
        time.sleep(20)
    return "too late"


def catches_many_alarms() -> None:
    for _ in range(3):
        with contextlib.suppress(BaseException):
            time.sleep(20)


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def says(text: str) -> Callable[[], None]:
    def fail() -> None:
        raise ValueError(text)

    return fail


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("function", "says"),
    [
        pytest.param(raises, r"ValueError: no \(at .*test_calls\.py:\d+ in raises\)", id="an exception"),
        pytest.param(leaves, r"SystemExit: 3 \(at .*test_calls\.py:\d+ in leaves\)", id="the end of the process"),
        pytest.param(calls_a_library, r"ValueError: .* in calls_a_library\)", id="an error in a library"),
        pytest.param(hangs, r"longer than its timeout of 0\.1 s \(at .* in hangs\)", id="no end"),
        pytest.param(raising(GeneratorExit()), r"^GeneratorExit \(at", id="the end of a generator"),
        pytest.param(raising(KeyboardInterrupt()), r"^KeyboardInterrupt \(at", id="an interrupt of its own"),
        pytest.param(raising(WordlessError()), "WordlessError: its text fails with RuntimeError", id="no text"),
        pytest.param(says("a\x1b[31m\nb\udc80"), r"ValueError: a\\x1b\[31m b\\udc80 \(at", id="control characters"),
        pytest.param(says("x" * 10_000), r"^.{700,1000} \(at .* in fail\)$", id="a long text"),
        pytest.param(catches_the_alarm, r"timeout of 0\.1 s .* in catches_the_alarm\)", id="the alarm is caught"),
        pytest.param(catches_many_alarms, r"timeout of 0\.1 s .* in catches_many_alarms\)", id="all are caught"),
        pytest.param(catches_everything, r"timeout of 0\.1 s .* in catches_everything\)", id="exceptions are caught"),
    ],
)
def test_what_goes_wrong_is_reported(function: Callable[[], None], says: str) -> None:
    with pytest.raises(FunctionFailedError, match=says):
        call(function, limit=0.1)


def test_an_interruption_from_outside_passes() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        call(lambda: signal.raise_signal(signal.SIGINT))
    assert signal.getsignal(signal.SIGINT) is before


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
