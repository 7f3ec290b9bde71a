"""Which nodes may not be used: drained nodes, and those that ran on executors which Spark has lost.

Rule 1: this looks at Spark once per batch, in the thread of the control loop. Other threads read what it saw last.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from py4j.protocol import Py4JError

from drover.control.executors import ExecutorFacts, ExecutorLedger, LostExecutor, nodes_on
from drover.flow.worker import TaskId

UNREACHABLE: Final = (Py4JError, ConnectionError)  # Java has ended, or Spark was stopped
log = logging.getLogger(__name__)


class Executors(Protocol):
    """Where the control loop learns of executors."""

    def names(self) -> set[str]:
        """Return the names of the executors that are there."""
        ...

    def found(self) -> list[ExecutorFacts]:
        """Return the executors that are there, and those that are gone."""
        ...

    def ran_on(self, tasks: Mapping[int, TaskId]) -> dict[int, str]:
        """Return the executor of each node, from the task that ran it; without those that are unknown."""
        ...


@dataclass(slots=True)
class ExecutorWatch:
    """The executors since `begin`, and the tasks in which nodes ran last; `executors` is None if none can be lost."""

    executors: Executors | None
    ledger: ExecutorLedger = field(default_factory=ExecutorLedger)
    _newest: Mapping[int, TaskId] = field(default_factory=dict)  # by node
    _before: Mapping[int, TaskId] = field(default_factory=dict)  # the same, when all executors were known last

    def begin(self) -> None:
        """Take the executors that exist now as complete."""
        if self.executors is not None:
            self.ledger = ExecutorLedger().after(self.executors.found(), {})

    def look(self, tasks: Mapping[int, TaskId]) -> None:
        """Notice which executors came and went, after a batch in which nodes ran in these tasks."""
        if self.executors is None:
            return
        self._newest = {**self._newest, **tasks}
        try:
            # To ask for all that Spark knows takes milliseconds, and hardly ever has an executor come or gone.
            names = self.executors.names()
            if names != self.ledger.present.keys():
                self._look(self.executors)
        except UNREACHABLE as error:  # the run is over, too
            log.warning("cannot ask Spark for its executors: %s", str(error).partition("\n")[0])
            return
        # The status store may learn of a loss a batch later; until then, this batch is the newest one.
        if names == self.ledger.present.keys():
            self._before = self._newest

    def _look(self, executors: Executors) -> None:
        found = executors.found()
        ran: dict[str, tuple[int, ...]] = {}
        if lost := self.ledger.losses(found):
            # Only now: Spark keeps the tasks of earlier batches, and executors are hardly ever lost.
            newest, before = (executors.ran_on(tasks) for tasks in (self._newest, self._before))
            ran = {each.name: nodes_on(each.name, newest, before) for each in lost}
        self.ledger = self.ledger.after(found, ran)
        gone = {each.name for each in lost}
        for each in self.ledger.lost:
            if each.name in gone:
                log.warning("%s (%s). Slots that nobody has replaced: %d", each, each.reason, each.slots)

    def closed(self, nodes: int, drained: Collection[int], readers: int = 0) -> frozenset[int]:
        """Return the nodes that may not be used; reading takes `readers` slots."""
        return self.ledger.closed(nodes, drained, readers)

    @property
    def lost(self) -> tuple[LostExecutor, ...]:
        """The executors that are lost and not replaced."""
        return self.ledger.lost
