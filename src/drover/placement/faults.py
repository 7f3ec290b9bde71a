"""The one checker of plans: what a plan breaks, in words.

Rule 1: it shares no code with the policies and with `repair`, so that it can be trusted against them.
"""

from __future__ import annotations

from collections.abc import Iterator

from drover.errors import Fault
from drover.load.arrays import Ints
from drover.placement.problem import Problem


def faults(problem: Problem, places: Ints) -> Iterator[Fault]:
    """Yield what a plan, (m,), breaks; nothing means that it is sound."""
    if len(places) != problem.m:
        rule, way_out = f"there are {problem.m} units", "Give a node for each."
        yield Fault(("places",), f"{len(places)} long", rule, way_out)
        return
    yield from _misplaced(problem, places)
    for group in problem.together:
        if len({int(places[j]) for j in group}) > 1:
            found = ", ".join(f"{problem.units[j]} on {places[j]}" for j in group)
            yield Fault(("together",), found, "these units stay together", "Place them on one node.")
    for group in problem.apart:
        seen: dict[int, str] = {}
        for j in group:
            other = seen.setdefault(int(places[j]), problem.units[j])
            if other != problem.units[j]:
                rule = f"{other} is there too, and the two stay apart"
                yield Fault((problem.units[j], "node"), str(places[j]), rule, "Move one of them.")


def _misplaced(problem: Problem, places: Ints) -> Iterator[Fault]:
    for unit, node, pin, allowed in zip(problem.units, places.tolist(), problem.pinned, problem.allowed, strict=True):
        if not 0 <= node < problem.n:
            yield Fault((unit, "node"), str(node), f"the nodes are 0 to {problem.n - 1}", "Place it on one of them.")
        elif pin >= 0 and node != pin:
            yield Fault((unit, "node"), str(node), f"it is pinned to node {pin}", "Leave it there, or lift the pin.")
        elif not allowed[node]:
            yield Fault((unit, "node"), str(node), "that node is not allowed for it", "Choose an allowed node.")
