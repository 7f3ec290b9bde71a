"""Compiled annealing: pieces move to servers of pieces that share a source, or swap if there is no room.

Rule 1: the state of the random generator is an argument. Rule 2: the limits hold after every step, and the
counted traffic is always the actual traffic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.set_kernels import SmallInts, compiled, part
from drover.load.arrays import Floats, Ints


class Pieces(NamedTuple):
    """Queries of one type that move together."""

    start: Ints  # (P + 1,) the sources of piece p are source[start[p] : start[p + 1]]
    source: Ints
    weight: Floats  # (P,)
    member_start: Ints  # (m + 1,) the pieces with source s are member[member_start[s] : member_start[s + 1]]
    member: Ints
    rate: Floats  # (m,)
    limits: Floats  # (k,)


class PiecePlacement(NamedTuple):
    """The servers of pieces."""

    server: Ints  # (P,)
    load: Floats  # (k,)
    pairs: SmallInts  # (m, k) number of pieces with source s on server j
    crowd: Ints  # (P,) pieces, grouped by server
    spot: Ints  # (P,) position of piece p in `crowd`
    first: Ints  # (k + 1,) the pieces of server j are crowd[first[j] : first[j] + size[j]]
    size: Ints  # (k,)


@part
def draw(state: Ints) -> int:
    """Return the next 63 bits of an xorshift generator, whose state, (1,), is not 0."""
    word = np.uint64(state[0])
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = np.int64(word)
    return int(np.int64(word >> np.uint64(1)))


@part
def below(state: Ints, bound: int) -> int:
    """Return a number from 0 to bound - 1 by scaling the upper bits, which needs no division."""
    return ((draw(state) >> 31) * bound) >> 32


@part
def change(start: Ints, source: Ints, rate: Floats, count: SmallInts, p: int, a: int, b: int) -> float:
    """Return the increase of traffic if piece p moves from server a to b."""
    found = 0.0
    for c in range(start[p], start[p + 1]):
        s = source[c]
        found += rate[s] if count[s, b] == 0 else 0.0
        found -= rate[s] if count[s, a] == 1 else 0.0
    return found


@part
def recount(start: Ints, source: Ints, count: SmallInts, p: int, a: int, b: int) -> None:
    """Count piece p on server b instead of a."""
    for c in range(start[p], start[p + 1]):
        count[source[c], a] -= 1
        count[source[c], b] += 1


@part
def accept(state: Ints, cost: float, heat: float) -> bool:
    """Return whether to make a step with this cost at this temperature."""
    if cost <= 0:
        return True
    # exp(-20) is about 2e-9: skip the draw and the exponential.
    if cost > 20 * heat:
        return False
    return bool((draw(state) >> 11) * 2.0**-52 < np.exp(-cost / heat))


@compiled
def anneal(pieces: Pieces, layout: PiecePlacement, state: Ints, steps: int, hot: float, cold: float) -> float:
    """Make this number of steps while the temperature falls; return the increase of traffic."""
    start, source, weight, member_start, member, rate, limits = pieces
    server, load, count, crowd, spot, first, size = layout
    total = 0.0
    heat = hot
    stage = max(steps // 256, 1)
    cooling = (cold / hot) ** (stage / steps)
    for step in range(steps):
        if step % stage == 0 and step:
            heat *= cooling
        p = below(state, len(server))
        s = source[start[p] + below(state, start[p + 1] - start[p])]
        other = member[member_start[s] + below(state, member_start[s + 1] - member_start[s])]
        a = server[p]
        b = server[other]
        if a == b:
            continue
        cost = change(start, source, rate, count, p, a, b)
        if load[b] + weight[p] <= limits[b]:
            if accept(state, cost, heat):
                recount(start, source, count, p, a, b)
                move_piece(server, load, weight, crowd, spot, first, size, p, b)
                total += cost
            continue
        r = crowd[first[b] + below(state, size[b])]
        over = load[b] + weight[p] - weight[r] > limits[b] or load[a] - weight[p] + weight[r] > limits[a]
        # Skip a swap whose return could hardly make up for its cost.
        if over or cost > 20 * heat + 2 * rate[s] * len(limits):
            continue
        recount(start, source, count, p, a, b)
        back = change(start, source, rate, count, r, b, a)
        if accept(state, cost + back, heat):
            recount(start, source, count, r, b, a)
            swap_pieces(server, load, weight, crowd, spot, p, r)
            total += cost + back
        else:
            recount(start, source, count, p, b, a)
    return total


@part
def swap_pieces(server: Ints, load: Floats, weight: Floats, crowd: Ints, spot: Ints, p: int, r: int) -> None:
    """Swap the servers of two pieces."""
    a = server[p]
    b = server[r]
    load[a] += weight[r] - weight[p]
    load[b] += weight[p] - weight[r]
    server[p] = b
    server[r] = a
    spot[p], spot[r] = spot[r], spot[p]
    crowd[spot[p]] = p
    crowd[spot[r]] = r


@part
def move_piece(
    server: Ints, load: Floats, weight: Floats, crowd: Ints, spot: Ints, first: Ints, size: Ints, p: int, b: int
) -> None:
    """Move piece p to server b."""
    a = server[p]
    load[a] -= weight[p]
    load[b] += weight[p]
    # The last piece of server a fills the gap, so that each group stays contiguous.
    last = crowd[first[a] + size[a] - 1]
    crowd[spot[p]] = last
    spot[last] = spot[p]
    size[a] -= 1
    crowd[first[b] + size[b]] = p
    spot[p] = first[b] + size[b]
    size[b] += 1
    server[p] = b
