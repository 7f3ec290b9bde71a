from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from drover.cli.demo_script import (
    COPIES,
    LOOK_AT,
    SCALE_AT,
    DemoRun,
    percents,
    play_script,
    report_decision,
    scale,
)
from drover.cli.live import LineView
from drover.cli.run_figures import RunFigures
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal
from drover.placement.plan import Move, Plan
from drover.spark.handle import Handle
from tests.cli.batches import entry

DISPLAY = LineView(quiet=True)
PROPOSAL = Proposal("p9", 9, 1, 2, (Move("counts", 0, 1, 2500.0),), "why", 0.2, 0.0, (0.9, 0.1), (0.5, 0.5))


class Fake:
    """A handle with decisions and a plan that can be scaled."""

    def __init__(self) -> None:
        self.decisions: list[PeriodRecord] = []
        self.plan = Plan(3, 2, {"counts": 1, "small": 0})

    def scale(self, nodes: int) -> Plan:
        self.plan = self.plan.scale(nodes)
        return self.plan


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def demo() -> DemoRun:
    """A day of 100 s in event time, of which nothing has passed yet."""
    begin, end = (datetime.fromtimestamp(seconds, UTC) for seconds in (1000, 1100))
    made = DemoRun({}, 20, begin, end, 40.0)
    made.figures = RunFigures(("east",), ("suspects",), began=0.0)
    return made


def pass_to(demo: DemoRun, share: float, rows: int = 1) -> None:
    body: dict[str, Any] = entry(demo.figures.batches, rows, [0.4, 0.2])
    demo.figures.add([body | {"watermarks": {"east": (1000 + 100 * share) * 1e6}}], now=1.0 + demo.figures.batches)


def play(demo: DemoRun, fake: Fake) -> bool:
    return play_script(demo, cast(Handle, fake), DISPLAY)


def test_the_share_of_the_day(demo: DemoRun) -> None:
    assert demo.share == 0.0
    pass_to(demo, 0.3)
    assert demo.share == pytest.approx(0.3)


def test_the_burst_is_announced_once(demo: DemoRun, fake: Fake) -> None:
    assert not play(demo, fake)
    assert demo.messages == []
    for _ in range(2):
        pass_to(demo, 0.26)
        assert not play(demo, fake)
    assert demo.messages == [f"the burst begins: every request arrives {COPIES} times."]


def test_each_decision_is_shown_once(demo: DemoRun, fake: Fake) -> None:
    fake.decisions.append(PeriodRecord(9, PeriodOutcome.TRIAL, "why", (), 1, PROPOSAL))
    play(demo, fake)
    play(demo, fake)
    assert demo.messages == [
        "period 9, proposal p9: counts from node 0 to 1. Why: why; node loads 90.0% 10.0% would be 50.0% 50.0%."
    ]
    fake.decisions.append(PeriodRecord(11, PeriodOutcome.MOVED, "why", (), 1, PROPOSAL))
    play(demo, fake)
    assert demo.moved
    assert demo.messages[1] == "period 11, p9 is carried out, with 2.5 kB of state: counts from node 0 to 1."
    assert len(demo.messages) == 3, "the proposal is not repeated"


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(PeriodRecord(1, PeriodOutcome.STEADY, "nothing", (), 1), id="nothing happened"),
        pytest.param(PeriodRecord(1, PeriodOutcome.REFUSED, "no", (), 1, PROPOSAL), id="a refusal"),
    ],
)
def test_other_decisions_are_not_shown(demo: DemoRun, record: PeriodRecord) -> None:
    report_decision(demo, record, DISPLAY)
    assert demo.messages == []


def test_the_script_ends_after_the_rescale_when_all_rows_are_there(demo: DemoRun, fake: Fake) -> None:
    pass_to(demo, SCALE_AT + 0.01, rows=19)
    assert not play(demo, fake), "a row is missing"
    assert fake.plan.nodes == 1
    pass_to(demo, 0.9)
    assert play(demo, fake)
    assert fake.plan.nodes == 1, "it is scaled once"


def test_loads_after_the_move_are_shown_late_in_the_burst(demo: DemoRun, fake: Fake) -> None:
    pass_to(demo, LOOK_AT + 0.01)
    play(demo, fake)
    assert not any("after the move" in message for message in demo.messages), "nothing has moved"
    demo.moved = True
    play(demo, fake)
    assert demo.messages[-1].startswith("node loads, measured in the burst after the move: ")


def test_moves_when_a_node_is_removed(fake: Fake) -> None:
    assert scale(cast(Handle, fake)) == "plan 4: 1 nodes instead of 2; the units of node 1 move: counts."


def test_percents() -> None:
    assert percents((0.5, 0.123)) == "50.0% 12.3%"
