"""What stopped a run, in words a person can act on.

Rule 1: an error of drover's stays what it is, wherever it was raised; Spark wraps it in traces of three languages.
"""

from __future__ import annotations

import re
from typing import Final

from drover.errors import DroverError, visible

OWN: Final = re.compile(r"^drover\.errors\.\w+: (?P<text>.+)$", re.MULTILINE)  # as a worker's trace ends
MOST: Final = 400  # characters


def clear(error: BaseException) -> DroverError:
    """Return the error of drover's that is in `error`, or one that says what it is."""
    if isinstance(error, DroverError):
        return error
    told = OWN.findall(str(error))
    if told:
        made = DroverError(told[-1])
    else:
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        made = DroverError(
            f"the run stopped: {type(error).__name__}: {visible(first, MOST)}. "
            "Remove the cause and start again on the same checkpoint: it goes on with the batch that failed."
        )
    made.__cause__ = error
    return made
