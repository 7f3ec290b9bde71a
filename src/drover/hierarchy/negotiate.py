"""One complete negotiation in one process: every node of a tree checks its level once, until all rounds have ended.

Rule 1: the machines are those of every other runtime. The network between them is perfect, so each round ends
before the next begins, no node is busy, and no hand-over is pending at the end.
Rule 2: time stands still: sizes are those of one period, and nothing times out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.hierarchy.machine import Machine, initial_snapshot
from drover.hierarchy.messages import Handover, Message, TookIn
from drover.hierarchy.node_state import NodeConfig
from drover.hierarchy.thresholds import Size

NOW: Final = 0.0


@dataclass(frozen=True, slots=True)
class TreeMove:
    """Operators that moved from a node to its neighbour.

    Both levels are from before the move: the level of the node that began the round when it checked, and the level of
    the other node when the operators moved.
    """

    operators: tuple[int, ...]
    giver: int
    receiver: int
    offered: bool  # whether the overloaded giver began the round; otherwise the receiver asked
    giver_level: float
    receiver_level: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """The placement after every node has checked its level once, and the moves that led to it."""

    node_of: tuple[int, ...]  # (m,)
    steps: tuple[TreeMove, ...] = ()
    messages: int = 0


def negotiate(configs: Sequence[NodeConfig], node_of: Sequence[int], sizes: Sequence[Size]) -> Agreement:
    """Return what the nodes, (n,), agree on for operators, (m,), of these sizes.

    The fullest node checks first, so that overloaded nodes find room before underloaded nodes ask for operators.
    """
    own: list[dict[int, Size]] = [{} for _ in configs]
    for j, (node, size) in enumerate(zip(node_of, sizes, strict=True)):
        own[node][j] = size
    machines = [Machine(config, [initial_snapshot(own[i])], NOW, NOW) for i, config in enumerate(configs)]
    steps: list[TreeMove] = []
    queue: deque[Message] = deque()
    messages = 0
    for node in sorted(range(len(configs)), key=lambda i: (-machines[i].level, i)):
        # The level at the check: it falls or rises during the round.
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
    # No hand-over is pending at the end, so every operator has one owner.
    owners = {j: i for i, machine in enumerate(machines) for j in machine.sizes}
    return Agreement(
        tuple(owners[j] for j in range(len(node_of))), tuple(step for step in steps if step.operators), messages
    )


def _step(handover: Handover, taken: TookIn, levels: Mapping[int, float]) -> TreeMove:
    operators = tuple(sorted(operator for bundle in taken.bundles for operator in bundle.operators))
    giver = handover.sender
    receiver = handover.receiver
    return TreeMove(operators, giver, receiver, handover.round[0] == giver, levels[giver], levels[receiver])
