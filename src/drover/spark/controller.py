"""The control loop beside a running network: takes in batches, decides once per period, and changes the plan.

Rule 1: it runs in a thread of its own; a batch only leaves its figures in a queue. Rule 2: `control/` decides; here are
the clock, the files and the lock. Rule 3: a defect here stops the loop, never the run.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from drover.control import history
from drover.control.explain import Explanation, explain
from drover.control.history import Saved
from drover.control.loop import approve, step
from drover.control.record import Kind, Proposal, Record, changed_since
from drover.control.settings import KEYS, Control, Mode, control_of, fitting
from drover.control.state import State
from drover.control.view import World
from drover.errors import DroverError, StateError
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.placement.plan import Plan, apply
from drover.spark.periods import Collected, Figures, Ledger
from drover.spark.planner import Planner

KEPT: Final = 600  # records in memory
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Status:
    """What the loop knows at a moment."""

    network: str
    mode: Mode
    period: int
    plan: Plan
    drained: tuple[int, ...]
    last: Record | None
    waiting: Proposal | None
    failure: str | None


class Controller:
    """The loop of one run; `start` first, `close` last. All methods may be called from any thread."""

    def __init__(
        self, network: Network, planner: Planner, settings: Control, *, slots: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._network, self._planner = network, planner
        self._clock, self._slots = clock, slots
        self._ledger = Ledger(network)
        self._inbox: queue.Queue[tuple[float, Figures] | None] = queue.Queue()
        self._turn = threading.RLock()  # held while state is read or changed
        self._state, self._drained = State(), frozenset[int]()
        self._most_slots = 0
        self._records: deque[Record] = deque(maxlen=KEPT)
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._work, name="drover control", daemon=True)

    def start(self) -> None:
        """Go on where the last run on this checkpoint ended, and begin to take in batches."""
        fs, path = open_root(self._planner.root)
        try:
            saved = history.load(fs, path)
            self._records.extend(history.read(fs, path, KEPT))
            self._state, self._drained = saved.state, saved.drained
        except StateError as error:
            log.warning("the control loop starts from nothing, because its files are damaged: %s", error)
        self._most_slots = self._slots() if self._slots else 0
        self._thread.start()

    def close(self) -> None:
        """Take in what is left, and end; a second time does nothing."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._inbox.put(None)
            self._thread.join()

    def __call__(self, figures: Figures) -> None:
        """Take in a batch: called in the batch's thread, so only the time is noted."""
        self._inbox.put((self._clock(), figures))

    def settle(self) -> None:
        """Wait until all batches so far are taken in."""
        self._inbox.join()

    def _work(self) -> None:
        while (item := self._inbox.get()) is not None:
            try:
                if self._failure is None:
                    self._take(*item)
            except Exception as error:  # a loop that is broken must not break the run
                self._failure = f"{type(error).__name__}: {error}"
                log.exception("the control loop has failed and decides no more; the run goes on")
            finally:
                self._inbox.task_done()
        self._inbox.task_done()

    def _take(self, now: float, figures: Figures) -> None:
        with self._turn:
            collected = self._ledger.take(now, figures, self.settings.period)
            if collected is not None:
                self._decide(collected)

    def _decide(self, collected: Collected) -> None:
        """Run one step of the loop, carry out what it says, and write it down."""
        state = self._state
        state = replace(state, window=state.window.push(state.period + 1, *collected.period))
        state = state.clock(collected.speeds)
        for seconds, size in collected.moved:
            state = state.learn(seconds, size)
        state, record = step(state, self._world(), self.settings)
        self._settle(state, replace(record, figures=collected.figures))

    def _settle(self, state: State, record: Record) -> None:
        if record.kind is Kind.MOVED and record.proposal is not None:
            record = self._carry_out(record, record.proposal)
            if record.kind is not Kind.MOVED:
                state = replace(state, moved=self._state.moved)  # what has not moved need not rest
        self._state = state
        self._records.append(record)
        fs, path = open_root(self._planner.root)
        history.write(fs, path, list(self._records))
        self._save()

    def _carry_out(self, record: Record, proposal: Proposal) -> Record:
        def changed(plan: Plan) -> Plan:
            if (change := changed_since(proposal, plan)) is not None:  # somebody was quicker
                raise DroverError(f"the world has changed: {change}")
            return apply(plan, proposal.moves)

        try:
            made = self._planner.replan(changed)
        except DroverError as error:
            return replace(record, kind=Kind.REFUSED, reason=str(error))
        self._ledger.expect(made.number, proposal.bytes)
        return record

    def _save(self) -> None:
        fs, path = open_root(self._planner.root)
        history.save(fs, path, Saved(self._state, self._drained, self._network.name, str(self.settings.mode)))

    def _world(self) -> World:
        plan = self._planner.plan
        return World(self._network, plan, self._closed(plan.nodes))

    def _closed(self, nodes: int) -> frozenset[int]:
        """Return the nodes that may not be used: those to be emptied, and as many as Spark has lost slots for."""
        closed = {node for node in self._drained if node < nodes}
        if self._slots is not None and self._most_slots:
            now = self._slots()
            self._most_slots = max(self._most_slots, now)
            left = max(1, -(-nodes * now // self._most_slots))
            closed |= set(range(left, nodes))
        return frozenset(closed if len(closed) < nodes else closed - {0})

    @property
    def status(self) -> Status:
        """What the loop knows now."""
        with self._turn:
            last = self._records[-1] if self._records else None
            return Status(
                self._network.name, self.settings.mode, self._state.period, self._planner.plan,
                tuple(sorted(self._drained)), last, self._state.waiting, self._failure,
            )  # fmt: skip

    @property
    def records(self) -> list[Record]:
        """The last decisions, oldest first."""
        with self._turn:
            return list(self._records)

    def explain(self, unit: str) -> Explanation:
        """Return why a unit is where it is."""
        with self._turn:
            return explain(unit, self._state, self._world(), self.settings, list(self._records))

    def approve(self, proposal: str) -> Record:
        """Carry out the proposal that waits; DroverError if it is another, or if the world has changed."""
        with self._turn:
            state, record = approve(self._state, self._world(), self.settings, proposal)
            self._settle(state, record)
            done = self._records[-1]
        if done.kind is not Kind.MOVED:
            raise DroverError(f"proposal {proposal} is not applied: {done.reason}.")
        return done

    def drain(self, node: int, *, empty: bool = True) -> None:
        """Empty a node from the next period on and keep it empty, or (`empty` False) use it again."""
        nodes = self._planner.plan.nodes
        if not 0 <= node < nodes:
            raise DroverError(f"node is {node}, but the nodes are 0 to {nodes - 1}. Name one of them.")
        with self._turn:
            wanted = self._drained | {node} if empty else self._drained - {node}
            if len([each for each in wanted if each < nodes]) == nodes:
                raise DroverError(f"node {node} is the last that may be used. Use another one again first.")
            self._drained = frozenset(wanted)
            self._save()

    def change(self, **settings: Any) -> Control:  # Any: the fields of Control
        """Change settings of the running loop, such as the mode."""
        with self._turn:
            named = {name: getattr(self.settings, name) for name in KEYS} | settings
            self.settings = fitting(control_of(named), self._planner.plan.node_of)
            self._save()
            return self.settings
