"""Arrays as the load models keep them.

Rule 1: an array that is stored is a read-only copy; whoever wants to change it makes another.
Rule 2: letters never change meaning: node i of n, unit j of m, input stream k of d, sample t of h.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

A = TypeVar("A", bound=NDArray[Any])


def frozen(array: A) -> A:
    """Return a copy of an array that nobody can write to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy
