"""How much work fits this machine: so much that one node falls behind, and two nodes do not.

Rule 1: speeds are measured on the machine as it is, with whatever else runs on it.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from drover.cli.demo_functions import slow_hash

TURNS: Final = 6  # measurements of each kind, one after the other, so that a short disturbance spoils neither
SECONDS: Final = 0.25  # of a measurement
PIECE: Final = 1000  # rounds of a hash that measures
FUNCTIONS: Final = 2
LEAST_GAIN: Final = 1.2  # times that two nodes are faster than one; measured less is noise, or a single core
FEWEST: Final = 20  # rounds


@dataclass(frozen=True, slots=True)
class MachineSpeed:
    """Rounds of the hash per second."""

    alone: float  # of one process
    together: float  # of two processes at the same time, in all

    @property
    def gain(self) -> float:
        """How many times faster two processes are than one."""
        return min(max(self.together / self.alone, LEAST_GAIN), float(FUNCTIONS))


@dataclass(frozen=True, slots=True)
class DemoWorkload:
    """The rounds per request, and the seconds of work that each second of requests then brings."""

    rounds: int
    before: float  # with both functions on one node
    after: float  # with a node for each


def measure_speed() -> MachineSpeed:
    """Measure this machine, in three seconds."""
    with ThreadPoolExecutor(FUNCTIONS) as pool:
        alone = together = 0.0
        for _ in range(TURNS):
            alone += pool.submit(_rounds_per_second).result()
            # The hash does not hold Python's lock, so threads show what processes can do.
            both = [pool.submit(_rounds_per_second) for _ in range(FUNCTIONS)]
            together += sum(one.result() for one in both)
    return MachineSpeed(alone / TURNS, together / TURNS)


def _rounds_per_second() -> float:
    began = time.perf_counter()
    done = 0
    while (passed := time.perf_counter() - began) < SECONDS:
        slow_hash("request", "salt", PIECE)
        done += PIECE
    return done / passed


def choose_workload(speed: MachineSpeed, rate: float) -> DemoWorkload:
    """Return the work with which one node is as much too slow as two nodes are too fast, at requests per second.

    >>> choose_workload(MachineSpeed(alone=2e6, together=4e6), rate=400)
    DemoWorkload(rounds=3535, before=1.414, after=0.707)
    """
    wanted = math.sqrt(speed.gain)
    rounds = max(int(wanted * speed.alone / (FUNCTIONS * rate)), FEWEST)
    before = FUNCTIONS * rate * rounds / speed.alone
    return DemoWorkload(rounds, round(before, 3), round(before / speed.gain, 3))
