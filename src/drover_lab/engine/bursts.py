"""Fig. 1 [Xing05] on the real engine: two chains, bursts out of phase, two nodes; and a day of real rates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.control.settings import Control, Mode
from drover.load.profile import make_profile
from drover.placement.model import problem_of
from drover.placement.plan import Plan, by_hash, units_of
from drover.placement.policy import propose
from drover_lab.engine.rows import bursts, busy_day, day_rates
from drover_lab.generate import ChainParameters, chains, two_chains
from drover_lab.summary import listed, mean, numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged

if TYPE_CHECKING:
    from drover.network.model import Network
    from drover_lab.engine.rehearsal import Rehearsal

RATE: Final = 500.0  # tuples per second of each of two chains that fill both nodes
SHUFFLE: Final = "shuffle"
RESIDENT: Final = "resident"
PLACES: Final = {"connected": (0, 0, 1, 1), "cut": (0, 1, 1, 0), "auto": (0, 0, 1, 1)}
AUTO: Final = Control(mode=Mode.AUTO)
# streams of the day, operators of each
FUNCTIONS = 24
LENGTH = 2
DAY_RATE: Final = 400.0  # tuples per second in all
PLACEMENTS: Final = ("hash", "auto", "known")
CORES: Final = 2  # that nodes share in a rehearsal
LONG: Final = {"seconds": 60, "from": 28}  # of a rehearsal, and of what is measured of it
WANTED: Final = 0.3  # share of the critical path that is to be saved

COLUMNS: Final = {
    "latency_mean": "seconds from the due time of a row to the commit of its batch, mean",
    "latency_p95": "the same, 95th percentile over rows",
    "latency_max": "the same for the slowest row",
    "batch_p50": "seconds of a batch, median",
    "batch_p95": "seconds of a batch, 95th percentile",
    "batch_max": "seconds of the slowest batch",
    "critical": "busy seconds of the busiest node, per second",
    "busy": "busy seconds of all nodes, per second",
    "moves": "units that the control loop has moved",
    "behind": "1 if the run fell behind and was stopped",
}


def measured(found: Rehearsal, since: float) -> Row:
    """Return the measurements of a rehearsal from a given second on."""
    rest = found.since(since)
    # A run that fell behind may have no batches left after the warm-up; then its measurements are unknown, not 0.
    took = [each.seconds.whole for each in rest.batches] or [np.nan]
    late = rest.latency if len(rest.latency) else np.array([np.nan])
    seconds = float(rest.ended[-1] - rest.ended[0]) if len(rest.ended) > 1 else np.nan
    return {
        "latency_mean": float(late.mean()),
        "latency_p95": float(np.quantile(late, 0.95)),
        "latency_max": float(late.max()),
        "batch_p50": float(np.median(took)),
        "batch_p95": float(np.quantile(took, 0.95)),
        "batch_max": float(np.max(took)),
        "critical": float(rest.slowest[1:].sum() / seconds),
        "busy": float(sum(sum(each.busy) for each in rest.batches[1:]) / seconds),
        "moves": found.moves,
        "behind": int(found.behind),
    }


def run_two(row: Row) -> Row:
    """Run two chains on two nodes under bursts out of phase."""
    from drover_lab.engine.rehearsal import RehearsalSetup, rehearse  # noqa: PLC0415 - Spark takes a second to import

    network = two_chains(default_rng(0))
    plan = Plan(1, 2, dict(zip(units_of(network), PLACES[str(row["plan"])], strict=True)))
    rows = bursts(network, RATE * float(row["load"]), float(row["seconds"]), int(row["seed"]))
    control = AUTO if row["plan"] == "auto" else None
    found = rehearse(network, rows, plan, RehearsalSetup(control=control, engine=str(row["engine"])))
    return measured(found, float(row["from"]))


def day_network() -> Network:
    """Return chains of synthetic operators, one for each function of the day."""
    return chains(default_rng(0), ChainParameters(chains=FUNCTIONS, length=LENGTH, selectivity=(1.0, 1.0)))


def known_plan(network: Network, nodes: int, seconds: float) -> Plan:
    """Return the plan that the search finds if it knows all rates of the day, second by second of the run."""
    rates = day_rates(len(network.sources), DAY_RATE)
    part = rates.reshape(len(rates), int(seconds), -1).mean(axis=2)
    series = {source.name: part[k].tolist() for k, source in enumerate(network.sources)}
    problem = problem_of(make_profile(network), np.ones(nodes), series=series)
    return problem.plan(propose(problem, "steady", default_rng(0)))


def run_day(row: Row) -> Row:
    """Run a day of real rates through 48 operators."""
    from drover_lab.engine.rehearsal import RehearsalSetup, rehearse  # noqa: PLC0415 - as above

    network = day_network()
    nodes = int(row["nodes"])
    rows = busy_day(network, DAY_RATE, float(row["seconds"]), int(row["seed"]))
    auto = replace(AUTO, capacity=(min(1.0, CORES / nodes),) * nodes)
    control = auto if row["placement"] == "auto" else None
    known = row["placement"] == "known"
    plan = known_plan(network, nodes, float(row["seconds"])) if known else by_hash(network, nodes)
    found = rehearse(network, rows, plan, RehearsalSetup(control=control))
    return measured(found, float(row["from"]))


def cut_below(engine: str, rows: pl.DataFrame) -> Finding:
    """Find whether the cut plan is below the connected one at every load, on one engine."""
    rows = select(rows, engine=engine)
    if not len(rows):
        return unjudged(f"the engine {engine} was not run")
    loads = numbers_of(rows, "load")
    connected, cut = (
        [mean(rows, "latency_mean", plan=plan, load=load) for load in loads] for plan in ("connected", "cut")
    )
    words = f"mean latency at load {listed(loads)}: connected {listed(connected)} s; cut {listed(cut)} s"
    return Finding(words, all(one > other for one, other in zip(connected, cut, strict=True)))


def auto_finds(rows: pl.DataFrame) -> Finding:
    """Find whether the loop gets at least half way from the connected plan to the cut plan's critical path."""
    rows = select(rows, engine=RESIDENT)
    if not len(rows):
        return unjudged(f"the engine {RESIDENT} was not run")
    loads = numbers_of(rows, "load")
    found = {plan: [mean(rows, "critical", plan=plan, load=load) for load in loads] for plan in PLACES}
    moves = [mean(rows, "moves", plan="auto", load=load) for load in loads]
    words = (
        f"busy seconds of the busier node per second at load {listed(loads)}: "
        + "; ".join(f"{plan} {listed(values)}" for plan, values in found.items())
        + f"; {listed(moves)} units moved"
    )
    half = [(one + other) / 2 for one, other in zip(found["connected"], found["cut"], strict=True)]
    return Finding(words, all(auto <= least for auto, least in zip(found["auto"], half, strict=True)))


