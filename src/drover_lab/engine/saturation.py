"""How far the rates of a run can grow on the real engine, against what the model of its batches predicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.control.settings import Control, Mode
from drover.load.arrays import Floats
from drover.load.profile import Origin, make_profile
from drover.load.statistics import Statistics
from drover.placement.model import problem_of
from drover.placement.plan import Plan, by_hash
from drover.placement.policy import propose
from drover_lab.engine.rows import arrivals, rows_of
from drover_lab.engine.saturation_networks import RATE, SHAPES, network_of
from drover_lab.summary import column, listed
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value, unjudged

if TYPE_CHECKING:
    from drover.control.batch_headroom import BatchHeadroom
    from drover.network.model import Network
    from drover.spark.handle import Handle
    from drover_lab.engine.rehearsal import Rehearsal

PLANS: Final = ("hash", "auto", "searched")
FIRST: Final = 0.6  # of the predicted factor: the lowest step of a staircase
LAST: Final = 2.0
REACH: Final = (0.2, 20.0)  # factors around which a staircase is sought, whatever is predicted
GROWTH: Final = 1.08  # from step to step
SETTLE: Final = 2.0  # triggers after which batches show the rates of a step
STRESS: Final = 2.0  # times the usual rates, in the second half of what the control loop learns from
GIVES_UP: Final = 5.0  # triggers of rows, and at least so many seconds, by which a staircase may be late
SPARE_SLOTS: Final = 2  # that nodes do not take
CASES: Final = 20  # fewest cases that decide a claim

COLUMNS: Final = {
    "predicted": "times the usual rates at which a batch takes as long as its trigger, predicted at the usual rates",
    "low": "least factor of the interval that the prediction gives",
    "high": "largest factor of the interval",
    "sustained": "factor that was sustained: between the last step that was, and the next one",
    "relative_error": "difference of prediction and sustained factor, over the sustained one",
    "usual_seconds": "seconds of a batch at the usual rates, median",
    "moves": "units that the control loop has moved before the measurement",
    "ended": "1 if even the last step was sustained, so that the factor is larger than said",
    "gives_out": "what gives out first, by the prediction",
}


@dataclass(frozen=True, slots=True)
class SaturationCase:
    """A network, a plan, and how it is measured."""

    network: Network
    plan: Plan
    trigger: float
    seed: int

    def rows(self, factors: Floats, seconds: float) -> pl.DataFrame:
        """Return Poisson arrivals at these multiples, (steps,), of the usual rates, each for so many seconds."""
        rng = default_rng((self.seed, len(factors)))
        return rows_of(
            self.network,
            {source.name: arrivals(RATE * factors, seconds, rng) for source in self.network.sources},
        )


def staircase(lowest: float, highest: float) -> Floats:
    """Return rising factors, (steps,)."""
    steps = math.ceil(math.log(highest / lowest, GROWTH)) + 1
    return np.geomspace(lowest, lowest * GROWTH ** (steps - 1), steps)


def sustained_steps(found: Rehearsal, seconds: float, trigger: float, steps: int) -> list[bool]:
    """Return for every step whether it was sustained.

    Half of its batches, or more, took no longer than the trigger, and rows were not later at its end than at its begin.
    """
    kept = []
    lag = found.ended - found.newest
    took = np.array([each.seconds.whole for each in found.batches])
    for step in range(steps):
        begin = step * seconds + SETTLE * trigger
        inside = (found.newest > begin) & (found.newest <= (step + 1) * seconds)
        enough = int(inside.sum()) >= 2
        in_time = enough and float(np.median(took[inside])) <= trigger
        kept.append(in_time and float(lag[inside][-1] - lag[inside][0]) < trigger)
    return kept


def highest(factors: Floats, kept: list[bool]) -> float:
    """Return the factor between the last step that was sustained and the next one; 0 if none was.

    A failure before that step says nothing: the machine was busy with something else, and the run recovered at a higher
    rate.
    """
    if not any(kept):
        return 0.0
    last = max(step for step, sustained in enumerate(kept) if sustained)
    return float(math.sqrt(factors[last] * factors[min(last + 1, len(factors) - 1)]))


def run_case(row: Row) -> Row:
    """Measure one network and plan: usual rates first, then a staircase around the predicted factor."""
    nodes = int(row["nodes"])
    network = network_of(str(row["network"]), int(row["seed"]), nodes)
    case = SaturationCase(network, by_hash(network, nodes), float(row["trigger"]), int(row["seed"]))
    moves = 0
    if row["plan"] == "searched":
        case = replace(case, plan=searched(network, nodes))
    elif row["plan"] == "auto":
        plan, moves = learned(case, float(row["learn"]))
        case = replace(case, plan=plan)
    usual, room = predict(case, float(row["usual"]))
    if room is None:
        return {**dict.fromkeys(COLUMNS, math.nan), "moves": moves, "ended": 0, "gives_out": "no prediction"}
    step = float(row["step"])
    factor, ended = climb(case, room.all.factor, step)
    return {
        "predicted": room.all.factor,
        "low": room.all.low,
        "high": room.all.high,
        "sustained": factor,
        "relative_error": abs(room.all.factor - factor) / factor if factor else math.inf,
        "usual_seconds": float(np.median([each.seconds.whole for each in usual.batches])),
        "moves": moves,
        "ended": int(ended),
        "gives_out": room.all.first,
    }


def searched(network: Network, nodes: int) -> Plan:
    """Return the plan with the largest feasible set that the search finds from declared costs."""
    rates = Statistics({source.name: RATE for source in network.sources})
    problem = problem_of(make_profile(network, [(Origin.GIVEN, rates)]), np.ones(nodes))
    return problem.plan(propose(problem, "searched", default_rng(0)))


def learned(case: SaturationCase, seconds: float) -> tuple[Plan, int]:
    """Return the plan that the control loop has found after usual and then higher rates, and how many units moved."""
    plans = []
    found = _run(
        case, np.array([1.0, STRESS]), seconds, mode=Mode.AUTO, ending=lambda handle: plans.append(handle.plan)
    )
    return plans[-1], found.moves


def predict(case: SaturationCase, seconds: float) -> tuple[Rehearsal, BatchHeadroom | None]:
    """Run at the usual rates; return the run, and how far its rates can grow by the model of its batches."""
    rooms: list[BatchHeadroom | None] = []
    found = _run(case, np.ones(1), seconds, ending=lambda handle: rooms.append(handle.control.headroom()))
    return found, rooms[-1]


def climb(case: SaturationCase, predicted: float, seconds: float) -> tuple[float, bool]:
    """Return the factor that is sustained, and whether the staircase ended before one was not."""
    middle = min(max(predicted, REACH[0]), REACH[1])
    lowest = FIRST * middle
    top = LAST * middle
    while True:
        factors = staircase(lowest, top)
        # The lowest step comes twice: the first time, workers warm up.
        found = _run(case, np.array([lowest, *factors]), seconds, most_lag=GIVES_UP * max(case.trigger, 1.0))
        kept = sustained_steps(found, seconds, case.trigger, 1 + len(factors))[1:]
        factor = highest(factors, kept)
        if factor or lowest < FIRST * REACH[0]:
            return factor, kept[-1] and top > middle
        # Even the first step was too much: look below it.
        lowest, top = lowest / 3, lowest


def _run(
    case: SaturationCase,
    factors: Floats,
    seconds: float,
    mode: Mode = Mode.OBSERVE,
    ending: Callable[[Handle], None] | None = None,
    most_lag: float = math.inf,
) -> Rehearsal:
    from drover_lab.engine.rehearsal import RehearsalSetup, rehearse  # noqa: PLC0415 - Spark takes a second to import

    setup = RehearsalSetup(
        control=Control(mode=mode),
        engine="resident",
        trigger=case.trigger,
        slots=case.plan.nodes + SPARE_SLOTS,
        most_lag=most_lag,
        ending=ending,
    )
    return rehearse(case.network, case.rows(factors, seconds), case.plan, setup)


def errors_within(share: float, most: float, rows: pl.DataFrame) -> Finding:
    """Find whether a share of the predictions is at most this far from what was sustained."""
    if len(rows) < CASES:
        return unjudged(f"{len(rows)} cases were run, but {CASES} are needed")
    errors = np.nan_to_num(column(rows, "relative_error"), nan=math.inf, posinf=math.inf)
    found = float(np.quantile(errors, share, method="higher"))
    return Finding(f"{share:.0%} of {len(rows)} cases are within {found:.1%}", found <= most)


def inside(rows: pl.DataFrame, least: float) -> Finding:
    """Find whether the intervals of predictions contain the sustained factor often enough."""
    if len(rows) < CASES:
        return unjudged(f"{len(rows)} cases were run, but {CASES} are needed")
    held = (column(rows, "low") <= column(rows, "sustained")) & (column(rows, "sustained") <= column(rows, "high"))
    return Finding(f"{int(held.sum())} of {len(rows)} intervals contain the factor", bool(held.mean() >= least))


def auto_gains(rows: pl.DataFrame, mean: float, least: float) -> Finding:
    """Find how much more than hash placement the plans of the control loop sustain."""
    keys = ["network", "seed"]
    hashed, auto = (rows.filter(pl.col("plan") == plan).select(*keys, "sustained") for plan in ("hash", "auto"))
    both = hashed.join(auto, on=keys, suffix="_auto").filter(pl.col("sustained") > 0)
    if len(both) < CASES // len(PLANS):
        return unjudged(f"{len(both)} networks were run with both plans")
    gains = column(both, "sustained_auto") / column(both, "sustained")
    words = f"auto sustains {gains.mean():.2f} times the rate of hash on average: {listed(gains.tolist())}"
    return Finding(words, bool(gains.mean() >= mean and gains.min() >= least))


ABOUT: Final = f"""
drover predicts how far rates can grow until a batch takes as long as its trigger (`drover headroom --from`). Is
that true? Each case is a network of synthetic operators and a plan, on ten resident nodes that share two cores.
Most operators wait without a core, as calls to a model server do; those of about two nodes burn processor time.
Networks differ in shape: chains, chains of uneven cost, many operators on few streams, trees, joins, window
aggregates, and a mixture. Arrivals are Poisson.

