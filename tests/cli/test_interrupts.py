from __future__ import annotations

import os
import signal
import time
from threading import Event

import pytest

from drover.cli.interrupts import catch_interrupts


def send(number: signal.Signals, stopped: Event) -> None:
    os.kill(os.getpid(), number)
    deadline = time.monotonic() + 5
    while not stopped.is_set() and time.monotonic() < deadline:
        time.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_event_and_the_second_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with catch_interrupts() as stopped:
        assert not stopped.is_set()
        send(number, stopped)
        assert stopped.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_handlers_are_restored_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="a defect"), catch_interrupts():
        raise ValueError("a defect")
    assert signal.getsignal(signal.SIGINT) is before