def saved(column: str, least: float, nodes: int, rows: pl.DataFrame) -> Finding:
    """Find what fraction of a column the loop saves compared with hash placement."""
    part = select(rows, nodes=nodes)
    if not len(part):
        return unjudged(f"{nodes} nodes were not run")
    before, after, known = (mean(part, column, placement=placement) for placement in ("hash", "auto", "known"))
    moves = mean(part, "moves", placement="auto")
    less = 1 - after / before
    words = (
        f"{nodes} nodes: {column} {before:.3g} by hash, {after:.3g} by auto: {less:.0%} less, {moves:.0f} moves; "
        f"{known:.3g} by the plan that knows the day: {1 - known / before:.0%} less"
    )
    return Finding(words, less >= least)


ABOUT_TWO: Final = """
Two chains of two synthetic operators on two nodes, on Spark with two cores. Nodes are resident, except where the
engine is *shuffle*. Bursts last 5 s. The high rate is twice the low one, and one stream is high while the other is
low. Arrivals are Poisson, and every operator spends 1 ms of processor time on a tuple. *connected* has each chain on a
node of its own. *cut* has one operator of each chain on each node; between resident nodes, the rows of a batch then
pass through a chain in pieces. *auto* begins with the connected plan and lets the
control loop decide, with default settings. Spark's own work shares the two cores, so loads are lower than in the
simulator. Latency is the time from when a row is due to the commit of its batch.
"""
ABOUT_DAY: Final = f"""
The load is a day of calls of the {FUNCTIONS} busiest functions of a cloud (Azure Functions, 2019). It passes in two
minutes through {FUNCTIONS * LENGTH} synthetic operators. Each stream has the rate of one function. There are
{DAY_RATE:g} tuples per second on average, with 1 ms of processor time each.

*hash* places by a hash of the operator's name, as Spark does with keys. *auto* begins with the same plan and lets the
control loop decide. *known* is the best plan that the search finds if it knows the whole day in advance. This is
about as much as a fixed plan can save. There are two cores. With more nodes, several share a core, and only processor
time says how long a node takes. The loop knows this (`capacity`: a quarter of a busy second per second for each of
eight nodes). All other settings have their defaults.
"""
WHY_DAY: Final = (
    "The plan that knows the day shows how much there is to save. Among 48 operators, none of them very heavy, a hash "
    "is nearly even, and more so with fewer nodes. Also, the loop learns while the day passes."
)

