"""Joins that grow, shrink and turn with their load, and do not go back and forth when it stays."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng

import drover
from drover.cli.proposals import lines
from drover.control import state as states
from drover.control.context import ControlContext, Deployment
from drover.control.diffuse import FULL, RECEIVE, SPARE, JoinLoad, shape_for
from drover.control.explain import explain
from drover.control.loop import approve, step
from drover.control.proposals import apply_proposal, current_proposal, is_applied
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, record_of, to_json
from drover.control.settings import Control, Mode
from drover.control.state import ControlState
from drover.control.view import view_of
from drover.diffusion.choose import JoinCosts
from drover.diffusion.cost import Demand, received
from drover.errors import DroverError
from drover.flow.instances import explicit, request_spread, retire_epochs
from drover.load.sample import Sample, own_name
from drover.network.grid import WHOLE, Grid, Spread
from drover.placement.plan import round_robin

HOURS = 30  # decisions, each on a window of its own
PERIODS = 10  # in a window


def load_in(grid: Grid, demand: Demand, costs: JoinCosts) -> float:
    """Busy seconds per second of all instances together."""
    return demand.operations * costs.pair + received(grid, demand) * costs.receive


def course(
    grid: Grid, demand: Demand, costs: JoinCosts, free: list[float], noise: float, rng: Generator, hours: int = HOURS
) -> list[Grid]:
    """The shapes of a join under a steady load, window by window."""
    found = [grid]
    for _ in range(hours):
        drawn = load_in(grid, demand, costs) * np.maximum(rng.normal(1, noise, PERIODS), 0.05)
        left, right = (rate * rng.normal(1, noise / PERIODS**0.5) for rate in (demand.left_rate, demand.right_rate))
        seen = replace(demand, left_rate=max(left, 0.0), right_rate=max(right, 0.0))
        burden = JoinLoad(seen, float(drawn.mean()), float(drawn.std()) / PERIODS**0.5)
        grid = shape_for("auto", grid, burden, free, 30.0, 4.0)
        found.append(grid)
    return found


def never_returns(shapes: list[Grid]) -> bool:
    """Whether no shape that was left is taken again; when a load close to a limit passes it is up to chance."""
    runs = [shape for shape, _ in groupby(shapes)]
    return len(runs) == len(set(runs))


@st.composite
def joins(draw: st.DrawFn) -> tuple[Demand, JoinCosts, list[float]]:
    """What a join is given, what it costs, and nodes that are more or less free."""
    rates = st.floats(10, 1e5)
    demand = Demand(draw(rates), draw(rates), draw(st.floats(0.1, 20)), draw(st.floats(0.1, 20)))
    free = draw(st.lists(st.floats(0.2, 1.0), min_size=1, max_size=8))
    whole = draw(st.floats(0.02, 8)) * max(free)  # busy seconds per second of pairs
    receive = RECEIVE * draw(st.floats(0.3, 3))
    return demand, JoinCosts(receive, whole / demand.operations), free


@given(joins(), st.floats(0, 0.2), st.integers(0, 2**32))
@settings(max_examples=200)
def test_a_steady_noisy_load_settles(join: tuple[Demand, JoinCosts, list[float]], noise: float, seed: int) -> None:
    shapes = course(WHOLE, *join, noise, default_rng(seed))
    cells = [grid.cells for grid in shapes]
    assert cells == sorted(cells), "it never shrinks again"
    assert never_returns(shapes), "it does not turn back and forth either"


@given(joins(), st.floats(0, 0.2), st.integers(0, 2**32))
@settings(max_examples=200)
def test_what_was_spread_too_far_settles_too(
    join: tuple[Demand, JoinCosts, list[float]], noise: float, seed: int
) -> None:
    start = Grid(len(join[2]), 1)
    shapes = course(start, *join, noise, default_rng(seed))
    cells = [grid.cells for grid in shapes]
    assert cells == sorted(cells, reverse=True)
    assert never_returns(shapes)


@given(st.floats(1.5, 20), st.integers(2, 8), st.integers(0, 2**32))
def test_a_join_grows_under_more_than_a_node_has_and_shrinks_when_it_has_gone(over: float, n: int, seed: int) -> None:
    demand = Demand(1e4, 8e3, 5, 5)
    rng = default_rng(seed)
    free = [1.0] * n
    heavy = JoinCosts(RECEIVE, over * FULL / demand.operations)
    grown = course(WHOLE, demand, heavy, free, 0.05, rng)
    assert grown[1].cells > 1
    need = over * FULL / (n * FULL)  # of what all nodes may be filled with
    assert grown[-1].cells == n if need > 1 else grown[-1].cells >= over * 0.8
    light = JoinCosts(RECEIVE / 10, 0.5 * SPARE / demand.operations)
    assert course(grown[-1], demand, light, free, 0.05, rng)[-1] == WHOLE


@pytest.mark.parametrize(
    ("spread", "present", "rates", "load", "shape"),
    [
        pytest.param("auto", WHOLE, (100, 100), 0.5, WHOLE, id="a node has room for it"),
        pytest.param("auto", WHOLE, (100, 100), 0.7, Grid(2, 1), id="more than a node may be filled with"),
        pytest.param("auto", WHOLE, (10, 100), 0.7, Grid(1, 2), id="the faster side is split"),
        pytest.param("auto", WHOLE, (100, 100), 2.2, Grid(2, 2), id="as many as carry it"),
        pytest.param("auto", Grid(2, 2), (100, 100), 1.0, Grid(2, 2), id="nothing between the limits"),
        pytest.param("auto", Grid(2, 2), (100, 100), 0.4, Grid(2, 1), id="two have room twice over"),
        pytest.param("auto", Grid(2, 2), (100, 100), 0.2, WHOLE, id="one has"),
        pytest.param("auto", Grid(4, 1), (10, 100), 2.2, Grid(1, 4), id="it turns"),
        pytest.param("auto", Grid(2, 1), (95, 100), 0.9, Grid(2, 1), id="but not for a little"),
        pytest.param(4, Grid(2, 2), (100, 1), 0.01, Grid(4, 1), id="a number stays"),
        pytest.param(Grid(2, 2), Grid(2, 2), (100, 1), 5.0, Grid(2, 2), id="a grid stays"),
    ],
)
def test_shape_for(spread: Spread, present: Grid, rates: tuple[float, float], load: float, shape: Grid) -> None:
    burden = JoinLoad(Demand(*rates, 1.0, 1.0), load)
    assert shape_for(spread, present, burden, [1.0] * 4, 30.0) == shape


def test_nodes_that_are_full_are_no_reason_to_grow() -> None:
    burden = JoinLoad(Demand(100, 100, 1, 1), 0.9)
    assert shape_for("auto", WHOLE, burden, [1.0, 0.0, 0.0], 30.0) == WHOLE
    assert shape_for("auto", WHOLE, burden, [1.0, 0.05, 0.0], 30.0) == WHOLE, "a tenth more is not worth copies"


AUTO = Control(mode="auto", window=4, warm_up=4, cool_down=6)  # type: ignore[arg-type]  # a word is taken, too


def deployment_of(nodes: int = 3) -> Deployment:
    net = drover.Builder("n")
    columns = {"ts": "timestamp", "k": "bigint"}
    a, b = (net.source(name, columns, time="ts") for name in "ab")
    select = {"k": "left.k"}
    a.filter("some", "k > 0").join("j", b, within="2 s", on="k", select=select, spread="auto").output()
    network = net.build()
    return Deployment(network, explicit(round_robin(network, nodes), network))


@dataclass(slots=True)
class Joined:
    """A network with one join under control: `load` is what its pairs cost, in busy seconds per second."""

    deployment: Deployment = field(default_factory=deployment_of)
    settings: Control = AUTO
    load: float = 0.1
    rates: tuple[float, float] = (100.0, 100.0)
    state: ControlState = field(default_factory=ControlState)
    records: list[PeriodRecord] = field(default_factory=list)
    rng: Generator = field(default_factory=lambda: default_rng(1))

    @property
    def context(self) -> ControlContext:
        return ControlContext(self.state, self.deployment, self.settings)

    @property
    def grid(self) -> Grid:
        return self.deployment.plan.instances["j"].epochs[-1].grid

    def go(self, periods: int) -> list[PeriodRecord]:
        for _ in range(periods):
            self._measure()
            self.state, record = step(self.context)
            self.records.append(record)
            if record.kind is PeriodOutcome.MOVED and record.proposal is not None:
                self.carry_out(record)
        return self.records[-periods:]

    def carry_out(self, record: PeriodRecord) -> None:
        assert record.proposal is not None
        plan = apply_proposal(self.deployment.plan, record.proposal, self.deployment.network)
        assert is_applied(plan, record.proposal)
        plan = retire_epochs(plan, self.deployment.network, {"j": None})  # windows are short
        self.deployment = replace(self.deployment, plan=plan)

    def _measure(self) -> None:
        left, right = (float(self.rng.poisson(rate)) for rate in self.rates)
        cells = 1 + len(self.deployment.plan.instances["j"].others)
        busy = self.load * self.rng.normal(1, 0.03, cells) / cells
        samples = [
            Sample("some", {"a": left}, {"some": left}, 0.01),
            Sample("j", {"some": left, "b": right}, {"j": 10.0}, float(busy.sum()), 1000 * cells),
        ]
        if cells > 1:
            samples += [Sample(own_name("j", k), {}, {}, float(busy[k]), 1000 + k) for k in range(cells)]
        window = self.state.window.push(self.state.period + 1, 1.0, {"a": left, "b": right}, samples)
        self.state = replace(self.state, window=window)
        self.state = states.state_of(json.loads(json.dumps(states.to_json(self.state))))


def shaped(records: list[PeriodRecord]) -> list[str]:
    return [str(shape) for record in records if record.proposal for shape in record.proposal.shapes]


def test_the_loop_spreads_a_heavy_join_and_takes_it_back() -> None:
    run = Joined()
    run.go(12)
    assert run.grid == WHOLE
    run.load = 1.6
    grown = run.go(12)
    assert run.grid.cells == 3
    done = next(record for record in grown if record.proposal and record.proposal.shapes)
    assert done.kind is PeriodOutcome.MOVED
    assert "more than 60% of the 1 that its nodes have for it: it is spread" in done.reason
    assert done.proposal is not None
    assert max(done.proposal.after) < max(done.proposal.before)
    assert record_of(json.loads(json.dumps(to_json(done)))) == done
    run.load = 0.05
    shrunk = run.go(24)
    assert run.grid == WHOLE
    assert len(shaped([*grown, *shrunk])) <= 4
    assert any("less than 30% of the" in record.reason for record in shrunk)
    described = explain("j", run.context, run.records)
    assert any("-> 1 x 1" in each for each in described.decisions)


def test_instances_are_units_of_the_problem() -> None:
    run = Joined(load=1.6)
    run.go(16)
    problem = view_of(run.context).problem
    assert problem.units == ("some", "j", "j[1]", "j[2]")
    assert problem.load[1:].sum() == pytest.approx(1.6, rel=0.1)
    assert problem.load[1:] == pytest.approx([1.6 / 3] * 3, rel=0.1)
    assert sorted(problem.current[1:].tolist()) == [0, 1, 2]
    assert problem.state[1:].tolist() == [1000.0, 1001.0, 1002.0]
    assert "j[2] is on node" in explain("j[2]", run.context, run.records).text


def test_a_resting_join_keeps_its_shape() -> None:
    run = Joined(settings=replace(AUTO, cool_down=20), load=1.6)
    run.go(6)
    assert run.grid.cells == 3
    run.load = 0.01
    run.go(12)
    assert run.grid.cells == 3
    run.go(12)
    assert run.grid == WHOLE


def test_in_mode_observe_nothing_changes() -> None:
    run = Joined(settings=replace(AUTO, mode=Mode.OBSERVE), load=1.6)
    assert {record.kind for record in run.go(12)} == {PeriodOutcome.WATCHED}
    assert run.grid == WHOLE


def proposed(run: Joined, shown: Proposal) -> list[str]:
    """What `drover plan --from` says."""
    answer = {
        "network": "n",
        "running": True,
        "live": True,
        "mode": "propose",
        "period": 8,
        "proposal": asdict(shown),
        "waits": True,
        "approved": None,
        "kind": "proposed",
        "refusals": [],
        "node_of": run.deployment.plan.places,
    }
    return list(lines(json.loads(json.dumps(answer)), "here"))


def test_a_shape_can_be_proposed_applied_and_withdrawn() -> None:
    run = Joined(settings=replace(AUTO, mode=Mode.PROPOSE), load=1.6)
    run.go(8)
    shown = run.state.waiting
    assert shown is not None
    assert shaped(run.records[-1:]) == [f"j: 1 x 1 -> {shown.shapes[0].after}"]
    assert current_proposal(run.context).proposal == shown
    assert f"join j: spread {shown.shapes[0].after} instead of 1 x 1" in proposed(run, shown)
    assert run.grid == WHOLE
    state, record = approve(run.context, shown.id)
    assert record.proposal == shown
    asked = request_spread(run.deployment.plan, run.deployment.network, "j", 2)
    with pytest.raises(DroverError, match="join j was spread 1 x 1 then, and is spread 2 x 1 now"):
        approve(ControlContext(run.state, replace(run.deployment, plan=asked), run.settings), shown.id)
    withdrawn = Joined(run.deployment, run.settings, 0.01, state=run.state)
    withdrawn.go(6)
    assert withdrawn.state.waiting is None
    assert any("the load no longer calls for j: 1 x 1" in each.reason for each in withdrawn.records)
    run.state = state
    run.carry_out(record)
    assert run.grid == shown.shapes[0].after


def test_what_somebody_asked_for_stays() -> None:
    run = Joined(load=1.6)
    run.deployment = replace(
        run.deployment, plan=request_spread(run.deployment.plan, run.deployment.network, "j", (1, 2))
    )
    run.deployment = replace(
        run.deployment, plan=retire_epochs(run.deployment.plan, run.deployment.network, {"j": None})
    )
    run.go(12)
    assert run.grid == Grid(1, 2)
    run.deployment = replace(
        run.deployment, plan=request_spread(run.deployment.plan, run.deployment.network, "j", "auto")
    )
    run.go(2)
    assert run.grid.cells == 3
