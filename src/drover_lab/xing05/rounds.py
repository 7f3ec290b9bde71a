"""Fig. 5, 6 and 7 [Xing05]: rounds of a pairwise algorithm, every second, in a closed loop."""

from __future__ import annotations

from functools import partial
from typing import Final

import polars as pl

from drover.sim.outcome import SimulationResult
from drover.sim.run import simulate
from drover_lab.lines import line
from drover_lab.summary import mean, numbers_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged
from drover_lab.xing05.chains import (
    COLUMNS,
    DEFAULTS,
    FIRST,
    MEASURED,
    SETTING,
    SMALL,
    bursts,
    case_of,
    cluster,
    columns,
    control,
    measured_from,
    raised,
    start,
    warm_up,
)
from drover_lab.xing05.comparison import below, describe_means
from drover_lab.xing05.offline import GLOBAL

LOADS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
ONE_WAY: Final = ("cor-bal", "rand-bal", "llf-bal")
IMPROVED: Final = ("cor-re-imp", "cor-se-imp")
OURS: Final = ("thrifty", "steady")
BEFORE: Final = 0.5  # load when plans of Fig. 5 are made
MUCH: Final = 2.0  # times: much smaller
ALIKE: Final = 0.2  # of the mean: loads moved that are almost the same
ONCE: Final = frozenset({*GLOBAL, "steady"})  # plans that are made once; the others work every second


def run_raised(row: Row) -> Row:
    """Make a plan at load 0.5, raise the load, and let LLF-BAL balance from then on."""
    begin = measured_from(row)
    seconds = begin + MEASURED
    outcome = simulate(
        case_of(row).model,
        raised(row, BEFORE, begin, seconds),
        cluster(row),
        start(row, "random"),
        control(row, first=str(row["policy"]), policy="llf-bal", begin=begin),
        seconds=seconds,
        warmup=begin,
        seed=int(row["seed"]),
    )
    return columns(row, outcome, begin)


def recover(row: Row, seconds: float = MEASURED) -> SimulationResult:
    """Start with whole chains on nodes. After the warm-up, use a plan made once or a round every second."""
    policy = str(row["policy"])
    loop = control(row, first=policy if policy in ONCE else None, policy=None if policy in ONCE else policy)
    return simulate(
        case_of(row).model,
        bursts(row),
        cluster(row),
        start(row, "whole"),
        loop,
        seconds=warm_up(row) + seconds,
        warmup=warm_up(row),
        seed=int(row["seed"]),
    )


def run_rounds(row: Row) -> Row:
    """Measure a recovery from its first second on."""
    return columns(row, recover(row), warm_up(row))


def moved_alike(rows: pl.DataFrame) -> Finding:
    """Find whether the one-way algorithms move about the same load."""
    lines = [line(rows, policy, "moved", "load") for policy in ONE_WAY]
    if len(numbers_of(rows, "load")) < 2:
        return unjudged("one load says little")
    spread = [(max(at) - min(at)) / (sum(at) / len(at)) for at in zip(*lines, strict=True)]
    return Finding(
        f"{describe_means(rows, ONE_WAY, 'moved')}; they differ by {max(spread):.0%} at most", max(spread) <= ALIKE
    )


def robust(y: str, rows: pl.DataFrame) -> Finding:
    """Find whether COR-GLB's plan has less of y than the others after the load was raised."""
    found = {policy: mean(rows, y, policy=policy) for policy in (*GLOBAL, "steady")}
    words = ", ".join(f"{policy} {value:.3g}" for policy, value in found.items())
    holds = all(found[policy] > found["correlation"] for policy in GLOBAL[1:])
    return Finding(f"{y.replace('_', ' ')}: {words}", holds)


FIGURE_5: Final = f"""
A plan is made at load 0.5, from ten samples taken under a random plan. Ten seconds later the load rises to 0.8, and
LLF-BAL balances every second. We measure the next 100 s. Other loads are ours. Lines are named after the policy that
made the plan. `correlation` is COR-GLB, `balanced-random` is RAND-GLB, and `largest-first` is LLF-GLB. `steady` is
drover's own: COR-GLB followed by local search.

{SETTING.strip()}
"""
FIGURE_6: Final = f"""
Every chain starts as a whole on one node, which the text calls connected. Queues grow during the warm-up. After it, a
policy works every second, or makes a plan once (`correlation`, which is COR-GLB, and `steady`). We measure the next
100 s, recovery included. `thrifty` is drover's own. It makes the moves that gain most per load moved, and moves at
most a tenth of the load every second.

{SETTING.strip()}
"""


