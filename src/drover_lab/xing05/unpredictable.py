"""Fig. 10 [Xing05]: streams that switch on and off after random times."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np
from numpy.random import default_rng

from drover.sim.run import simulate
from drover.sim.workload import OnOff, Opposite, Shifted, Source, Workload
from drover_lab.table import Claim, Experiment, Panel, ParameterGrid, Row
from drover_lab.xing05.chains import (
    COLUMNS,
    DEFAULTS,
    FIRST,
    MEASURED,
    SETTING,
    SMALL,
    case_of,
    cluster,
    columns,
    control,
    measured_from,
    start,
)
from drover_lab.xing05.comparison import below

COMBINED: Final[Mapping[str, tuple[str, str | None]]] = {  # plan made once, and who works every second from then on
    "cor-glb-bal": ("correlation", "cor-bal"),
    "cor-glb-se-imp": ("correlation", "cor-se-imp"),
    "cor-glb-re-imp": ("correlation", "cor-re-imp"),
    "rand-glb-bal": ("balanced-random", "rand-bal"),
    "llf-glb-bal": ("largest-first", "llf-bal"),
    "steady-thrifty": ("steady", "thrifty"),
    "searched": ("searched", None),
}
CORRELATED: Final = ("cor-glb-bal", "cor-glb-se-imp")
OTHERS: Final = ("rand-glb-bal", "llf-glb-bal")
LOADS: Final = (0.4, 0.6, 0.8)
LONGEST: Final = 10.0  # seconds by which a stream is shifted at most


def on_and_off(row: Row) -> Workload:
    """Return workload 2: half of the streams are independent, a quarter opposites, a quarter delayed copies."""
    case = case_of(row)
    rng = default_rng((int(row["seed"]), 2))
    d = len(case.means)
    free = d - d // 2
    base = np.arange(d) % free  # (d,) whom a stream follows
    load = float(case.problem.coefficients.sum(axis=0) @ case.means[base])  # busy seconds per second
    rates = case.means[base] * float(row["load"]) * int(row["nodes"]) / load
    streams: list[Source] = [OnOff(float(rate), spacing="constant") for rate in rates[:free]]
    for k in range(free, d):
        shift = Shifted(int(base[k]), float(rng.uniform(0, LONGEST)))
        streams.append(Opposite(int(base[k])) if k % 2 else shift)
    return tuple(streams)


def measure(row: Row) -> Row:
    """Make a plan after the warm-up; from then on, let a pairwise algorithm work."""
    first, policy = COMBINED[str(row["policy"])]
    begin = measured_from(row)
    outcome = simulate(
        case_of(row).model,
        on_and_off(row),
        cluster(row),
        start(row, "random"),
        control(row, first=first, policy=policy),
        seconds=begin + MEASURED,
        warmup=begin,
        seed=int(row["seed"]),
    )
    return columns(row, outcome, begin)


ABOUT: Final = f"""
Streams are on and off for exponential times of 5 s each on average. While a stream is on, its tuples come at equal
intervals. Half of the streams are drawn independently. A quarter are the opposite of one of them, and a quarter are
copies of one of them, delayed by up to 10 s. The text leaves these fractions and delays open. A global plan is made
after the warm-up, and its pairwise algorithm works every second. Measuring starts 10 s later. `steady-thrifty`
combines drover's own two in the same roles. `searched` is drover's plan for the largest feasible set. It is made once
and looks at no rates. We added loads below 0.5, since bursts reach twice the load.

{SETTING.strip()}
"""

EXPERIMENTS: Final = (
    Experiment(
        name="B-fig10",
        title="Latency ratio under on-off streams",
        about=ABOUT,
        grids=(ParameterGrid({"load": LOADS, "policy": tuple(COMBINED)}, DEFAULTS, 5, FIRST),),
        quick=(ParameterGrid({"load": (0.5,), "policy": tuple(COMBINED)}, SMALL, 1, FIRST),),
        measure=measure,
        columns=COLUMNS,
        claims=(
            Claim(
                "effective",
                "The correlation-based algorithms have smaller latency ratios than the others at every load.",
                partial(below, first=CORRELATED, others=OTHERS),
                "They do from load 0.6 on. At 0.4, hardly anything waits, and LLF is a few percent better.",
            ),
            Claim(
                "two-way-effective",
                "The same for COR-GLB-RE-IMP.",
                partial(below, first=("cor-glb-re-imp",), others=OTHERS),
                "Within ten seconds of such streams, correlations are mostly chance. The algorithm follows them and "
                "deals out whole nodes again and again. It moves several times the load of the system, and every move "
                "suspends an operator.",
            ),
            Claim(
                "ours-below",
                "Not in the text: drover's pair has a smaller latency ratio than all of them from load 0.5 on.",
                partial(below, first=("steady-thrifty",), others=(*CORRELATED, "cor-glb-re-imp", *OTHERS), least=0.5),
            ),
            Claim(
                "searched-below",
                "Not in the text: a plan for the largest feasible set, never changed, is below LLF and RAND, too.",
                partial(below, first=("searched",), others=OTHERS),
                "Up to 0.6 it is the best of all. It looks at no rates, so its nodes are not balanced at the mean "
                "rates. At 0.8, this overloads a node permanently in some runs, and the standard error is large.",
            ),
        ),
        panels=tuple(Panel(x="load", y=y, line="policy", log="y") for y in ("latency_ratio", "moved")),
    ),
)
