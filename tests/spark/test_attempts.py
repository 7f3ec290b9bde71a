"""The attempts of a batch without Spark: what dies twice is parked, and the others go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.compute as pc
import pytest

import drover
from drover.control.failing import FailurePolicy, OnFailure
from drover.errors import DroverError
from drover.flow.breadcrumbs import FOLDER
from drover.flow.families.members import MEMBER, NODE, read_members
from drover.flow.node import Failure
from drover.flow.parking import ParkedOperator
from drover.flow.planlog import PlanLogEntry, read_plan
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.flow.state.versions import Version
from drover.flow.watermarks import SourceProgress
from drover.flow.worker import Assignment, NodeReport
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.attempts import BY_HAND, Attempt, Attempts, AttemptStart
from drover.spark.batch import BatchResult, WorkerDiedError
from drover.spark.planner import Planner
from drover.spark.quarantine import REASON
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from drover.spark.sinks import Memory
from tests.spark.meters import meters
from tests.spark.queries.catalogs import opened, queries

ENTRY = PlanLogEntry(0, Plan(1, 2, {"hot": 0}))


@dataclass
class DyingEngine:
    """Takes the place of Spark: workers die at some operators and queries."""

    operators: set[str] = field(default_factory=set)
    queries: set[int] = field(default_factory=set)  # by number
    traceless: bool = False
    failures: dict[str, str] = field(default_factory=dict)  # reasons by operator
    deaths: int = 0
    runs: list[Assignment] = field(default_factory=list)

    def __call__(self, assignment: Assignment) -> BatchResult:
        self.runs.append(assignment)
        for name in sorted(self.operators - assignment.parking.names):
            self._die(assignment, "operator", name, 1)
        families = assignment.families
        for family, table in {} if families is None else families.member_tables.items():
            members = read_members(*open_root(assignment.root), table)
            assert families is not None
            for node in table.nodes:
                here = members.filter(pc.field(NODE) == node)[MEMBER].to_pylist()
                if self.queries & (set(here) - families.without):
                    self._die(assignment, "family", family, node)
        failed = [Failure(*item) for item in self.failures.items() if item[0] not in assignment.parking.parked]
        return BatchResult({}, {}, {}, (NodeReport(HopNode(0, 0), (), tuple(failed), (), {}),))

    def _die(self, assignment: Assignment, kind: str, name: str, node: int) -> None:
        self.deaths += 1
        folder = Path(assignment.root) / FOLDER
        folder.mkdir(exist_ok=True)
        crumb = {"batch": assignment.batch, "hop": 0, "node": node, "kind": kind, "name": name, "since": 1.0}
        if not self.traceless:
            path = folder / f"{assignment.batch:012}-0-{node}-x{self.deaths}.json"
            path.write_text(json.dumps(crumb), encoding="utf-8")
        raise WorkerDiedError("a worker died", node)


def attempts(root: Path, catalog: QueryCatalog, network: Network | None = None, **options: object) -> Attempts:
    chosen = network or meters()
    service = QueryService(chosen, catalog, sink=Memory())
    return Attempts(chosen, str(root), Planner(str(root), ENTRY.plan), service, **options)  # type: ignore[arg-type]


def run(made: Attempts, engine: DyingEngine, batch: int = 0, *, again: bool = False) -> Attempt:
    return made.run(AttemptStart(batch, Version(batch - 1), SourceProgress()), ENTRY, engine, again=again)


def test_an_operator_that_kills_two_workers_is_parked_and_holds_its_input(tmp_path: Path) -> None:
    engine = DyingEngine({"hot"})
    found = run(attempts(tmp_path, opened(tmp_path)), engine)
    assert engine.deaths == 2
    assert found.parked["hot"].reason == REASON
    assert engine.runs[-1].parking.holding == {"hot"}
    entry = read_plan(*open_root(str(tmp_path)), 0)
    assert entry is not None
    assert set(entry.parked) == {"hot"}  # a replay runs without it from the start


def test_one_death_is_no_reason_to_park_anything(tmp_path: Path) -> None:
    engine = DyingEngine({"hot"})

    def recovers(assignment: Assignment) -> BatchResult:
        if engine.deaths:
            engine.operators = set()
        return engine(assignment)

    made = attempts(tmp_path, opened(tmp_path))
    found = made.run(AttemptStart(0, Version(-1), SourceProgress()), ENTRY, recovers, again=False)
    assert found.parked == {}
    assert len(engine.runs) == 2


def test_deaths_without_a_trace_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(WorkerDiedError):
        run(attempts(tmp_path, opened(tmp_path)), DyingEngine({"hot"}, traceless=True))


def test_what_dies_twice_stops_a_run_that_stops_on_failures(tmp_path: Path) -> None:
    made = attempts(tmp_path, opened(tmp_path), policy=FailurePolicy(OnFailure.STOP))
    with pytest.raises(DroverError, match="a worker died twice while it ran hot, and on_failure is stop"):
        run(made, DyingEngine({"hot"}))


def test_only_the_queries_at_fault_are_parked(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(20)))
    engine = DyingEngine(queries={3, 17})
    made = attempts(tmp_path, catalog)
    found = run(made, engine)
    assert found.queries.without == {3: REASON, 17: REASON}
    families = engine.runs[-1].families
    assert families is not None
    assert families.without == {3, 17}
    assert found.queries.notes(found.result)["queries"]["failed"] == {"3": REASON, "17": REASON}
    # A restart in the middle of the batch begins it without them.
    entry = read_plan(*open_root(str(tmp_path)), 0)
    assert entry is not None
    again = attempts(tmp_path, opened(tmp_path))
    deaths = engine.deaths
    again.run(AttemptStart(0, Version(-1), SourceProgress()), entry, engine, again=True)
    assert engine.deaths == deaths


def test_an_operator_that_dies_while_queries_are_tried_is_found_as_well(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(8)))
    engine = DyingEngine(queries={5})

    def gets_worse(assignment: Assignment) -> BatchResult:
        if engine.deaths == 3:
            engine.operators = {"hot"}
        return engine(assignment)

    made = attempts(tmp_path, catalog)
    found = made.run(AttemptStart(0, Version(-1), SourceProgress()), ENTRY, gets_worse, again=False)
    assert (set(found.parked), set(found.queries.without)) == ({"hot"}, {5})


def test_what_fails_under_skip_is_parked_without_another_attempt(tmp_path: Path) -> None:
    engine = DyingEngine(failures={"hot": "ValueError: no"})
    found = run(attempts(tmp_path, opened(tmp_path), policy=FailurePolicy(OnFailure.SKIP)), engine)
    assert len(engine.runs) == 1
    assert (found.parked["hot"].reason, found.parked["hot"].holds) == ("ValueError: no", False)


def test_who_skips_gives_up_what_was_held(tmp_path: Path) -> None:
    engine = DyingEngine()
    made = attempts(tmp_path, opened(tmp_path), policy=FailurePolicy(OnFailure.SKIP))
    made.planner.parked = {"hot": ParkedOperator("no", holds=True, frozen=5, since=0)}
    found = run(made, engine)
    last = engine.runs[-1].parking
    assert (set(last.parked), set(last.holding), set(last.discarded)) == ({"hot"}, set(), {"hot"})
    assert not found.parked["hot"].holds
    made.planner.parked = {"hot": ParkedOperator("no", holds=True, frozen=5, since=0)}
    run(made, engine, 1, again=True)  # a batch that has begun is repeated as it was
    assert set(engine.runs[-1].parking.holding) == {"hot"}


def test_operators_and_queries_are_left_out_by_hand_even_of_a_batch_that_has_begun(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    made = attempts(tmp_path, catalog)
    made.leave_out(["hot", "q1"])
    engine = DyingEngine({"hot"}, {1})
    found = run(made, engine)
    assert engine.deaths == 0
    assert found.parked["hot"].reason == BY_HAND
    assert found.queries.without == {1: BY_HAND}
    with pytest.raises(DroverError, match="no query 'q7'"):
        made.leave_out(["q7"])


def test_a_spread_join_that_fails_stops_the_run(tmp_path: Path) -> None:
    net = drover.Builder("n")
    s = net.source("s", {"ts": "timestamp", "k": "bigint"}, time="ts")
    s.join("j", s, within="1 s", on="k", select={"k": "left.k"}, spread="auto").output()
    made = attempts(tmp_path, QueryCatalog(net.build(), str(tmp_path), {}), net.build())
    made.queries.open(Checkpoint(), 2)
    report = NodeReport(HopNode(0, 0), (), (Failure("j", "PolarsError: no"),), (), {})
    plan = PlanLogEntry(0, Plan(1, 2, {"j": 0}))
    with pytest.raises(DroverError, match=r"join 'j' failed \(PolarsError: no\) and is spread.*on_failure: skip"):
        made.run(
            AttemptStart(0, Version(-1), SourceProgress()),
            plan,
            lambda _: BatchResult({}, {}, {}, (report,)),
            again=False,
        )


@pytest.mark.parametrize("holds", [True, False])
def test_only_what_is_held_is_bounded(tmp_path: Path, holds: bool) -> None:
    made = attempts(tmp_path, opened(tmp_path), policy=FailurePolicy(hold_bytes=10))
    parked: Mapping[str, ParkedOperator] = {"hot": ParkedOperator("no", holds=holds, bytes=11)}
    if not holds:
        made.check_bound(parked)
        return
    with pytest.raises(DroverError, match=r"'hot' is parked \(no\) and holds 11 bytes of input, but may hold 10"):
        made.check_bound(parked)


def test_what_depends_on_the_network_and_the_plan_is_made_once(tmp_path: Path) -> None:
    made = attempts(tmp_path, opened(tmp_path))
    engine = DyingEngine()
    run(made, engine)
    run(made, engine, 1)
    first, second = engine.runs
    assert second.network is first.network
    assert made.schedule(replace(ENTRY.plan)) is made.schedule(ENTRY.plan)
    more = replace(ENTRY.plan, nodes=ENTRY.plan.nodes + 1)
    assert made.schedule(more) == make_schedule(made.network, more)
