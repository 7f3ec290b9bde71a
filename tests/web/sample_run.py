"""A made-up run of the traffic example: twelve periods on three nodes, with a move, refusals and a manual change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyarrow.fs import LocalFileSystem

from drover.control import history
from drover.control.history import CHUNK, SavedState
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, RefusedMove
from drover.control.settings import Control, settings_to_json
from drover.control.state import ControlState
from drover.flow.planlog import PlanLogEntry, write_plan
from drover.load.sample import Sample
from drover.network.files.network_file import loads
from drover.network.model import Network
from drover.placement.plan import Move, Plan
from drover.spark.changes import note_network
from drover.web.report import RunFiles

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = Control(mode="auto", capacity=(1.0, 1.0, 0.5), pins={"small": 1})  # type: ignore[arg-type]  # as from a file
PLAN = Plan(3, 3, {"requests": 0, "counts": 2, "sizes": 1, "busy": 1, "small": 1, "suspects": 2})
WRITTEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PERIODS = 12
MOVED = 7  # period in which the control loop changes the plan
CHANGED_BY_HAND = 10  # period before which somebody else does


def traffic() -> Network:
    return loads((EXAMPLES / "traffic.yaml").read_text(encoding="utf-8"))


def proposal() -> Proposal:
    move = Move("counts", 0, 2, 43_210.0)
    why = "cor-se-imp: the slowest node is spared 0.123 busy seconds per second (21%)"
    return Proposal("p5", 5, 1, 3, (move,), why, 0.123, 0.0071, (0.58, 0.21, 0.1), (0.37, 0.21, 0.52))


def record(
    period: int, kind: PeriodOutcome = PeriodOutcome.STEADY, reason: str = "cor-se-imp moves nothing"
) -> PeriodRecord:
    """A period of a little more than 2 s, with values that no other period has."""
    figures = {
        "seconds": 2.0 + period / 100,
        "batches": 2.0,
        "batch_seconds": 0.3 + period / 1000,
        "slowest_batch": 0.5 + period / 1000,
        "slowest_node": 0.2 + period / 1000,
        "rows": 1000.0 + period,
        "routed_bytes": 50_000.0 + 1000 * period,
        "replication": 1.0 + period / 100,
    }
    before = (0.5 + period / 1000, 0.2 + period / 1000, 0.1 + period / 1000)
    after = (0.3, 0.2, 0.4 + period / 1000)
    plan = 1 if period <= MOVED else 2 if period < CHANGED_BY_HAND else 3
    return PeriodRecord(period, kind, reason, before if period <= MOVED else after, plan, None, (), figures)


def records() -> list[PeriodRecord]:
    found = [record(period) for period in range(1, PERIODS + 1)]
    found[2] = replace(
        found[2], kind=PeriodOutcome.REFUSED, reason="the policy combined finds no plan: no node is large enough"
    )
    found[4] = replace(found[4], kind=PeriodOutcome.TRIAL, reason="it has 2 periods to show it", proposal=proposal())
    found[MOVED - 1] = replace(
        found[MOVED - 1],
        kind=PeriodOutcome.MOVED,
        reason="cor-se-imp: the slowest node is spared 0.12",
        proposal=proposal(),
    )
    for period in (8, 9, 10):
        why = f"it has moved lately and rests for {17 - period} more periods"
        found[period - 1] = replace(found[period - 1], refusals=(RefusedMove(Move("counts", 2, 1), why),))
    return found


def state(network: Network) -> ControlState:
    found = ControlState(moved={"counts": MOVED}, placed=True)
    rows = {"east": 800.0, "west": 400.0, "requests": 1200.0, "counts": 300.0, "sizes": 300.0, "busy": 30.0}
    rows |= {"small": 60.0, "suspects": 20.0}
    for period in range(1, PERIODS + 1):
        samples = [
            Sample(
                one.name, {name: rows[name] for name in one.inputs}, {one.name: rows[one.name]}, 0.1 * (j + 1), 64 * j
            )
            for j, one in enumerate(network.operators)
        ]
        found = replace(found, window=found.window.push(period, 2.0, {"east": 800.0, "west": 400.0}, samples))
    return found


def saved(network: Network) -> SavedState:
    return SavedState(state(network), frozenset(), network.name, "auto", settings_to_json(SETTINGS))


def run_files() -> RunFiles:
    network = traffic()
    return RunFiles("/data/traffic", network.name, network, PLAN, saved(network), SETTINGS, tuple(records()), WRITTEN)


def checkpoint(folder: Path, found: list[PeriodRecord] | None = None) -> Path:
    """Write the same run to a checkpoint directory."""
    root = folder / "run"
    fs = LocalFileSystem()
    network = traffic()
    root.mkdir()
    note_network(fs, str(root), network)
    write_plan(fs, str(root), PlanLogEntry(0, PLAN))
    history.save_state(fs, str(root), saved(network))
    every = records() if found is None else found
    for index, each in enumerate(every):
        if index + 1 == len(every) or every[index + 1].period // CHUNK != each.period // CHUNK:
            history.write_records(fs, str(root), every[: index + 1])
    return root
