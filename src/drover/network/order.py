"""Topological order of operators, and the cycles that prevent one.

Rule 1: operators are identified by their position in the list, because names may still be faulty here. Rule 2: nothing
recurses, so that a chain may have any length.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from drover.errors import Fault
from drover.network.operators import Operator

SHOWN: Final = 20  # most operators of a cycle that a fault names

Links: TypeAlias = Sequence[Sequence[int]]  # for each operator, by index, the indices of others


def topological(operators: Sequence[Operator], producers: Mapping[str, Operator | None]) -> tuple[Operator, ...]:
    """Return operators so that each comes after those it reads from; operators on or after a cycle are left out.

    Among operators that are ready, the one declared first comes first, so a list that is already ordered keeps its
    order.
    """
    before = _links(operators, producers)
    followers = _followers(before)
    waits = [len(others) for others in before]
    free = [index for index, count in enumerate(waits) if count == 0]  # sorted, hence a heap
    order = []
    while free:
        index = heapq.heappop(free)
        order.append(operators[index])
        for follower in followers[index]:
            waits[follower] -= 1
            if waits[follower] == 0:
                heapq.heappush(free, follower)
    return tuple(order)


def cycle_faults(operators: Sequence[Operator], producers: Mapping[str, Operator | None]) -> Iterator[Fault]:
    """Yield one fault per strongly connected group of operators; operators that only come after it are not at fault."""
    before = _links(operators, producers)
    for first in sorted(min(knot) for knot in _knots(before)):
        cycle = _cycle_through(first, before)
        names = [operators[index].name for index in (*cycle, cycle[0])]
        if len(cycle) > SHOWN:
            names[SHOWN // 2 : -SHOWN // 2] = [f"... ({len(cycle)} operators)"]
        rule = f"a network has no cycles, and this is one: {' -> '.join(names)}"
        yield Fault(("operators", names[0]), "part of a cycle", rule, "Cut it at one of these operators.")


def _links(operators: Sequence[Operator], producers: Mapping[str, Operator | None]) -> Links:
    """Return, for each operator, which operators it reads from, each once."""
    position = {id(operator): index for index, operator in enumerate(operators)}
    makers = ([producers.get(stream) for stream in operator.inputs] for operator in operators)
    return [list(dict.fromkeys(position[id(maker)] for maker in made if maker is not None)) for made in makers]


def _followers(before: Links) -> list[list[int]]:
    """Return, for each operator, which operators read from it, in declared order."""
    followers: list[list[int]] = [[] for _ in before]
    for index, others in enumerate(before):
        for other in others:
            followers[other].append(index)
    return followers


def _knots(before: Links) -> Iterator[list[int]]:
    """Yield the strongly connected components that contain a cycle (Kosaraju's algorithm: one walk each way)."""
    followers = _followers(before)
    found: set[int] = set()
    for root in reversed(_finishing(before)):
        if root in found:
            continue
        knot = list[int]()
        stack = [root]
        found.add(root)
        while stack:
            here = stack.pop()
            knot.append(here)
            fresh = [other for other in followers[here] if other not in found]
            found.update(fresh)
            stack += fresh
        # A component of one operator is a cycle only if the operator reads itself.
        if len(knot) > 1 or root in before[root]:
            yield knot


def _finishing(links: Links) -> list[int]:
    """Return all operators in the order in which a depth-first search along `links` finishes them."""
    seen: set[int] = set()
    order: list[int] = []
    for root in range(len(links)):
        stack = [root]  # ~i marks the end of operator i
        while stack:
            here = stack.pop()
            if here < 0:
                order.append(~here)
            elif here not in seen:
                seen.add(here)
                stack.append(~here)
                stack.extend(links[here])
    return order


def _cycle_through(start: int, before: Links) -> list[int]:
    """Return a shortest cycle through `start`, which lies on one, from `start` along the streams."""
    reader = {start: start}  # for each operator found, the one that reads it
    queue = [start]
    for here in queue:
        if start in before[here]:
            break
        for other in before[here]:
            if other not in reader:
                reader[other] = here
                queue.append(other)
    cycle = [start]
    step = here
    while step != start:
        cycle.append(step)
        step = reader[step]
    return cycle