def recoveries(base: Row, policies: tuple[str, ...], loads: tuple[float, ...], seeds: int) -> tuple[ParameterGrid, ...]:
    """Return these policies at these loads."""
    return (ParameterGrid({"load": loads, "policy": policies}, base, seeds, FIRST),)


def panels(*names: str) -> tuple[Panel, ...]:
    """Return a panel for each of some columns."""
    return tuple(Panel(x="load", y=name, line="policy", log="y" if name != "correlation" else "") for name in names)


ALL: Final = (*ONE_WAY, *IMPROVED, "correlation", *OURS)

EXPERIMENTS: Final = (
    Experiment(
        name="B-fig5",
        title="After the load was raised: latency and load moved, by who made the plan",
        about=FIGURE_5,
        grids=(ParameterGrid({"load": (0.7, 0.8, 0.9), "policy": (*GLOBAL, "steady")}, DEFAULTS, 5, FIRST),),
        quick=(ParameterGrid({"load": (0.8,), "policy": (*GLOBAL, "steady")}, SMALL, 1, FIRST),),
        measure=run_raised,
        columns=COLUMNS,
        claims=(
            Claim(
                "latency",
                "After the load has risen, COR-GLB's plan has the smallest latency ratio.",
                lambda rows: robust("latency_ratio", rows.filter(pl.col("load") == 0.8)),
            ),
            Claim(
                "moved",
                "The least load is moved where COR-GLB made the plan.",
                lambda rows: robust("moved", rows.filter(pl.col("load") == 0.8)),
                "All loads rise by the same factor. A balanced plan stays balanced, so nobody moves much. LLF-GLB's "
                "plans are the best balanced. Those of COR-GLB are off by a few percent, and now and then a pair "
                "exceeds epsilon.",
            ),
        ),
        panels=panels("latency_ratio", "moved"),
    ),
    Experiment(
        name="B-fig6",
        title="One-way pairwise algorithms from connected plans",
        about=FIGURE_6,
        grids=recoveries(DEFAULTS, ALL, LOADS, 5),
        quick=recoveries(SMALL, ("cor-bal", "rand-bal", "llf-bal", "correlation"), (0.9,), 1),
        measure=run_rounds,
        columns=COLUMNS,
        claims=(
            Claim(
                "cor-bal-best",
                "COR-BAL has the best latency ratio of the three at every load.",
                partial(below, first=ONE_WAY[:1], others=ONE_WAY[1:]),
                "At first, a node has one whole chain. Its operators correlate fully, so every choice among them "
                "scores the same. Once loads are balanced, nothing more is moved. The three are alike within 2 %.",
            ),
            Claim(
                "moved-alike",
                f"The load they move is almost the same (we take almost as within {ALIKE:.0%}).",
                moved_alike,
            ),
            Claim(
                "global-better",
                f"All of them are much worse than COR-GLB (we take much as {MUCH:g} times, from load 0.8 on).",
                partial(below, first=("correlation",), others=ONE_WAY, factor=MUCH, least=0.8),
            ),
        ),
        panels=panels("latency_ratio", "moved", "deviation"),
    ),
    Experiment(
        name="B-fig7",
        title="Improved two-way pairwise algorithms from connected plans",
        about=FIGURE_6,
        grids=recoveries(DEFAULTS, ALL, LOADS, 5),
        quick=recoveries(SMALL, ("cor-bal", *IMPROVED, "correlation"), (0.9,), 1),
        measure=run_rounds,
        columns=COLUMNS,
        claims=(
            Claim(
                "two-way-better",
                f"COR-SE-IMP and COR-RE-IMP have much smaller latency ratios than COR-BAL (we take much as {MUCH:g} "
                "times, from load 0.7 on).",
                partial(below, first=IMPROVED, others=("cor-bal",), factor=MUCH, least=0.7),
            ),
            Claim(
                "thrifty-below",
                "Not in the text: `thrifty` has a smaller latency ratio than both from load 0.7 on.",
                partial(below, first=("thrifty",), others=IMPROVED, least=0.7),
                "At every decision it may move a tenth of all load, and it does. It follows the noise of ten samples, "
                "and suspends what it moves. Its budget is meant for a decision now and then, not for one every "
                "second.",
            ),
        ),
        panels=panels("latency_ratio", "moved", "correlation"),
    ),
)
