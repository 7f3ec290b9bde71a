"""Errors of Spark in words a person can act on: what drover was doing, and the first sentence of the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from drover.errors import DroverError

OURS: Final = re.compile(r"drover\.errors\.\w+: ([^\n]+)")  # in the traceback of a function that Spark called
RAISED: Final = re.compile(r"^(\w+(?:Error|Exception)): ([^\n]+)", re.MULTILINE)


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Turn an error of Spark's into one that a shell prints without a traceback."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise DroverError(f"{what}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Return why, in one line."""
    text = str(error)
    if own := OURS.findall(text):
        return str(own[-1])
    if raised := RAISED.findall(text):
        return f"{raised[-1][0]}: {raised[-1][1]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
