"""Joins, compiled: which tuples of the other side a tuple meets.

Rule 1: a left tuple born at t1 meets a right one born at t2 if -right <= t2 - t1 <= left, as in the operator itself.
Rule 2: a tuple stays in the window of its side, in the order of processing, until the other side has processed a tuple
that is out of reach. So a silent side holds the other one back, as a watermark would.
"""

from __future__ import annotations

from drover.sim.queue_kernels import append, part, release, shift
from drover.sim.world import NOBODY, SimulationArrays


@part
def window(world: SimulationArrays, j: int, side: int) -> int:
    """Return the chain of a join's side."""
    return int(len(world.nodes.slow) + len(world.nodes.place) + 2 * world.net.join[j] + side)


@part
def meets(world: SimulationArrays, j: int, side: int, birth: float, other: float) -> bool:
    """Return whether a tuple of that side meets one of the other side."""
    apart = other - birth if side == 0 else birth - other  # t2 - t1
    return bool(-world.net.right[j] <= apart <= world.net.left[j])


@part
def count_pairs(world: SimulationArrays, j: int, side: int, birth: float) -> int:
    """Discard tuples that are out of reach from now on; return how many this one meets."""
    newest = world.nodes.newest
    number = world.net.join[j]
    newest[number, side] = max(newest[number, side], birth)
    chain = window(world, j, 1 - side)
    # A tuple of the other side, born at b, waits for births of this side up to b + reach.
    reach = world.net.left[j] if side == 1 else world.net.right[j]
    slot = world.lists.head[chain]
    while slot != NOBODY and world.pool.birth[slot] + reach < newest[number, side]:
        release(world.pool, shift(world.pool, world.lists, chain))
        slot = world.lists.head[chain]
    pairs = 0
    while slot != NOBODY:
        pairs += meets(world, j, side, birth, world.pool.birth[slot])
        slot = world.pool.after[slot]
    return pairs


@part
def keep(world: SimulationArrays, j: int, side: int, slot: int) -> None:
    """Put a processed tuple into the window of its side."""
    append(world.pool, world.lists, window(world, j, side), slot)
