"""The one checker of plans: it reports what a plan breaks.

Rule 1: it shares no code with the policies or with `repair`, so that it can verify them.
"""

from __future__ import annotations

from collections.abc import Iterator

from drover.errors import Fault
from drover.load.arrays import Ints
from drover.placement.problem import PlacementProblem


def faults(problem: PlacementProblem, places: Ints) -> Iterator[Fault]:
    """Yield the rules that a plan, (m,), breaks; none means that the plan is valid."""
    if len(places) != problem.m:
        rule = f"there are {problem.m} units"
        way_out = "Set one node per unit."
        yield Fault(("places",), f"{len(places)} long", rule, way_out)
        return
    yield from _misplaced(problem, places)
    for group in problem.together:
        if len({int(places[j]) for j in group}) > 1:
            found = ", ".join(f"{problem.units[j]} on {places[j]}" for j in group)
            yield Fault(("together",), found, "these units must stay together", "Place them on one node.")
    for group in problem.apart:
        seen: dict[int, str] = {}
        for j in group:
            other = seen.setdefault(int(places[j]), problem.units[j])
            if other != problem.units[j]:
                rule = f"{other} is on the same node, and the two must stay apart"
                yield Fault((problem.units[j], "node"), str(places[j]), rule, "Move one of them.")


def _misplaced(problem: PlacementProblem, places: Ints) -> Iterator[Fault]:
    for unit, node, pin, allowed in zip(problem.units, places.tolist(), problem.pinned, problem.allowed, strict=True):
        if not 0 <= node < problem.n:
            yield Fault((unit, "node"), str(node), f"the nodes are 0 to {problem.n - 1}", "Place it on one of them.")
        elif pin >= 0 and node != pin:
            yield Fault((unit, "node"), str(node), f"it is pinned to node {pin}", "Leave it there, or remove the pin.")
        elif not allowed[node]:
            yield Fault((unit, "node"), str(node), "that node is not allowed for it", "Choose an allowed node.")