EXPERIMENTS: Final = (
    Experiment(
        name="B-fig1-spark",
        title="Connected and cut plan of two chains, on Spark",
        about=ABOUT_TWO,
        grids=(
            ParameterGrid({"load": (0.5, 0.7), "plan": tuple(PLACES)}, {"engine": RESIDENT, **LONG}),
            ParameterGrid({"load": (0.5,), "plan": ("connected", "cut")}, {"engine": SHUFFLE, **LONG}),
        ),
        quick=(ParameterGrid({"load": (0.1,), "plan": tuple(PLACES)}, {"engine": RESIDENT, "seconds": 5, "from": 1}),),
        measure=run_two,
        columns=COLUMNS,
        claims=(
            Claim(
                "cut-below",
                "The cut plan has a much smaller latency than the connected one.",
                partial(cut_below, RESIDENT),
                "At load 0.7, operators and Spark together fill both cores, and no plan can help.",
            ),
            Claim(
                "cut-below-shuffled",
                "Not in the text: the same where every hop is a shuffle of Spark.",
                partial(cut_below, SHUFFLE),
                "The cut plan needs two hops instead of one, and there each is another stage of Spark.",
            ),
            Claim(
                "auto-finds-it",
                "Not in the text: the loop starts with the connected plan and gets at least half way to the cut "
                "plan's critical path.",
                auto_finds,
            ),
        ),
        panels=tuple(
            Panel(x="load", y=y, line="plan", title=y, label=y, where={"engine": RESIDENT})
            for y in ("latency_mean", "critical")
        ),
        timed=frozenset(COLUMNS),
        engine=True,
    ),
    Experiment(
        name="B-day-spark",
        title="A day of real rates, by hash and by the control loop, on Spark",
        about=ABOUT_DAY,
        grids=(ParameterGrid({"nodes": (2, 8), "placement": PLACEMENTS}, {"seconds": 120, "from": 30}),),
        quick=(ParameterGrid({"nodes": (2,), "placement": PLACEMENTS}, {"seconds": 6, "from": 1}),),
        measure=run_day,
        columns=COLUMNS,
        claims=tuple(
            Claim(
                f"{column}-{nodes}-nodes",
                f"Not in the text: the loop saves at least {least:.0%} of {what}.",
                partial(saved, column, least, nodes),
                WHY_DAY if column == "critical" else "",
            )
            for nodes in (8, 2)
            for column, what, least in (
                ("critical", "the time of the slowest node", WANTED),
                ("latency_p95", "the 95th percentile of latency", 0.0),
            )
        ),
        panels=tuple(Panel(x="nodes", y=y, line="placement", title=y, label=y) for y in ("critical", "latency_p95")),
        timed=frozenset(COLUMNS),
        engine=True,
    ),
)
