from __future__ import annotations

from typing import Any, cast

import pytest

from drover.cli.demo_calibration import DemoWorkload
from drover.cli.demo_script import DemoRun, Pace, closing_line, pace_of, play_script
from drover.cli.live import LineView
from drover.cli.run_figures import RunFigures
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal
from drover.placement.plan import Move
from drover.spark.handle import Handle
from tests.cli.batches import entry

DISPLAY = LineView(quiet=True)
PROPOSAL = Proposal("p3", 3, 1, 2, (Move("seals", 0, 1, 0.0),), "why", 0.2, 0.0, (1.6, 0.0), (0.8, 0.8))
BEHIND = "falling behind: batches take 2.5 s; node 0 gives out first"


class Fake:
    """A handle with batches and decisions."""

    def __init__(self) -> None:
        self.decisions: list[PeriodRecord] = []
        self.batches: list[dict[str, Any]] = []

    def add(self, plan: int, rows: int, compute: float) -> None:
        body = entry(len(self.batches), rows, [0.4, 0.2]) | {"plan": plan}
        body["seconds"] = body["seconds"] | {"compute": compute, "sinks": 0.0}
        self.batches.append(body)

    def decide(self, kind: PeriodOutcome, health: str, obstacle: str = "") -> None:
        proposal = PROPOSAL if kind is PeriodOutcome.MOVED else None
        record = PeriodRecord(len(self.decisions) + 1, kind, "why", (), 1, proposal, health=health, obstacle=obstacle)
        self.decisions.append(record)


@pytest.fixture
def fake() -> Fake:
    """A run whose first batch has one row."""
    made = Fake()
    made.add(1, 1, 9.0)
    return made


@pytest.fixture
def demo() -> DemoRun:
    made = DemoRun(None, 2000, DemoWorkload(100, 1.4, 0.7))
    made.figures = RunFigures(("requests",), ("seals",), began=0.0)
    return made


def play(demo: DemoRun, fake: Fake) -> bool:
    demo.figures.add(fake.batches[demo.figures.batches :], now=float(len(fake.batches)))
    return play_script(demo, cast(Handle, fake), DISPLAY)


def test_nothing_is_said_before_the_first_requests(demo: DemoRun, fake: Fake) -> None:
    fake.decide(PeriodOutcome.WATCHED, "falling behind: Spark starts")
    play(demo, fake)
    assert demo.messages == []
    assert demo.before is None


def test_health_is_shown_when_it_changes_and_the_move_with_its_reason(demo: DemoRun, fake: Fake) -> None:
    for rows, kind in ((400, PeriodOutcome.WATCHED), (600, PeriodOutcome.WATCHED), (900, PeriodOutcome.MOVED)):
        fake.add(1, rows, rows / 250)
        fake.decide(kind, BEHIND)
        play(demo, fake)
    fake.add(2, 99, 0.3)
    fake.decide(PeriodOutcome.STEADY, "keeping up: batches take 0.8 s")
    assert play(demo, fake), "all rows are there"
    assert demo.messages == [
        f"period 1: {BEHIND}.",
        f"period 3: {BEHIND}.",
        "period 3: drover moves seals from node 0 to node 1. Why: why.",
        "period 4: keeping up: batches take 0.8 s.",
    ]
    assert demo.before == Pace(3, 3.6, 2.4, 250.0)
    assert demo.after == Pace(1, 0.3, 0.3, 330.0)
    assert closing_line(demo, 400) == (
        "before the move: batches of up to 3.6 s, 250 requests/s where 400 arrive; "
        "after it: batches of 0.30 s in the end, up to 330 requests/s"
    )


def test_an_obstacle_is_shown(demo: DemoRun, fake: Fake) -> None:
    fake.add(1, 400, 1.5)
    fake.decide(PeriodOutcome.STEADY, BEHIND, "1 core is too few")
    play(demo, fake)
    assert demo.messages == [f"period 1: {BEHIND}; 1 core is too few."]
    assert closing_line(demo, 400).startswith("nothing has moved")
    assert not demo.was_too_light


def test_a_run_that_never_fell_behind_was_too_light(demo: DemoRun, fake: Fake) -> None:
    assert demo.was_too_light
    fake.add(1, 400, 0.9)
    play(demo, fake)
    assert demo.was_too_light
    assert demo.share == pytest.approx(401 / 2000)


def test_the_pace_of_batches_is_the_median_of_the_last_ones() -> None:
    batches = [entry(k, 100, [0.1]) for k in range(7)]
    for one in batches:
        one["seconds"] = one["seconds"] | {"compute": 0.75, "sinks": 0.0}
    assert pace_of(batches) == Pace(7, 0.75, 0.75, 100 / 0.75)
    assert pace_of([]) is None
