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
from dataclasses import replace
from functools import partial
from typing import Any, Final

from drover.control import history
from drover.control.by_hand import Proposed, move_by_hand, spread_as, spread_by_hand
from drover.control.explain import Explanation, explain
from drover.control.history import Saved
from drover.control.loop import approve, step
from drover.control.offer import Offer, carried_out, changed, find, offer
from drover.control.record import Kind, Proposal, Record
from drover.control.settings import KEYS, Control, control_of, described, fitting
from drover.control.state import State
from drover.control.view import World
from drover.errors import DroverError, StateError
from drover.flow.state.storage import open_root
from drover.network.grid import SpreadLike
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.closed import Slots
from drover.spark.periods import Collected, Figures, Ledger
from drover.spark.planner import Planner
from drover.spark.status import Status

KEPT: Final = 600  # records in memory
OFFERED: Final = 20  # proposals that somebody was shown and may still apply
log = logging.getLogger(__name__)


class Controller:
    """The loop of one run; `start` first, `close` last. All methods may be called from any thread."""

    def __init__(
        self, network: Network, planner: Planner, settings: Control, *, slots: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._network, self._planner = network, planner
        self._clock, self._slots = clock, Slots(slots)
        self._ledger = Ledger(network)
        self._inbox: queue.Queue[tuple[float, Figures] | None] = queue.Queue()
        self._turn = threading.RLock()  # held while state is read or changed
        self._state, self._drained = State(), frozenset[int]()
        self._approved: Proposal | None = None
        self._offered: dict[str, Proposal] = {}
        self._records: deque[Record] = deque(maxlen=KEPT)
        self._failure: str | None = None
        self._over = False  # the checkpoint may be somebody else's
        self._thread = threading.Thread(target=self._work, name="drover control", daemon=True)

    def recover(self) -> None:
        """Take in what the last run on this checkpoint left; nothing is carried out or written."""
        fs, path = open_root(self._planner.root)
        try:
            saved = history.load(fs, path)
            self._records.extend(history.read(fs, path, KEPT))
            self._state, self._drained, self._approved = saved.state, saved.drained, saved.approved
        except StateError as error:
            log.warning("the control loop starts from nothing, because its files are damaged: %s", error)

    def start(self) -> None:
        """Go on where the last run on this checkpoint ended, and begin to take in batches."""
        self.recover()
        self._slots.watch()
        if self._approved is not None:
            try:
                self._fulfil(self._approved)
            except Exception as error:  # noqa: BLE001 - as in `_work`
                self._fail(error)
        self._thread.start()

    def _fulfil(self, proposal: Proposal) -> None:
        """Carry out what somebody approved while the run was stopped, or say why not.

        It stays approved until a period has passed: a run may end before its first batch, and its plan with it.
        """
        plan = self._planner.plan
        if carried_out(plan, proposal):
            return  # a run that ended in its first period has done it
        self._state = replace(self._state, waiting=proposal)
        try:
            self.approve(proposal.id)
        except DroverError as error:
            self._approved = None
            loads = self._records[-1].loads if self._records else ()
            record = Record(self._state.period, Kind.REFUSED, str(error), loads, plan.number, proposal)
            self._settle(replace(self._state, waiting=None), record)

    def close(self) -> None:
        """Take in what is left, and end; a second time does nothing."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._inbox.put(None)
            self._thread.join()
        with self._turn:
            self._over = True

    def _demand_open(self) -> None:
        if self._over:
            raise DroverError("the run has ended. Start again on the same checkpoint.")

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
            except Exception as error:  # noqa: BLE001 - a loop that is broken must not break the run
                self._fail(error)
            finally:
                self._inbox.task_done()
        self._inbox.task_done()

    def _fail(self, error: Exception) -> None:
        self._failure = f"{type(error).__name__}: {error}"
        log.error("the control loop has failed and decides no more; the run goes on", exc_info=error)

    def _take(self, now: float, figures: Figures) -> None:
        with self._turn:
            collected = self._ledger.take(now, figures, self.settings.period)
        if collected is not None:
            self._decide(collected)

    def _decide(self, collected: Collected) -> None:
        """Run one step of the loop, carry out what it says, and write it down.

        The first step compiles its policies, which may take half a minute, and nobody who asks or moves something has
        to wait for that; if somebody was quicker, the step is made again.
        """
        with self._turn:
            before = self._state, self._world(), self.settings
        decided = step(collected.after(before[0]), *before[1:])
        with self._turn:
            now = self._state, self._world(), self.settings
            if now[0] is not before[0] or now[1:] != before[1:]:
                decided = step(collected.after(now[0]), *now[1:])
            self._approved = None
            state, record = decided
            self._settle(state, replace(record, figures=collected.figures))

    def _settle(self, state: State, record: Record) -> None:
        if record.kind is Kind.MOVED and record.proposal is not None:
            record = self._carry_out(record, record.proposal)
            if record.kind is not Kind.MOVED:
                state = replace(state, moved=self._state.moved)  # what has not moved need not rest
        self._state = state
        self._records.append(record)
        history.write(*open_root(self._planner.root), list(self._records))
        self._save()

    def _carry_out(self, record: Record, proposal: Proposal) -> Record:
        try:
            made = self._planner.replan(lambda plan: changed(plan, proposal, self._network))
        except DroverError as error:  # somebody was quicker
            return replace(record, kind=Kind.REFUSED, reason=str(error))
        self._ledger.expect(made.number, proposal.bytes)
        return record

    def _save(self) -> None:
        name, mode, settings = self._network.name, str(self.settings.mode), described(self.settings)
        saved = Saved(self._state, self._drained, name, mode, settings, self._approved)
        history.save(*open_root(self._planner.root), saved)

    def _world(self) -> World:
        plan = self._planner.plan
        return World(self._network, plan, self.closed(plan.nodes), self._planner.hierarchy)

    def closed(self, nodes: int | None = None) -> frozenset[int]:
        """Return the nodes that may not be used: those to be emptied, and as many as Spark has lost slots for."""
        return self._slots.closed(self._planner.plan.nodes if nodes is None else nodes, self._drained)

    @property
    def status(self) -> Status:
        """What the loop knows now."""
        with self._turn:
            last = self._records[-1] if self._records else None
            return Status(
                self._network.name, self.settings.mode, self._state.period, self._planner.plan,
                tuple(sorted(self._drained)), last, self._state.waiting, self._failure,
                self._approved if self._thread.ident is None else None,
            )  # fmt: skip

    @property
    def records(self) -> list[Record]:
        """The last decisions, oldest first."""
        with self._turn:
            return list(self._records)

    def past(self, last: int) -> list[Record]:
        """Return the last so many decisions, oldest first; those before the ones in memory from the checkpoint."""
        recent = self.records
        if last <= len(recent):
            return recent[len(recent) - last :]
        return history.read(*open_root(self._planner.root), last)

    def explain(self, unit: str) -> Explanation:
        """Return why a unit is where it is."""
        with self._turn:
            return explain(unit, self._state, self._world(), self.settings, list(self._records))

    def proposal(self) -> Offer:
        """Return the proposal that waits, or one worked out now, which `approve` takes, too; nothing else changes."""
        with self._turn:
            state, world, settings, records = self._state, self._world(), self.settings, list(self._records)
        found = offer(state, world, settings, records)  # may take long, and the loop must not wait
        if found.proposal is not None and not found.waits:
            with self._turn:
                self._offered[found.proposal.id] = found.proposal
                for old in list(self._offered)[:-OFFERED]:
                    del self._offered[old]
        return found

    def approve(self, name: str) -> Record:
        """Carry out a proposal exactly as it was shown; DroverError if it is not known, or if the world has changed."""
        with self._turn:
            self._demand_open()
            found = self._named(name)
            return self._apply(replace(found, reason=f"applied by hand: {found.reason}"))

    def _named(self, name: str) -> Proposal:
        return find(name, self._offered, self._state, self._world(), self.settings, list(self._records))

    def _apply(self, proposal: Proposal) -> Record:
        asked = replace(self._state, waiting=proposal)
        self._settle(*approve(asked, self._world(), self.settings, proposal.id))
        done = self._records[-1]
        if done.kind is not Kind.MOVED:
            raise DroverError(f"proposal {proposal.id} is not applied: {done.reason}.")
        return done

    def move(self, unit: str, node: int) -> Plan:
        """Move a unit to a node, with its state, from the next batch on; it then rests like one that the loop moved."""
        return self._do_by_hand(partial(move_by_hand, unit, node), lambda plan, _: plan.move(unit, node))

    def spread(self, join: str, spread: SpreadLike) -> Plan:
        """Spread a join as somebody asks, from the next batch on, until somebody asks again, also after a restart."""
        shape = partial(spread_as, join=join, spread=spread, state=self._state)
        return self._do_by_hand(partial(spread_by_hand, join, spread), lambda plan, world: shape(plan, world=world))

    def _do_by_hand(self, proposed: Proposed, change: Callable[[Plan, World], Plan]) -> Plan:
        with self._turn:
            self._demand_open()
            proposal = proposed(self._state, world := self._world(), self.settings)
            try:
                if proposal is not None:
                    self._apply(proposal)
                    return self._planner.plan
            except DroverError as error:
                log.warning("what was asked for is done, but not written down: %s", error)
            return self._planner.replan(lambda plan: change(plan, world))

    def defer(self, name: str) -> Proposal:
        """Have a proposal carried out when the run starts again: of a run that is stopped."""
        with self._turn:
            self._approved = self._named(name)
            self._save()
            return self._approved

    def drain(self, node: int, *, empty: bool = True) -> None:
        """Empty a node from the next period on and keep it empty, or (`empty` False) use it again."""
        nodes = self._planner.demand_drainable()
        if not 0 <= node < nodes:
            raise DroverError(f"node is {node}, but the nodes are 0 to {nodes - 1}. Name one of them.")
        with self._turn:
            self._demand_open()
            wanted = self._drained | {node} if empty else self._drained - {node}
            if len([each for each in wanted if each < nodes]) == nodes:
                raise DroverError(f"node {node} is the last that may be used. Use another one again first.")
            self._drained = frozenset(wanted)
            self._save()

    def change(self, **settings: Any) -> Control:  # Any: the fields of Control
        """Change settings of the running loop, such as the mode."""
        with self._turn:
            self._demand_open()
            named = {name: getattr(self.settings, name) for name in KEYS} | settings
            self.settings = fitting(control_of(named), self._planner.plan.node_of)
            self._save()
            return self.settings
