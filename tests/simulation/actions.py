"""What people and the world do with a simulated run: rows arrive, units move, queries come and go, functions break.

Rule 1: an action may end the run, and then says nothing more. What it had promised before still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from drover.control.executors import ExecutorStatus
from drover.control.weights import weights_for
from drover.errors import DroverError
from drover.flow.instances import with_weights
from drover.network.grid import Grid
from drover.placement.plan import Plan
from tests.flow.holding import FUNCTIONS, break_functions
from tests.simulation.faults import FaultKind, RunDiedError
from tests.simulation.history import spread_joins_of

if TYPE_CHECKING:
    from tests.simulation.run import Live, SimulatedRun

Action = Callable[["SimulatedRun", "Live"], None]
SHAPES = ("auto", 2, 3, Grid(1, 2), Grid(2, 2))
MOST_NODES = 4


def arrive(run: SimulatedRun, _live: Live) -> None:
    """Let files arrive."""
    for name, files in run.history.files.items():
        have = len(run.arrived[name])
        run.arrived[name] += files[have : have + int(run.rng.integers(1, 4))]


def batch(run: SimulatedRun, live: Live) -> None:
    """Run a micro-batch, if there are rows."""
    if live.query.plan():
        assert live.query.planned is not None
        run.given[live.query.batch] = live.query.planned
        run.starts.plan(("rows", live.query.batch))
        rows: Any = live.query.rows()  # Any: a DataFrame
        live.driver.process(rows, live.query.batch)
        live.query.finish()
        live.controller.process_waiting()


def close_windows(run: SimulatedRun, live: Live) -> None:
    """Run a batch without rows, if it would close windows."""
    run.starts.plan(("closing", live.driver.checkpoint.batch + 1))
    session: Any = live.query.session  # Any: a SparkSession
    live.driver.close_windows(session)
    live.controller.process_waiting()


def stop(run: SimulatedRun, live: Live) -> None:
    """Stop the run between two batches."""
    run.live = None
    live.controller.close()
    live.driver.close()


def kill(_run: SimulatedRun, _live: Live) -> None:
    """Kill the process between two storage calls."""
    raise RunDiedError("killed between two batches")


def cut_power(run: SimulatedRun, _live: Live) -> None:
    """Cut the power between two storage calls."""
    run.faults.dead = FaultKind.POWER
    raise RunDiedError("the power is cut between two batches")


def stop_before_power_cut(run: SimulatedRun, live: Live) -> None:
    """Stop the run, and cut the power right afterwards."""
    stop(run, live)
    cut_power(run, live)


def lose_slots(run: SimulatedRun, _live: Live) -> None:
    """Let Spark lose executors, release them, or start new ones."""
    status = ExecutorStatus.RELEASED if run.rng.random() < 0.2 else ExecutorStatus.LOST
    run.executors.resize(int(run.rng.integers(1, MOST_NODES + 1)), status)


def approve(_run: SimulatedRun, live: Live) -> None:
    """Carry out what the control loop proposes, if it proposes anything."""
    found = live.controller.proposal().proposal
    if found is not None:
        live.controller.approve(found.id)


def weigh(run: SimulatedRun, live: Live) -> None:
    """Change the weights of every join on several instances, if there are any; some parts may get nothing."""
    several = {name: one for name, one in live.driver.planner.plan.instances.items() if one.epochs[-1].grid.cells > 1}

    def change(plan: Plan) -> Plan:
        for name, spread in several.items():
            cells = spread.epochs[-1].grid.cells
            shares = run.rng.random(cells) * (run.rng.random(cells) < 0.8)
            plan = with_weights(plan, name, weights_for(shares, spread.epochs[-1]))
        return plan

    if several:
        live.driver.planner.replan(change)


def move(run: SimulatedRun, live: Live) -> None:
    """Change weights, and move a unit."""
    weigh(run, live)
    places = sorted(live.driver.planner.plan.places)
    unit = places[int(run.rng.integers(len(places)))]
    live.controller.move(unit, int(run.rng.integers(live.driver.planner.plan.nodes)))


def scale(run: SimulatedRun, live: Live) -> None:
    """Change the number of nodes."""
    nodes = int(run.rng.integers(1, MOST_NODES + 1))
    live.driver.planner.replan(lambda plan: plan.scale(nodes))


def spread(run: SimulatedRun, live: Live) -> None:
    """Spread a join in another way."""
    joins = spread_joins_of(run.history.network)
    if joins:
        shape: Any = SHAPES[int(run.rng.integers(len(SHAPES)))]  # Any: a SpreadLike
        live.controller.spread(joins[int(run.rng.integers(len(joins)))], shape)


def drain(run: SimulatedRun, live: Live) -> None:
    """Empty a node, or use it again."""
    node = int(run.rng.integers(live.driver.planner.plan.nodes))
    live.controller.drain(node, empty=bool(run.rng.random() < 0.6))


def submit(run: SimulatedRun, live: Live) -> None:
    """Submit a query."""
    query = run.queries.draw(run.history.network, run.rng)
    receipt = live.service.submit([query.entry])
    assert receipt.accepted == (query.name,), receipt.refused
    query.accepted = True


def drop(run: SimulatedRun, live: Live) -> None:
    """Drop a query."""
    running = run.queries.running()
    if running:
        query = running[int(run.rng.integers(len(running)))]
        query.gone = None
        assert live.service.drop([query.name]) == (query.name,)
        query.gone = True


def move_query(run: SimulatedRun, live: Live) -> None:
    """Move a query."""
    running = run.queries.running()
    if running:
        name = running[int(run.rng.integers(len(running)))].name
        live.service.move(name, int(run.rng.integers(live.driver.planner.plan.nodes)))


def break_some(run: SimulatedRun, _live: Live) -> None:
    """Let some functions fail from now on, and mend the others."""
    break_functions([one.__name__ for one in FUNCTIONS if run.history.brittle and run.rng.random() < 0.5])


def resume(run: SimulatedRun, live: Live) -> None:
    """Resume an operator, mended or not."""
    parked = sorted(live.driver.planner.parked)
    if parked:
        live.controller.resume(parked[int(run.rng.integers(len(parked)))])


def flip(run: SimulatedRun, live: Live) -> None:
    """Stop the run, and flip a bit in one of its files."""
    stop(run, live)
    run.damage.flip(run.rng)


def flip_after_death(run: SimulatedRun, live: Live) -> None:
    """Kill the run, and flip a bit in one of its files."""
    run.damage.flip(run.rng)
    kill(run, live)


ACTIONS: Mapping[Action, float] = {  # how often each is chosen, relative to the others
    arrive: 3,
    batch: 8,
    close_windows: 1,
    stop: 0.5,
    kill: 0.5,
    cut_power: 0.3,
    stop_before_power_cut: 0.2,
    lose_slots: 0.2,
    approve: 0.2,
    move: 1,
    scale: 0.5,
    spread: 0.5,
    drain: 0.3,
    submit: 1,
    drop: 0.4,
    move_query: 0.3,
    break_some: 1,
    resume: 0.7,
    flip: 0.3,
    flip_after_death: 0.3,
}
REQUESTS = frozenset(
    {approve, move, scale, spread, drain, submit, drop, move_query, resume}
)  # the run survives a refusal


def finish(run: SimulatedRun, live: Live) -> None:
    """Let everything come to its end: nothing is broken any more."""
    break_functions(())
    for name, files in run.history.files.items():
        run.arrived[name] += files[len(run.arrived[name]) :]
    while live.query.plan():
        batch(run, live)
    for _ in range(3):  # an operator may be parked by the batch that an earlier run has begun
        for operator in sorted(live.driver.planner.parked):
            live.controller.resume(operator)
        while live.driver._should_run_without_rows():
            close_windows(run, live)
    if live.driver.parked:
        raise DroverError(f"operators are still parked: {live.driver.parked}")
    stop(run, live)
    run.finished = True
