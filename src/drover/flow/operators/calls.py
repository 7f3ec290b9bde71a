"""Calls of users' functions: whatever goes wrong in one is an error that names the place in the user's code.

Rule 1: a function may raise anything, even SystemExit, which would otherwise end the worker. Only an interruption from
outside, such as Ctrl-C, passes through.
Rule 2: a time limit is enforced by a signal, so it holds in the main thread of a process, where Spark runs its tasks. A
call into native code that does not return to Python cannot be interrupted; the driver's watch names it instead.
"""

from __future__ import annotations

import inspect
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from drover.errors import DroverError
from drover.network.functions import AnyFunction


class FunctionFailedError(DroverError):
    """A user's function has raised; the text says what and where."""


class _TimeUpError(BaseException):
    """The time of a call is up. Not an Exception, because a function may catch these."""


def call(function: AnyFunction, *arguments: object, limit: float | None = None) -> Any:  # Any: what it returns
    """Call a user's function for at most `limit` seconds; FunctionFailedError if it raises or takes longer."""
    try:
        with _time_limit(limit):
            return function(*arguments)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except _TimeUpError as error:
        raise FunctionFailedError(f"it took longer than its timeout of {limit:g} s{_place(function, error)}") from error
    except BaseException as error:  # also SystemExit
        raise FunctionFailedError(f"{type(error).__name__}: {error}{_place(function, error)}") from error


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TimeUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place(function: AnyFunction, error: BaseException) -> str:
    """Return the last line of the user's own code that led to an error."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    # The function may have called a library, whose lines say less than its own.
    source = getattr(inspect.unwrap(function), "__code__", None)
    mine = [frame for frame in frames if source is not None and frame.filename == source.co_filename]
    for frame in (mine or frames)[-1:]:
        return f" (at {frame.filename}:{frame.lineno} in {frame.name})"
    return ""
