"""An overload is acted upon at once, or the record says why nothing can be done."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import Mode
from drover.placement.plan import Plan
from tests.control.overloads import LoadedRun, any_overload, loaded
from tests.control.runs import AUTO, RatesAt, shifted

EXAMPLES = int(os.environ.get("DROVER_OVERLOAD_EXAMPLES", "60"))
ACTED = (PeriodOutcome.MOVED, PeriodOutcome.PROPOSED)


def is_overloaded(record: PeriodRecord) -> bool:
    return record.health.startswith(("falling behind", "overloaded"))


# What stands in the way. That drover is warming up, or that a policy moves nothing, is no reason.
NAMED = re.compile(
    r"no plan of these \d+ nodes carries this load|alone needs|needs .* what a core gives|whatever its rows are"
    r"|no plan changes that|no plan makes it much shorter|no plan is much better|the only open node"
    r"|nothing moves in mode observe|nothing has to move|can go where it leaves both nodes less full"
    r"|streams that it cuts cost more|wins? back|by load alone, no unit|no few moves are known|no node has room"
    r"|at most \d+ units move|it would break a limit|bytes of state, above|rests for|less than 5%|another policy may"
)


def unexplained(records: list[PeriodRecord]) -> list[int]:
    """The periods at the end of three overloaded ones in a row without a move and without a named obstacle."""
    silent = [is_overloaded(one) and one.kind not in ACTED and not NAMED.search(one.obstacle) for one in records]
    return [one.period for at, one in enumerate(records) if at >= 2 and all(silent[at - 2 : at + 1])]


CASES = {
    "more than all cores": loaded(load=1.4),
    "one busy chain on one node": loaded(nodes=2, count=2, plan="whole", load=0.55),
    "fixed cost above the trigger": loaded(fixed=1.3, load=0.2),
    "reading fills the trigger": loaded(per_row=2e-4, load=0.2),
    "four nodes on one core": loaded(cores=1, load=0.45),
    "observed only": loaded(load=1.4, settings=replace(AUTO, mode=Mode.OBSERVE)),
    "proposals wait": loaded(load=0.8, plan="whole", count=2, settings=replace(AUTO, mode=Mode.PROPOSE)),
    "hash": loaded(nodes=3, plan="hash", cores=3, load=0.75),
    "no moves allowed": loaded(load=0.9, plan="hash", settings=replace(AUTO, most_moves=0)),
    "long cool-down": loaded(load=0.9, plan="hash", settings=replace(AUTO, cool_down=1000)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_no_overload_lasts_for_three_periods_without_a_move_or_a_reason(name: str) -> None:
    records = CASES[name].go(16, shifted(11, 0, 2.5))
    assert unexplained(records) == []
    assert all(record.health for record in records)


@settings(max_examples=EXAMPLES)
@given(drawn=any_overload())
def test_nor_does_any_overload(drawn: tuple[LoadedRun, RatesAt]) -> None:
    """Whatever the network, the plan, the rates, the mode, the engine and the settings are."""
    run, rates = drawn
    records = run.go(16, rates)
    assert [(one.period, one.health, one.obstacle) for one in records if one.period in unexplained(records)] == []


@pytest.mark.parametrize(
    ("run", "said"),
    [
        pytest.param(
            loaded(cores=8, load=1.05, count=12),
            r"no plan of these 4 nodes carries this load: add nodes; [67] would do",
            id="nodes",
        ),
        pytest.param(loaded(cores=2, load=0.6, count=8), "2 cores are too few;", id="cores"),
        pytest.param(
            loaded(fixed=1.3, load=0.1),
            "s whatever its rows are, more than the trigger of 1 s: set the trigger to [0-9.]+ s",
            id="fixed cost",
        ),
        pytest.param(loaded(per_row=2e-4, load=0.1, cost=1e-6), "reading and routing takes", id="reading"),
        pytest.param(
            loaded(load=1.05, count=12, settings=replace(AUTO, mode=Mode.OBSERVE), cores=8),
            "add nodes",
            id="even in mode observe",
        ),
        pytest.param(
            loaded(nodes=2, count=4, plan="whole", cores=2, load=0.5, settings=replace(AUTO, mode=Mode.OBSERVE)),
            "nothing moves in mode observe",
            id="observe",
        ),
    ],
)
def test_the_obstacle_is_named_with_a_way_out(run: LoadedRun, said: str) -> None:
    rising = shifted(0, 0, 3.0) if said.startswith("nothing moves") else shifted(0, 0, 1.0)
    last = run.go(8, rising)[-1]
    assert is_overloaded(last), last.health
    assert re.search(said, last.obstacle)


def test_a_unit_that_no_node_can_carry_is_named() -> None:
    run = loaded(nodes=4, cores=4, load=0.3, fixed=0.1, settings=replace(AUTO, mode=Mode.OBSERVE))
    run.run.reprice({"s0-3"}, 40.0)
    last = run.go(8)[-1]
    assert "unit s0-3 alone needs" in last.obstacle


def test_an_overloaded_run_does_not_wait_for_its_warm_up_or_a_trial() -> None:
    run = loaded(nodes=2, count=4, cores=2, load=0.65, fixed=0.1)
    network = run.run.deployment.network
    together = {one.name: 0 if one.name.startswith(("s0", "s1", "s2")) else 1 for one in network.operators}
    run.run.deployment = replace(run.run.deployment, plan=Plan(1, 2, together))
    records = run.go(9)
    moved = [record for record in records if record.kind is PeriodOutcome.MOVED]
    assert [record.period for record in moved[:1]] == [2]
    promise = moved[0].proposal
    assert promise is not None
    assert promise.seconds_after < 1.0 < promise.seconds_before
    assert run.seconds[-1] == pytest.approx(promise.seconds_after, rel=0.1), "it came as promised"


def test_operators_of_one_path_are_not_said_to_run_side_by_side() -> None:
    run = loaded(nodes=2, count=2, plan="whole", cores=2, load=0.45, fixed=0.1, engine="shuffle")
    records = run.go(9, shifted(0, 0, 3.0))
    assert "the path from s0-0 to s0-9 needs" in records[-1].obstacle
    assert not any(record.kind is PeriodOutcome.MOVED for record in records), "a cut would only add hops"


def test_resident_nodes_work_side_by_side_on_one_path() -> None:
    run = loaded(nodes=2, count=2, plan="whole", cores=2, load=0.45, fixed=0.1)
    records = run.go(9, shifted(0, 0, 3.0))
    assert not any("the path from" in record.obstacle for record in records)


def test_a_run_that_keeps_up_says_so_and_has_no_obstacle() -> None:
    records = loaded(load=0.1).go(6)
    assert records[0].health.startswith("keeping up: batches take 0.")
    assert records[-1].health.startswith("keeping up: batches take 0.")
    assert not any(record.obstacle for record in records)
