"""The control loop of a running network: it receives batches, decides once per period, and changes the plan.

Rule 1: the loop has its own thread; a batch only puts its figures into a queue. Rule 2: `control/` decides; this module
has the clock, the files and the lock. Rule 3: a bug here stops the loop, never the run.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

from drover.control import history
from drover.control.batch_headroom import BatchHeadroom, batch_headroom
from drover.control.capacity import capacities, query_capacities
from drover.control.context import ControlContext, Deployment
from drover.control.engine_choice import EngineInUse
from drover.control.explain import Explanation, explain, in_run
from drover.control.history import SavedState
from drover.control.loop import approve, step
from drover.control.manual import ManualChange, propose_manual_move, propose_manual_spread, spread_join_as
from drover.control.proposals import CurrentProposal, apply_proposal, current_proposal, find_proposal, is_applied
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal
from drover.control.settings import KEYS, Control, check_pins, control_of, settings_to_json
from drover.control.state import ControlState
from drover.errors import DroverError, StateError
from drover.flow.parking import ParkedOperator
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.load.slot_offer import SlotOffer
from drover.network.grid import SpreadLike
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.backlog import SourceWatch
from drover.spark.closed import Executors, ExecutorWatch
from drover.spark.commit_notes import notes_of
from drover.spark.facts import BatchFacts
from drover.spark.hanging import long_running
from drover.spark.periods import Collected, PeriodAccumulator
from drover.spark.planner import Planner
from drover.spark.row_totals import RowTotals
from drover.spark.status import Status

KEPT: Final = 600  # records in memory
OFFERED: Final = 20  # proposals that were shown on request and can still be applied
log = logging.getLogger(__name__)


class Controller:
    """The control loop of one run; call `start` first and `close` last. Every method is thread-safe."""

    def __init__(
        self,
        network: Network,
        planner: Planner,
        settings: Control,
        *,
        executors: Executors | None = None,
        offer: Callable[[], SlotOffer] = SlotOffer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.engine: EngineInUse | None = None  # of a run that is running
        self.sources = SourceWatch()  # how far the run is behind its sources
        self._network = network
        self._planner = planner
        self._clock = clock
        self._watch = ExecutorWatch(executors)
        self._ledger = PeriodAccumulator(network, offer=offer)
        self._inbox: queue.Queue[tuple[float, BatchFacts] | None] = queue.Queue()
        self._lock = threading.RLock()  # held while the state is read or changed
        self._state = ControlState()
        self._drained = frozenset[int]()
        self._approved: Proposal | None = None
        self._offered: dict[str, Proposal] = {}
        self._records: deque[PeriodRecord] = deque(maxlen=KEPT)
        self._failure: str | None = None
        self._totals = RowTotals()
        self._closed = False  # after that, another run may own the checkpoint
        self._thread = threading.Thread(target=self._work, name="drover control", daemon=True)

    def recover(self) -> None:
        """Read what the last run on this checkpoint saved; nothing is carried out or written."""
        fs, path = open_root(self._planner.root)
        try:
            self._totals = notes_of(latest(fs, path)).totals
            saved = history.load_state(fs, path)
            self._records.extend(history.read_records(fs, path, KEPT))
            self._state = saved.state
            self._drained = saved.drained
            self._approved = saved.approved
        except StateError as error:
            log.warning("the control loop starts without history, because its files are damaged: %s", error)

    def start(self) -> None:
        """Continue where the last run on this checkpoint ended, and start to receive batches."""
        self.begin()
        self._thread.start()

    def begin(self) -> None:
        """Continue where the last run ended, without a thread: batches wait until `process_waiting` is called."""
        self.recover()
        self._watch.begin()
        if self._approved is not None:
            try:
                self._carry_out_approved(self._approved)
            except Exception as error:  # noqa: BLE001 - as in `_process`
                self._fail(error)

    def _carry_out_approved(self, proposal: Proposal) -> None:
        """Carry out a proposal that was approved while the run was stopped, or record why not.

        It stays approved until a period has passed: if the run ends before its first batch, its plan is lost.
        """
        plan = self._planner.plan
        if is_applied(plan, proposal):
            return  # by a run that ended in its first period
        self._state = replace(self._state, waiting=proposal)
        try:
            self.approve(proposal.id)
        except DroverError as error:
            self._approved = None
            loads = self._records[-1].loads if self._records else ()
            record = PeriodRecord(self._state.period, PeriodOutcome.REFUSED, str(error), loads, plan.number, proposal)
            self._record(replace(self._state, waiting=None), record)

    def close(self) -> None:
        """Process the batches that are left, and end; a second call does nothing."""
        # The thread itself cannot wait for its own end.
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._inbox.put(None)
            self._thread.join()
        with self._lock:
            self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise DroverError("the run has ended. Start it again on the same checkpoint.")

    def __call__(self, facts: BatchFacts) -> None:
        """Receive the facts of a batch. This runs in the thread of the batch, so it only notes the time."""
        self._totals = facts.totals
        self.sources.watermark = min(facts.watermarks.values(), default=None)
        self._inbox.put((self._clock(), facts))

    def wait(self) -> None:
        """Wait until all batches so far are processed."""
        self._inbox.join()

    def process_waiting(self) -> None:
        """Process the batches that wait, in the thread of the caller; only for a loop without a thread of its own."""
        while not self._inbox.empty():
            self._process(self._inbox.get())

    def _work(self) -> None:
        while self._process(self._inbox.get()):
            pass

    def _process(self, item: tuple[float, BatchFacts] | None) -> bool:
        """Process a batch; return whether more may come."""
        try:
            # After a failure, batches are still taken from the queue: `wait` and `close` have to end.
            if item is not None and self._failure is None:
                self._receive(*item)
        except Exception as error:  # noqa: BLE001 - a broken loop must not break the run
            self._fail(error)
        finally:
            self._inbox.task_done()
        return item is not None

    def _fail(self, error: Exception) -> None:
        self._failure = f"{type(error).__name__}: {error}"
        log.error("the control loop has failed and makes no more decisions; the run continues", exc_info=error)

    def _receive(self, now: float, facts: BatchFacts) -> None:
        self._watch.look(facts.tasks)
        with self._lock:
            collected = self._ledger.take(now, facts, self.settings.period)
        if collected is not None:
            self._decide(collected)

    def _decide(self, collected: Collected) -> None:
        """Run one step of the loop, carry out its decision, and record it."""
        # The first step compiles its policies, which may take half a minute. It runs without the lock, so that other
        # threads need not wait. If one of them changed something meanwhile, the step is repeated.
        collected = replace(collected, backlog=self.sources.backlog())
        with self._lock:
            before = self._context()
        state, record = step(replace(before, state=collected.after(before.state)))
        with self._lock:
            now = self._context()
            if now.state is not before.state or replace(now, state=before.state) != before:
                state, record = step(replace(now, state=collected.after(now.state)))
            self._approved = None
            behind = {"backlog_rows": collected.backlog, **self.sources.lag(time.time())}
            self._record(state, replace(record, figures={**asdict(collected.summary), **behind}))

    def _record(self, state: ControlState, record: PeriodRecord) -> None:
        if record.kind is PeriodOutcome.MOVED and record.proposal is not None:
            record = self._carry_out(record, record.proposal)
            if record.kind is not PeriodOutcome.MOVED:
                state = replace(state, moved=self._state.moved, weighed=self._state.weighed)  # no cool-down
        self._state = state
        self._records.append(record)
        history.write_records(*open_root(self._planner.root), list(self._records))
        self._save()

    def _carry_out(self, record: PeriodRecord, proposal: Proposal) -> PeriodRecord:
        try:
            made = self._planner.replan(lambda plan: apply_proposal(plan, proposal, self._network))
        except DroverError as error:  # another thread changed the plan first
            return replace(record, kind=PeriodOutcome.REFUSED, reason=str(error))
        self._ledger.expect(made.number, proposal.bytes)
        return record

    def _save(self) -> None:
        name = self._network.name
        mode = str(self.settings.mode)
        settings = settings_to_json(self.settings)
        saved = SavedState(self._state, self._drained, name, mode, settings, self._approved)
        history.save_state(*open_root(self._planner.root), saved)

    def _context(self) -> ControlContext:
        plan = self._planner.plan
        closed, lost = self.closed(plan.nodes), self._watch.lost
        deployment = Deployment(self._network, plan, closed, self._planner.hierarchy, lost)
        return ControlContext(self._state, deployment, self.settings)

    def closed(self, nodes: int | None = None) -> frozenset[int]:
        """Return the nodes that must not be used: drained ones, and those whose executors Spark has lost."""
        readers = 0 if self.engine is None else self.engine.readers
        return self._watch.closed(self._planner.plan.nodes if nodes is None else nodes, self._drained, readers)

    def query_capacities(self, nodes: int) -> tuple[float, ...]:
        """Return `query_capacities`. Every batch asks, so this does not wait for the lock and the writing of files."""
        return query_capacities(nodes, self.settings, self._state)

    @property
    def status(self) -> Status:
        """The present state of the loop."""
        # Of a stopped run, breadcrumbs only say where it ended.
        long = long_running(self._planner.root, time.time()) if self._thread.ident is not None else []
        with self._lock:
            return Status(
                self._network.name,
                self.settings.mode,
                self._state.period,
                self._planner.plan,
                tuple(sorted(self._drained)),
                self._records[-1] if self._records else None,
                self._state.waiting,
                self._failure,
                self._approved if self._thread.ident is None else None,
                self._planner.parked,
                tuple(long),
                self._totals,
                self.engine,
                self.capacity,
            )

    @property
    def health(self) -> str:
        """Whether the run keeps up, and why not, in one sentence; empty before the first period."""
        return self._records[-1].health if self._records else ""

    @property
    def capacity(self) -> tuple[float, ...]:
        """Busy seconds per second that each node can spend."""
        return tuple(capacities(self._planner.plan.nodes, self.settings, self._state).tolist())

    @property
    def records(self) -> list[PeriodRecord]:
        """The last decisions, oldest first."""
        with self._lock:
            return list(self._records)

    def past(self, last: int) -> list[PeriodRecord]:
        """Return the last so many decisions, oldest first; the checkpoint has those that are no longer in memory."""
        recent = self.records
        if last <= len(recent):
            return recent[len(recent) - last :]
        return history.read_records(*open_root(self._planner.root), last)

    def explain(self, unit: str) -> Explanation:
        """Return why a unit is where it is."""
        with self._lock:
            found = explain(unit, self._context(), list(self._records))
        return in_run(found, self.health, self._planner.parked.get(unit), self.engine)

    def proposal(self) -> CurrentProposal:
        """Return the waiting proposal, or one worked out now; `approve` accepts both."""
        with self._lock:
            context = self._context()
            records = list(self._records)
        found = current_proposal(context, records)  # without the lock, since it may take long
        if found.proposal is not None and not found.waits:
            with self._lock:
                self._offered[found.proposal.id] = found.proposal
                self._offered = dict(list(self._offered.items())[-OFFERED:])
        return found

    def headroom(self) -> BatchHeadroom | None:
        """Return how far rates can grow, by the model of a batch; None before enough batches are measured."""
        with self._lock:
            context = self._context()
        return batch_headroom(context)  # without the lock, since it may take a second

    def approve(self, name: str) -> PeriodRecord:
        """Carry out a proposal exactly as it was shown; DroverError if it is unknown or no longer applicable."""
        with self._lock:
            self._check_open()
            found = self._find(name)
            return self._apply(replace(found, reason=f"applied by hand: {found.reason}"))

    def _find(self, name: str) -> Proposal:
        return find_proposal(name, self._offered, self._context(), list(self._records))

    def _apply(self, proposal: Proposal) -> PeriodRecord:
        self._record(*approve(self._context().with_state(waiting=proposal), proposal.id))
        done = self._records[-1]
        if done.kind is not PeriodOutcome.MOVED:
            raise DroverError(f"proposal {proposal.id} is not applied: {done.reason}.")
        return done

    def move(self, unit: str, node: int) -> Plan:
        """Move a unit to a node, with its state, from the next batch on; its cool-down starts as after any move."""
        return self._change_by_hand(partial(propose_manual_move, unit, node), lambda plan, _: plan.move(unit, node))

    def spread(self, join: str, spread: SpreadLike) -> Plan:
        """Spread a join in this way from the next batch on. It stays so, also after a restart, until the next call."""
        return self._change_by_hand(
            partial(propose_manual_spread, join, spread),
            lambda plan, context: spread_join_as(plan, join, spread, context),
        )

    def _change_by_hand(self, propose: ManualChange, change: Callable[[Plan, ControlContext], Plan]) -> Plan:
        with self._lock:
            self._check_open()
            context = self._context()
            proposal = propose(context)
            try:
                if proposal is not None:
                    self._apply(proposal)
                    return self._planner.plan
            except DroverError as error:
                log.warning("the manual change is made, but not recorded: %s", error)
            return self._planner.replan(lambda plan: change(plan, context))

    def resume(self, operator: str) -> ParkedOperator:
        """Run a parked operator again from the next batch on; return what it holds, which it works off first."""
        with self._lock:
            self._check_open()
            parked = self._planner.parked.get(operator, ParkedOperator(""))
            self._planner.resume(operator)
            return parked

    def note_resumes(self, batch: int) -> None:
        """Save requests to resume operators of a stopped run, whose next batch is `batch`."""
        self._planner.note_resumes(batch)

    def defer(self, name: str) -> Proposal:
        """Approve a proposal of a stopped run: it is carried out when the run starts again."""
        with self._lock:
            self._approved = self._find(name)
            self._save()
            return self._approved

    def drain(self, node: int, *, empty: bool = True) -> None:
        """Empty a node from the next period on and keep it empty; with `empty=False`, use it again."""
        nodes = self._planner.demand_drainable()
        if not 0 <= node < nodes:
            raise DroverError(f"node is {node}, but the nodes are 0 to {nodes - 1}. Give one of these numbers.")
        with self._lock:
            self._check_open()
            wanted = self._drained | {node} if empty else self._drained - {node}
            if len([each for each in wanted if each < nodes]) == nodes:
                raise DroverError(
                    f"node {node} is the last node in use. Use another node again first: drover drain NODE --undo."
                )
            self._drained = frozenset(wanted)
            self._save()

    def change(self, **settings: Any) -> Control:  # Any: the fields of Control
        """Change settings of the running loop, such as the mode."""
        with self._lock:
            self._check_open()
            named = {name: getattr(self.settings, name) for name in KEYS} | settings
            self.settings = check_pins(control_of(named), self._planner.plan.node_of)
            self._save()
            return self.settings
