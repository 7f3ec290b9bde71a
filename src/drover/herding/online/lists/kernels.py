"""Compiled lists: per source the servers that hold it, and how many queries of each subscribe to it.

Rule 1: all lists are in one pool; a list that is full moves to a place twice as large, and leaves its own to others.
Rule 2: lists have no order: what is taken out is replaced by the last. Whoever reads them must not depend on it.
"""

from __future__ import annotations

from drover.herding.online.state import USED, State
from drover.herding.sets.kernels import compiled, part


@part
def has_room(state: State, lists: int) -> bool:
    """Return whether so many lists can grow, however long they are: none is longer than there are servers."""
    return bool(state.totals[USED] + lists * len(state.tree) <= len(state.member))


@part
def find(state: State, s: int, j: int) -> int:
    """Return where in the pool server j is in the list of source s, or the end of the list."""
    c, end = int(state.at[s]), int(state.at[s] + state.size[s])
    while c < end and state.member[c] != j:
        c += 1
    return c


@compiled
def lengthen(state: State, s: int) -> None:
    """Move the list of a source to where it can be twice as long."""
    old, room = state.at[s], max(2 * state.room[s], 1)
    size_class = 0
    while (1 << size_class) < room:
        size_class += 1
    new = state.free[size_class]
    if new >= 0:
        state.free[size_class] = state.member[new]
    else:
        new = int(state.totals[USED])
        state.totals[USED] += room
    for c in range(state.size[s]):
        state.member[new + c], state.tally[new + c] = state.member[old + c], state.tally[old + c]
    if state.room[s]:
        state.member[old] = state.free[size_class - 1]
        state.free[size_class - 1] = old
    state.at[s], state.room[s] = new, room


@part
def enter(state: State, s: int, j: int) -> int:
    """Count one more query of source s on server j, and return how many there are."""
    c = find(state, s, j)
    if c == state.at[s] + state.size[s]:
        if state.size[s] == state.room[s]:
            lengthen(state, s)
            c = state.at[s] + state.size[s]
        state.member[c], state.tally[c] = j, 0
        state.size[s] += 1
    state.tally[c] += 1
    return int(state.tally[c])


@part
def strike(state: State, s: int, j: int) -> int:
    """Count one query less, and return how many are left; without any, the server leaves the list."""
    c = find(state, s, j)
    state.tally[c] -= 1
    left = int(state.tally[c])
    if left == 0:
        last = state.at[s] + state.size[s] - 1
        state.member[c], state.tally[c] = state.member[last], state.tally[last]
        state.size[s] -= 1
    return left
