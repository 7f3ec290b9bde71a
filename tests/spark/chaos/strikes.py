"""Which process is struck, how and when: a seeded sequence that covers every pair of process and signals.

Rule 1: equal seeds give equal strikes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DELAY: Final = 0.8  # seconds after a commit: somewhere within the next batch or two
SHORT: Final = (0.2, 2.0)  # seconds that a process is stopped, at least and at most
LONG: Final = (9.0, 12.0)  # longer than Spark waits for a silent executor; see `run_under_fire.py`
BETWEEN: Final = (0.0, 0.6)  # seconds between two interruptions


class Role(StrEnum):
    """What a process is to a run."""

    DRIVER = "driver, Python"
    JAVA = "driver, JVM"
    EXECUTOR = "executor, JVM"
    DAEMON = "daemon of workers"
    WORKER = "Python worker"


class Way(StrEnum):
    """How a process is struck."""

    KILL = "SIGKILL"
    TERMINATE = "SIGTERM"
    INTERRUPT = "SIGINT twice"
    PAUSE = "SIGSTOP, SIGCONT"
    FREEZE = "SIGSTOP, SIGKILL"


@dataclass(frozen=True, slots=True)
class Strike:
    """One process is struck so many seconds after a commit."""

    role: Role
    way: Way
    delay: float  # seconds from the commit to the first signal
    pause: float  # seconds from the first signal to the second, if there are two
    draw: float  # from 0 to 1: which of the processes of that role

    def __str__(self) -> str:
        apart = "" if self.way in {Way.KILL, Way.TERMINATE} else f" {self.pause:.1f} s apart"
        return f"{self.role}: {self.way}{apart}, {self.delay:.2f} s after a commit"


def strikes(roles: Sequence[Role], seed: int) -> Iterator[Strike]:
    """Yield strikes without end: every role in every way, then again in another order.

    As few strikes as possible show all roles and all ways, so that a short run has some of each.
    """
    chance = random.Random(seed)
    while True:
        struck = chance.sample(roles, len(roles))
        ways = chance.sample(list(Way), len(Way))
        lap = math.lcm(len(struck), len(ways))  # after so many, the same pairs would come again
        for number in range(len(struck) * len(ways)):
            way = ways[(number + number // lap) % len(ways)]
            yield _drawn(struck[number % len(struck)], way, chance)


def _drawn(role: Role, way: Way, chance: random.Random) -> Strike:
    # Spark gives up executors that are silent. For every other process, everybody waits.
    stopped = LONG if role is Role.EXECUTOR and chance.random() < 0.5 else SHORT
    span = BETWEEN if way is Way.INTERRUPT else stopped
    return Strike(role, way, chance.uniform(0, DELAY), chance.uniform(*span), chance.random())
