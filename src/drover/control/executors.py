"""Executors of Spark: which of them were lost, and which nodes are closed until others have replaced them.

Rule 1: an executor that Spark releases because it is idle is not lost. No node is closed for it; if fewer slots are
left, the model of a batch sees that.
Rule 2: the slots that are left say how many nodes are closed, and the lost executors say which: those that ran there.
At least one node always stays open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from drover.wording import plural

UNKNOWN: Final = "Spark does not say why"


class ExecutorStatus(StrEnum):
    """What has become of an executor."""

    ACTIVE = "active"
    RELEASED = "released"  # Spark ended it, because it was idle
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ExecutorFacts:
    """What Spark says of an executor that it has or had."""

    name: str
    slots: int  # tasks that it can run at once
    status: ExecutorStatus = ExecutorStatus.ACTIVE
    reason: str = ""  # why it is gone, in Spark's words


@dataclass(frozen=True, slots=True)
class LostExecutor:
    """An executor that is lost and not replaced."""

    name: str
    reason: str
    slots: int  # that no other executor has brought back
    nodes: tuple[int, ...]  # that ran on it

    def __str__(self) -> str:
        """Return it as a cause, as in `executor 2 was lost: node 1 ran on it`."""
        return describe_loss(self, self.nodes)


def describe_loss(lost: LostExecutor, nodes: Sequence[int]) -> str:
    """Return in words that an executor was lost, and these of its nodes with it."""
    ran = f"{plural(len(nodes), 'node')} {', '.join(map(str, nodes))}" if nodes else "no node"
    return f"executor {lost.name} was lost: {ran} ran on it"


@dataclass(frozen=True, slots=True)
class ExecutorLedger:
    """The executors that are there, and those that were lost and are not replaced, oldest loss first."""

    present: Mapping[str, int] = field(default_factory=dict)  # slots of each
    lost: tuple[LostExecutor, ...] = ()

    @property
    def slots(self) -> int:
        """The tasks that can run at once."""
        return sum(self.present.values())

    @property
    def missing(self) -> int:
        """The slots that were lost and not replaced."""
        return sum(each.slots for each in self.lost)

    def losses(self, found: Sequence[ExecutorFacts]) -> list[ExecutorFacts]:
        """Return the executors that were here and are lost by now."""
        known = {each.name: each for each in found}
        # Spark forgets the oldest of many dead executors. One that it forgot at once is taken for lost.
        gone = [
            known.get(name, ExecutorFacts(name, slots, ExecutorStatus.LOST, UNKNOWN))
            for name, slots in self.present.items()
        ]
        return [each for each in gone if each.status is ExecutorStatus.LOST]

    def after(self, found: Sequence[ExecutorFacts], ran: Mapping[str, Sequence[int]]) -> ExecutorLedger:
        """Return the ledger when Spark names these executors; `ran` has the nodes of each executor that is lost."""
        present = {each.name: each.slots for each in found if each.status is ExecutorStatus.ACTIVE}
        joined = sum(slots for name, slots in present.items() if name not in self.present)
        new = [
            LostExecutor(each.name, each.reason, self.present[each.name], tuple(ran.get(each.name, ())))
            for each in self.losses(found)
        ]
        return ExecutorLedger(present, tuple(_unreplaced([*self.lost, *new], joined)))

    def closed(self, nodes: int, drained: Collection[int], readers: int = 0) -> frozenset[int]:
        """Return which of the nodes 0 to nodes - 1 may not be used; reading takes `readers` slots from them.

        >>> lost = LostExecutor("2", "it died", slots=1, nodes=(1,))
        >>> sorted(ExecutorLedger({"1": 1, "3": 1}, (lost,)).closed(3, drained=()))
        [1]
        >>> sorted(ExecutorLedger().closed(2, drained={0, 1}))
        [1]
        """
        room = nodes_with_room(nodes, self.slots - readers, self.missing)
        displaced = dict.fromkeys(node for each in self.lost for node in sorted(each.nodes, reverse=True))
        closed = [node for node in displaced if node < nodes][: nodes - room]
        shut = {node for node in drained if node < nodes} | set(closed)
        # Something has to run, even if every node is drained or lost (rule 2).
        return frozenset(shut if len(shut) < nodes else shut - {0})


def nodes_with_room(nodes: int, slots: int, missing: int) -> int:
    """Return how many nodes can stay open on `slots` slots, when `missing` slots more are lost.

    A node needs a slot. If there were fewer slots than nodes before, nodes shared them, and as many share one now.

    >>> nodes_with_room(4, slots=8, missing=4), nodes_with_room(4, slots=3, missing=9), nodes_with_room(4, 1, 1)
    (4, 3, 2)
    """
    before = min(slots + missing, nodes)
    if not missing or before <= 0:
        return nodes
    # Rounded up: nodes share slots, so a part of a slot is no reason to close a node.
    return min(nodes, max(1, -(-nodes * slots // before)))


def nodes_on(executor: str, newest: Mapping[int, str], before: Mapping[int, str]) -> tuple[int, ...]:
    """Return the nodes that ran on an executor; both mappings have the executor of each node, in successive batches.

    If it was lost in the newest batch, Spark has repeated its tasks elsewhere, and only the batch before tells.

    >>> nodes_on("2", {0: "1", 1: "1"}, {0: "1", 1: "2"}), nodes_on("2", {0: "2", 1: "1"}, {0: "1", 1: "2"})
    ((1,), (0,))
    """
    for each in (newest, before):
        if found := tuple(sorted(node for node, name in each.items() if name == executor)):
            return found
    return ()


def _unreplaced(lost: Sequence[LostExecutor], joined: int) -> Iterator[LostExecutor]:
    """Yield the losses that executors with so many slots leave; they replace the oldest first."""
    for each in lost:
        filled = min(joined, each.slots)
        joined -= filled
        if each.slots > filled:
            yield replace(each, slots=each.slots - filled)
