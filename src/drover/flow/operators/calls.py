"""Calls of users' functions: whatever goes wrong in one is an error that names the place in the user's code.

Rule 1: a function may raise anything, even SystemExit, which would otherwise end the worker. Only an interruption from
outside, such as Ctrl-C, passes through.
"""

from __future__ import annotations

import inspect
import traceback
from typing import Any

from drover.errors import DroverError
from drover.network.functions import AnyFunction


class FunctionFailedError(DroverError):
    """A user's function has raised; the text says what and where."""


def call(function: AnyFunction, *arguments: object) -> Any:  # Any: what the function returns
    """Call a user's function; FunctionFailedError if it raises."""
    try:
        return function(*arguments)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # also SystemExit
        raise FunctionFailedError(describe(function, error)) from error


def describe(function: AnyFunction, error: BaseException) -> str:
    """Return an error with the last line of the user's own code that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    # The function may have called a library, whose lines say less than its own.
    source = getattr(inspect.unwrap(function), "__code__", None)
    mine = [frame for frame in frames[1:] if source is not None and frame.filename == source.co_filename]
    where = (mine or frames)[-1]
    return f"{type(error).__name__}: {error} (at {where.filename}:{where.lineno} in {where.name})"
