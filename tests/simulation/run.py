"""One simulated run from its first start to its end, through crashes, faults and restarts.

Rule 1: driver, planner, catalog, control loop, sinks, tables and state are the real ones. Spark, the disk and time are
simulated.
Rule 2: everything is drawn from one seed, in one thread. So a seed that fails fails again.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import patch

import polars as pl
from numpy.random import Generator, default_rng

from drover.errors import DroverError
from drover.flow.breadcrumbs import folder_of
from drover.flow.instances import explicit
from drover.flow.state.retention import sweep
from drover.flow.tables import addresses
from drover.placement.plan import round_robin
from drover.spark import attempts, driver, tasks
from drover.spark.commit_notes import notes_of
from drover.spark.controller import Controller
from drover.spark.driver import Driver
from drover.spark.facts import BatchFacts
from drover.spark.planner import Planner
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from drover.spark.sinks import Files, Several, Sink
from tests.flow.holding import break_functions
from tests.simulation.actions import ACTIONS, REQUESTS, Action, arrive, finish
from tests.simulation.batch_starts import BatchStarts
from tests.simulation.calls import StorageCalls
from tests.simulation.clock import VirtualClock
from tests.simulation.damage import Damage
from tests.simulation.disk import SimulatedDisk
from tests.simulation.executors import SimulatedExecutors
from tests.simulation.faults import Fault, FaultKind, Faults, RunDiedError
from tests.simulation.history import History, draw_history
from tests.simulation.queries import ClientQueries
from tests.simulation.sinks import RepeatedSink
from tests.simulation.spark import Ranges, SimulatedEngine, SimulatedQuery, SparkLogError, unified

# Whatever happens after many batches or with many rows happens in a history, too.
SOONER = {
    "drover.flow.state.commits.LEAST_CHAIN": 2_000,  # bytes
    "drover.flow.query_log.files.LEAST_CHAIN": 500,  # bytes
    "drover.flow.spill.INLINE": 2_000,  # bytes
    "drover.spark.driver.SWEEP_EVERY": 3,  # batches
    "drover.spark.driver.KEEP": 2,  # versions
    "drover.spark.driver.sweep": partial(sweep, keep=2),
    "drover.spark.queries.service.REVIEW_EVERY": 3,  # batches
}
MOST_STARTS = 12  # in a row that fail; more means that the run cannot continue


class StuckError(AssertionError):
    """A run that cannot continue, though nothing is broken any more."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch of drover, with the files that it read; None if it had no rows and only closed windows."""

    number: int
    files: Ranges | None


@dataclass(slots=True)
class Live:
    """A run that has started."""

    driver: Driver
    controller: Controller
    service: QueryService
    query: SimulatedQuery


