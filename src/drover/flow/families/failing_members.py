"""Which members fail when a family fails, found by bisection.

Rule 1: halves of the members are tried on copies of the state, so that failing members are found and the others go on.
Rule 2: a family may fail whatever members it has. After `most` failed trials, all members in doubt count as failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drover.flow.families.local_members import Ints

MOST: Final = 200  # trials that fail


def failing_members(members: int, try_members: Callable[[Ints], str | None], most: int = MOST) -> dict[int, str]:
    """Return the positions of the members that fail, with the reason.

    `try_members` runs the members at some positions and returns why they fail, or None. For all members, it fails.
    """
    found: dict[int, str] = {}
    waiting = [np.arange(members)]
    trials = 0
    while waiting:
        group = waiting.pop()
        reason = try_members(group)
        if reason is None:
            continue
        trials += 1
        if len(group) == 1 or trials > most:
            found |= dict.fromkeys(group.tolist(), reason)
        else:
            middle = len(group) // 2
            waiting += (group[middle:], group[:middle])
    return found