*hash* places by a hash of the operator's name. *searched* is the plan with the largest feasible set by declared
costs. *auto* starts with the hash and lets the control loop decide, at the usual rates and then at {STRESS:g} times
these; the plan at the end of that run is measured like the others.

A case has two runs with a fixed plan. The first has the usual rates, and gives the prediction with its interval. In
the second, rates rise in steps of {GROWTH - 1:.0%}, from {FIRST:g} to {LAST:g} times the prediction. So one run
replaces the many that a bisection would need. A step is sustained if the median of its batches takes no longer than
the trigger, and if rows are not later at its end than at its begin by a trigger or more. The first {SETTLE:g}
triggers of a step do not count. The factor of a case is between the last step that is sustained and the next one.
If no step is, a second staircase looks below the first.
"""

BASE: Final[Mapping[str, Value]] = {"nodes": 10, "trigger": 1.0, "learn": 30.0, "usual": 30.0, "step": 8.0}
QUICK: Final[Mapping[str, Value]] = {"nodes": 2, "trigger": 0.5, "learn": 4.0, "usual": 6.0, "step": 2.0}

EXPERIMENTS: Final = (
    Experiment(
        name="E-saturation-spark",
        title="Headroom, predicted and sustained",
        about=ABOUT,
        grids=(ParameterGrid({"network": tuple(SHAPES), "plan": PLANS}, BASE),),
        quick=(ParameterGrid({"network": ("chains",), "plan": ("hash",)}, QUICK),),
        measure=run_case,
        columns=COLUMNS,
        claims=(
            Claim(
                "median-error",
                "Not in the text: the median error of predicted headroom is at most 10%.",
                partial(errors_within, 0.5, 0.1),
            ),
            Claim(
                "large-errors",
                "Not in the text: nine predictions of ten are wrong by at most 25%.",
                partial(errors_within, 0.9, 0.25),
            ),
            Claim(
                "interval",
                "Not in the text: the interval of a prediction contains the sustained rate in nine cases of ten.",
                partial(inside, least=0.9),
            ),
            Claim(
                "auto-gains",
                "Not in the text: the control loop sustains at least 1.3 times the rate of hash placement on average, "
                "and never less than 0.97 times.",
                partial(auto_gains, mean=1.3, least=0.97),
            ),
        ),
        panels=(
            Panel(
                x="predicted",
                y="sustained",
                line="plan",
                kind="points",
                title="Times the usual rates",
                label="sustained",
                bound="predicted",
            ),
        ),
        timed=frozenset(COLUMNS),
        engine=True,
    ),
)
