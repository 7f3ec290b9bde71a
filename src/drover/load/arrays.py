"""The arrays of the load models.

Rule 1: a stored array is a read-only copy. To change it, make another one.
Rule 2: index letters never change meaning: node i of n, unit j of m, input stream k of d, sample t of h.
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
    """Return a read-only copy of an array."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy
