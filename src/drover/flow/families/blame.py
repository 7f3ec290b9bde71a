"""Who is at fault when a family fails.

Rule 1: members are tried by halves on copies of the state, so that whoever fails is found and the others go on.
Rule 2: a family that fails whoever is in it is not tried to the last member: after MOST trials, those left are all held
to have failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drover.flow.families.crew import Ints

MOST: Final = 200  # trials that fail


def culprits(members: int, fails: Callable[[Ints], str | None]) -> dict[int, str]:
    """Return the positions of the members that fail, with the reason.

    `fails` runs the members at some positions and returns why they fail, or None; it is known to fail for all.
    """
    found: dict[int, str] = {}
    waiting = [np.arange(members)]
    trials = 0
    while waiting:
        group = waiting.pop()
        reason = fails(group)
        if reason is None:
            continue
        trials += 1
        if len(group) == 1 or trials > MOST:
            found |= dict.fromkeys(group.tolist(), reason)
        else:
            middle = len(group) // 2
            waiting += (group[middle:], group[:middle])
    return found