@dataclass(slots=True)
class SimulatedRun:
    """A run and everything around it; `play` is all that one needs."""

    seed: int
    folder: Path
    rng: Generator = field(init=False)
    history: History = field(init=False)
    clock: VirtualClock = field(default_factory=VirtualClock)
    disk: SimulatedDisk = field(init=False)
    faults: Faults = field(init=False)
    calls: StorageCalls = field(init=False)
    damage: Damage = field(init=False)
    engine: SimulatedEngine = field(init=False)
    arrived: dict[str, list[pl.DataFrame]] = field(init=False)
    live: Live | None = None
    given: dict[int, Ranges] = field(default_factory=dict)  # files of Spark's batches, as they were given last
    batches: list[CommittedBatch] = field(default_factory=list)
    story: list[str] = field(default_factory=list)  # what happened
    repeated: dict[str, RepeatedSink] = field(default_factory=dict)
    queries: ClientQueries = field(default_factory=ClientQueries)
    starts: BatchStarts = field(init=False)
    executors: SimulatedExecutors = field(default_factory=SimulatedExecutors)
    finished: bool = False
    cut: bool = False  # whether the power was cut since the last commit

    def __post_init__(self) -> None:
        self.rng = default_rng([self.seed, 2024])
        self.history = draw_history(self.rng)
        self.disk = SimulatedDisk(self.folder)
        self.faults = Faults(self.clock)
        self.calls = StorageCalls(self.disk, self.faults)
        self.damage = Damage(self.disk, self.calls, self.checkpoint)
        self.starts = BatchStarts(self.queries)
        self.engine = SimulatedEngine(self.rng, self.faults, self.starts, self.executors)
        self.arrived = {name: [] for name in self.history.files}

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def play(self) -> None:
        """Run to the end."""
        with self._simulated():
            self._restart()
            arrive(self, self.running())
            for _ in range(int(self.rng.integers(4, 30))):
                if self.rng.random() < 0.2:
                    self.faults.plan(self._draw_fault())
                self._attempt(self._draw_action())
            self.faults.plan(None)
            self.note("the end begins")
            for _ in range(MOST_STARTS):
                if not self.finished:
                    self._attempt(finish)
            assert self.finished, "the run does not come to its end"

    def note(self, text: str) -> None:
        self.story.append(text)

    @contextmanager
    def _simulated(self) -> Iterator[None]:
        """Exchange the disk, time and random ids."""
        folder_of.cache_clear()
        break_functions(())
        with ExitStack() as stack:
            stack.enter_context(self.calls.installed())
            for module in (driver, tasks):
                stack.enter_context(patch.object(module, "time", self.clock))
            stack.enter_context(patch.object(attempts, "watched", lambda *_: contextlib.nullcontext()))
            for name, value in SOONER.items():
                stack.enter_context(patch(name, value))
            stack.enter_context(patch.object(uuid, "uuid4", self._uuid))
            stack.callback(break_functions, ())
            stack.callback(folder_of.cache_clear)
            yield

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self.rng.bytes(16))

    def _draw_fault(self) -> Fault:
        kind = list(FaultKind)[int(self.rng.integers(len(FaultKind)))]
        return Fault(kind, int(self.rng.integers(1, 200)), int(self.rng.integers(1, 4)))

    def _draw_action(self) -> Action:
        weights = list(ACTIONS.values())
        chosen = self.rng.choice(len(weights), p=[weight / sum(weights) for weight in weights])
        return list(ACTIONS)[int(chosen)]

    def _attempt(self, action: Action) -> None:
        """Do something with the run; if that ends it, start it again."""
        live = self.running()
        self.note(action.__name__)
        try:
            action(self, live)
        except RunDiedError as death:
            self._bury(death)
        except (DroverError, OSError, SparkLogError) as error:
            if action in REQUESTS:
                self.note(f"refused: {error}")
            else:
                self._fail(error)
                self._repair(error)
        if not self.finished:
            self.running()

    def running(self) -> Live:
        """Return the run; if it has ended, start it first."""
        if self.live is None:
            self._restart()
        assert self.live is not None
        return self.live

    def _bury(self, death: RunDiedError) -> None:
        """Leave what a dead process leaves."""
        self.note(f"died: {death}")
        self.live = None
        self.calls.close_descriptors()
        if self.faults.dead is FaultKind.POWER:
            self.cut = True
            self.starts.cuts += 1
            with self.calls.unseen():
                self.disk.cut_power(self.rng)
        self.faults.dead = None

    def _fail(self, error: Exception) -> None:
        """End a run that an error has stopped, as its handle does."""
        self.note(f"failed: {error}")
        live = self.live
        self.live = None
        if live is None:
            return
        try:
            live.controller.close()
            live.driver.close()
        except RunDiedError as death:
            self._bury(death)
        except (DroverError, OSError) as second:
            self.note(f"closing failed: {second}")
            self.calls.close_descriptors()

    def _restart(self) -> None:
        """Start until the run has started."""
        for _ in range(MOST_STARTS):
            try:
                self._start()
            except RunDiedError as death:
                self._bury(death)
            except (DroverError, OSError, SparkLogError) as error:
                self._fail(error)
                self._repair(error)
            else:
                return
            if self.rng.random() < 0.5:
                self.faults.plan(None)
        raise StuckError("the run does not start any more")

    def _repair(self, error: Exception) -> None:
        """Do what the error says, as a person would."""
        with self.calls.unseen():
            torn = self.cut and isinstance(error, SparkLogError)
            # What a cut has torn has no copy; what was damaged besides has one.
            if (self.damage.named_by(error) or not torn) and self.damage.restore(error):
                self.note("restored from a copy")
            elif torn and isinstance(error, SparkLogError):
                self._forget_planned(error)
            elif self.cut and "Delete this file" in str(error):
                self.disk.put(Path(str(error).partition(": expected")[0]), None)

    def _forget_planned(self, error: SparkLogError) -> None:
        """Let Spark plan a batch again that drover has not begun: a power cut has torn its files."""
        spark = self.checkpoint / "spark"
        done = [one.files for one in self.batches if one.files is not None]
        if len(done) in self.engine.begun:
            raise StuckError(f"{error} is lost, and drover has begun its batch") from error
        self.disk.put(spark / "offsets" / str(len(done)), None)
        for index, source in enumerate(self.history.files):
            read = done[-1][source][1] if done else 0
            for path in sorted((spark / "sources" / str(index)).glob("[0-9]*")):
                if int(path.name.partition(".")[0]) >= read:
                    self.disk.put(path, None)

    def _start(self) -> None:
        self.starts.process += 1
        if not self.engine.workers or self.rng.random() < 0.7:
            self.engine.restart()
        live = self._wire()
        live.driver.open()
        self.live = live
        self._observe_opened(live.driver)
        self.queries.learn(live.service.names())
        live.driver.listen(live.controller)
        live.controller.begin()
        live.query.start()
        self.note(f"started after batch {live.driver.checkpoint.batch}")

    def _wire(self) -> Live:
        """Put the parts of a run together, as `drover.run` does."""
        network = self.history.network
        root = str(self.checkpoint)
        planner = Planner(root, explicit(round_robin(network, self.history.nodes), network))
        controller = Controller(
            network, planner, self.history.control, executors=self.executors, clock=self.clock.monotonic
        )
        catalog = QueryCatalog(
            network, root, {}, closed_nodes=controller.closed, capacities=controller.query_capacities
        )
        service = QueryService(network, catalog, sink=self._sink("answers"), clock=self.clock.monotonic)
        made = Driver(
            network,
            unified(network),
            {name: (self._sink(f"out/{name}"),) for name in network.outputs},
            root,
            planner,
            service,
            dead_letters=self._sink("dead"),
            tables=addresses(network, {}, root),
            engine=self.engine,
            late=self._sink("late"),
        )
        made.attempts.clock = self.clock.time
        made.listen(self._observe)
        query = SimulatedQuery(network, self.checkpoint / "spark", self.arrived, self.rng)
        return Live(made, controller, service, query)

    def _sink(self, name: str) -> Sink:
        files = Files(str(self.folder / name))
        if self.history.brittle:  # a function that fails in a repetition only leaves other rows
            return files
        return Several((files, self.repeated.setdefault(name, RepeatedSink(name))))

    def _observe(self, facts: BatchFacts) -> None:
        """Note a batch that was committed."""
        self._note(facts.batch, facts.spark_batch)

    def _observe_opened(self, made: Driver) -> None:
        """Note the batch that a run had committed when it died."""
        if made.checkpoint.batch != len(self.batches) - 1:
            self._note(made.checkpoint.batch, notes_of(made.checkpoint).spark_batch)

    def _note(self, number: int, spark_batch: int) -> None:
        assert number == len(self.batches), f"batch {number} follows {len(self.batches) - 1}"
        before = sum(one.files is not None for one in self.batches) - 1
        assert spark_batch in (before, before + 1), f"Spark's batch {spark_batch} follows {before}"
        files = self.given[spark_batch] if spark_batch > before else None
        self.batches.append(CommittedBatch(number, files))
        self.damage.accept()
        self.cut = False
        self.note(f"committed batch {number} of Spark's batch {spark_batch}: {files}")
