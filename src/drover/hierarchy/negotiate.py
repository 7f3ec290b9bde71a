"""All nodes of a tree look at themselves once, and what they agree on, worked out at one place.

Rule 1: the machines are those of any other runtime: here they are joined by a network that loses and delays nothing, so
that every round ends before the next begins, nobody finds another busy, and nothing is under way at the end.
Rule 2: time stands still: sizes are those of one period, and nothing is late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.hierarchy.machine import Machine, settle_in
from drover.hierarchy.memory import Place
from drover.hierarchy.messages import Handover, Message, TookIn
from drover.hierarchy.thresholds import Size

NOW: Final = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """Operators that went from a node to its neighbour.

    Levels are from before: of who began the round when it looked, of the other when the operators went.
    """

    operators: tuple[int, ...]
    giver: int
    receiver: int
    offered: bool  # by the giver, which had too much; else the receiver has asked
    giver_level: float
    receiver_level: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Where operators are once every node has looked, and how they came there."""

    node_of: tuple[int, ...]  # (m,)
    steps: tuple[Step, ...] = ()
    messages: int = 0


def negotiate(places: Sequence[Place], node_of: Sequence[int], sizes: Sequence[Size]) -> Agreement:
    """Return what nodes, (n,), with operators, (m,), of these sizes agree on.

    The fullest node looks first: who has too much is heard before those who would like more.
    """
    own: list[dict[int, Size]] = [{} for _ in places]
    for j, (node, size) in enumerate(zip(node_of, sizes, strict=True)):
        own[node][j] = size
    machines = [Machine(place, [settle_in(own[i])], NOW, NOW) for i, place in enumerate(places)]
    steps: list[Step] = []
    queue: deque[Message] = deque()
    messages = 0
    for node in sorted(range(len(places)), key=lambda i: (-machines[i].level, i)):
        looked = machines[node].level
        queue.extend(machines[node].tick(NOW).messages)
        while queue:
            message = queue.popleft()
            messages += 1
            levels = {end: looked if end == node else machines[end].level for end in (message.sender, message.receiver)}
            output = machines[message.receiver].receive(message, NOW)
            queue.extend(output.messages)
            if isinstance(message, Handover):
                steps += (_step(message, record, levels) for record in output.records if isinstance(record, TookIn))
    owners = {j: i for i, machine in enumerate(machines) for j in machine.sizes}
    return Agreement(
        tuple(owners[j] for j in range(len(node_of))), tuple(step for step in steps if step.operators), messages
    )


def _step(handover: Handover, taken: TookIn, levels: Mapping[int, float]) -> Step:
    operators = tuple(sorted(operator for bundle in taken.bundles for operator in bundle.operators))
    giver, receiver = handover.sender, handover.receiver
    return Step(operators, giver, receiver, handover.round[0] == giver, levels[giver], levels[receiver])
