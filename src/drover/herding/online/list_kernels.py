"""Compiled lists: for each source, the servers that hold it, and the number of subscribed queries on each.

Rule 1: all lists share one pool. A full list moves to a block twice as large, and its old block becomes free.
Rule 2: lists are unordered: the last entry replaces a removed one. No caller may depend on the order.
"""

from __future__ import annotations

from drover.herding.online.state import USED, HerdState
from drover.herding.set_kernels import compiled, part


@part
def has_room(state: HerdState, lists: int) -> bool:
    """Return whether this number of lists can grow: no list is longer than the number of servers."""
    return bool(state.totals[USED] + lists * len(state.tree) <= len(state.member))


@part
def find(state: HerdState, s: int, j: int) -> int:
    """Return the position of server j in the list of source s, or the end of the list."""
    c = int(state.at[s])
    end = int(state.at[s] + state.size[s])
    while c < end and state.member[c] != j:
        c += 1
    return c


@compiled
def grow_list(state: HerdState, s: int) -> None:
    """Move the list of a source to a block twice as large."""
    old = state.at[s]
    room = max(2 * state.room[s], 1)
    size_class = 0
    while (1 << size_class) < room:
        size_class += 1
    # Free blocks of one size form a linked list through `member`.
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
    state.at[s] = new
    state.room[s] = room


@part
def add_subscription(state: HerdState, s: int, j: int) -> int:
    """Count one more query of source s on server j, and return their number."""
    c = find(state, s, j)
    if c == state.at[s] + state.size[s]:
        if state.size[s] == state.room[s]:
            grow_list(state, s)
            c = state.at[s] + state.size[s]
        state.member[c] = j
        state.tally[c] = 0
        state.size[s] += 1
    state.tally[c] += 1
    return int(state.tally[c])


@part
def remove_subscription(state: HerdState, s: int, j: int) -> int:
    """Count one query less, and return the number left; at 0, the server leaves the list."""
    c = find(state, s, j)
    state.tally[c] -= 1
    left = int(state.tally[c])
    if left == 0:
        last = state.at[s] + state.size[s] - 1
        # The order of a list does not matter, so the last entry fills the gap.
        state.member[c], state.tally[c] = state.member[last], state.tally[last]
        state.size[s] -= 1
    return left
