"""Errors that stopped a run, in words that a person can act on.

Rule 1: drover's own errors keep their text, wherever they were raised. Spark wraps them in tracebacks of Java, Scala
and Python; this module finds them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from drover.errors import DroverError, visible

OURS: Final = re.compile(r"drover\.errors\.\w+: ([^\n]+)")  # in the traceback of a function that Spark called
RAISED: Final = re.compile(r"^(\w+(?:Error|Exception)): ([^\n]+)", re.MULTILINE)
JAVA: Final = re.compile(r"^(?:: |Caused by: )(?:[\w$]+\.)*([\w$]+): ([^\n]+)", re.MULTILINE)
CONDITION: Final = re.compile(r"\[[A-Z][A-Z0-9_.]+\]")  # as Spark names what went wrong
MOST: Final = 400  # characters
JAVA_ENDED: Final = (
    "Spark's Java process has ended. Start again on the same checkpoint: the run continues after the last commit"
)


def as_drover_error(error: BaseException) -> DroverError:
    """Return drover's own error inside `error`, or one that describes it."""
    if isinstance(error, DroverError):
        return error
    if texts := OURS.findall(str(error)):
        made = DroverError(texts[-1])
    else:
        made = DroverError(
            f"the run stopped: {type(error).__name__}: {visible(reason(error), MOST)}. "
            "Remove the cause and start again on the same checkpoint: the run continues with the batch that failed."
        )
    made.__cause__ = error
    return made


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Turn an error from Spark into one that the command line prints without a traceback."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise DroverError(f"{what}: {reason(error)}") from error
    except ConnectionError as error:
        raise DroverError(f"{what}: {JAVA_ENDED}") from error


def reason(error: BaseException) -> str:
    """Return the reason of an error in one line."""
    text = str(error)
    if own := OURS.findall(text):
        return str(own[-1])
    if raised := RAISED.findall(text):
        return f"{raised[-1][0]}: {raised[-1][1]}"
    if thrown := JAVA.findall(text):
        # The last one is the cause of all others. One that Spark has a name for says more to its users.
        named = [one for one in thrown if CONDITION.search(one[1])]
        return ": ".join((named or thrown)[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
