"""Calls of users' functions: whatever goes wrong in one is an error that names the place in the user's code.

Rule 1: a function may raise anything, even SystemExit, which would otherwise end the worker. Only an interruption from
outside passes through: Ctrl-C, but not a KeyboardInterrupt that the function raises itself.
Rule 2: a time limit is enforced by a signal, so it holds in the main thread of a process, where Spark runs its tasks. A
call into native code that does not return to Python cannot be interrupted; the driver's watch names it instead. A
function that catches the interruption has failed all the same.
Rule 3: a reason is one short line that a terminal can show, whatever the function has put into its error.
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

from drover.errors import DroverError, one_line
from drover.network.functions import AnyFunction


class FunctionFailedError(DroverError):
    """A user's function has raised; the text says what and where."""


class _TimeUpError(BaseException):
    """The time of a call is up. Not an Exception, because a function may catch these."""


def call(function: AnyFunction, *arguments: object, limit: float | None = None) -> Any:  # Any: what it returns
    """Call a user's function for at most `limit` seconds; FunctionFailedError if it raises or takes longer."""
    interrupted: list[int] = []
    try:
        with _noted_interrupts(interrupted), _time_limit(limit):
            return function(*arguments)
    except _TimeUpError as error:
        raise FunctionFailedError(f"it took longer than its timeout of {limit:g} s{_place(function, error)}") from error
    except BaseException as error:  # also SystemExit
        if interrupted and isinstance(error, KeyboardInterrupt):
            raise
        raise FunctionFailedError(f"{describe(error)}{_place(function, error)}") from error


def describe(error: BaseException) -> str:
    """Return an error in one line; its own text may be long, have control characters, or fail."""
    try:
        said = str(error)
    except Exception as second:  # noqa: BLE001 - whatever its author did
        said = f"its text fails with {type(second).__name__}"
    kind = type(error).__name__
    return f"{kind}: {one_line(said)}" if said else kind


@contextmanager
def _noted_interrupts(interrupted: list[int]) -> Iterator[None]:
    """Note signals like that of Ctrl-C, which only the main thread gets, and pass them on."""
    before = signal.getsignal(signal.SIGINT)
    if not _is_main_thread() or not callable(before):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise _TimeUpError in the block, again and again if it catches that, and at the latest when it ends."""
    if seconds is None or not _is_main_thread():
        yield
        return
    raised: list[_TimeUpError] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        raised.append(_TimeUpError())
        raise raised[-1]

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if raised:
        raise raised[0]  # it knows where it was caught


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _place(function: AnyFunction, error: BaseException) -> str:
    """Return the last line of the user's own code that led to an error."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    # The function may have called a library, whose lines say less than its own.
    source = getattr(inspect.unwrap(function), "__code__", None)
    mine = [frame for frame in frames if source is not None and frame.filename == source.co_filename]
    for frame in (mine or frames)[-1:]:
        return f" (at {frame.filename}:{frame.lineno} in {frame.name})"
    return ""
