"""The status of a run's control loop at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drover.control.engine_choice import EngineInUse
from drover.control.record import PeriodRecord, Proposal
from drover.control.settings import Mode
from drover.flow.breadcrumbs import Breadcrumb
from drover.flow.parking import ParkedOperator
from drover.placement.plan import Plan
from drover.spark.row_totals import RowTotals


@dataclass(frozen=True, slots=True)
class Status:
    """The status of the control loop."""

    network: str
    mode: Mode
    period: int
    plan: Plan
    drained: tuple[int, ...]
    last: PeriodRecord | None
    waiting: Proposal | None
    failure: str | None
    approved: Proposal | None = None  # of a stopped run: applied when it starts again
    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)  # operators that failed and do not run
    running_long: tuple[tuple[Breadcrumb, float], ...] = ()  # what runs for long in this batch, with its seconds
    totals: RowTotals = field(default_factory=RowTotals)  # rows that the run did not use
    engine: EngineInUse | None = None  # what computes batches; None of a stopped run
    capacity: tuple[float, ...] = ()  # (n,) busy seconds per second that each node can spend
