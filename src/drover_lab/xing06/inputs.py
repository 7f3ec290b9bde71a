"""Fig. 6.5 [Xing06]: how much ROD gains as the number of input streams grows."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from drover.placement.score import hyperplanes
from drover_lab.summary import listed, mean, numbers_of, select, values_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged
from drover_lab.xing06.trees import OTHERS, ROD, WORDS, place, ratio, tree

INPUTS: Final = (2, 3, 4, 5, 6)
MAIN: Final = 20  # operators for each stream, in the figure that claims are judged on
RUNS: Final = 5


def measure(row: Row) -> Row:
    """Place a random graph by a policy, several times if it depends on chance, and compare the mean with ROD."""
    graph = int(row["seed"])
    policy = str(row["policy"])
    problem = tree(graph, streams=int(row["streams"]), size=int(row["per_stream"]))
    runs = RUNS if policy in OTHERS else 1
    found = np.mean([ratio(hyperplanes(problem, place(problem, policy, (graph, run)))) for run in range(runs)])
    rod = ratio(hyperplanes(problem, place(problem, ROD, (graph,))))
    return {"ratio": float(found), "to_rod": float(found) / rod}


def shares(rows: pl.DataFrame, policy: str, per_stream: int = MAIN) -> list[float]:
    """Return the mean over ROD for rising numbers of streams."""
    part = select(rows, policy=policy, per_stream=per_stream)
    return [mean(part, "to_rod", streams=int(d)) for d in numbers_of(rows, "streams")]


def falls(rows: pl.DataFrame) -> Finding:
    """Find whether every other policy falls behind ROD with every further stream."""
    described = []
    holds = True
    for per_stream in values_of(rows, "per_stream"):
        lines = {policy: shares(rows, policy, int(per_stream)) for policy in OTHERS}
        if per_stream == MAIN:
            holds = all(line[-1] < line[0] for line in lines.values())
        described.append(
            f"{per_stream} per stream: " + "; ".join(f"{name} {listed(line)}" for name, line in lines.items())
        )
    return Finding(". ".join(described), holds)


def tail_is_straight(rows: pl.DataFrame) -> Finding:
    """Find whether the logarithm of the ratio falls on a line from three streams on."""
    inputs = np.array(numbers_of(rows, "streams"))
    if len(inputs) < len(INPUTS):
        return unjudged(f"{len(inputs)} numbers of streams make no tail")
    described = []
    holds = True
    for policy in OTHERS:
        tail = np.log(shares(rows, policy)[1:])
        fit = np.polyfit(inputs[1:], tail, 1)
        off = float(np.abs(np.exp(tail - np.polyval(fit, inputs[1:])) - 1).max())
        holds &= off <= 0.1 and fit[0] < 0
        described.append(f"{policy} {1 - np.exp(fit[0]):.1%} per stream, off by {off:.1%} at most")
    return Finding("; ".join(described), bool(holds))


def two_are_above(rows: pl.DataFrame) -> Finding:
    """Find whether the ratio with two streams is above the line through the tail."""
    inputs = np.array(numbers_of(rows, "streams"))
    if len(inputs) < len(INPUTS):
        return unjudged(f"{len(inputs)} numbers of streams make no tail")
    described = []
    above = 0
    for policy in OTHERS:
        line = shares(rows, policy)
        expected = float(np.exp(np.polyval(np.polyfit(inputs[1:], np.log(line[1:]), 1), inputs[0])))
        above += line[0] > expected
        described.append(f"{policy} {line[0]:.3g}, the tail says {expected:.3g}")
    return Finding("; ".join(described), above == len(OTHERS))


EXPERIMENTS: Final = (
    Experiment(
        name="R-fig6.5",
        title="Feasible set size over ROD's, by number of input streams",
        about=f"""
As Fig. 6.3, with 2 to 6 input streams. The text does not say how many operators there are. It says that two streams
leave few for each node, which suggests a fixed number for each stream. We use 20, and also 10 and 40 to show how much
that matters. There are ten graphs. Policies that depend on chance or rates run five times on each. {WORDS}
""",
        grids=(
            ParameterGrid({"per_stream": (10, MAIN, 40), "streams": INPUTS, "policy": OTHERS}, {}, 10, 100),
            ParameterGrid({"streams": INPUTS, "policy": ("searched",)}, {"per_stream": MAIN}, 5, 100),
        ),
        quick=(ParameterGrid({"per_stream": (MAIN,), "streams": (2, 4), "policy": OTHERS}, {}, 3, 100),),
        measure=measure,
        columns={
            "ratio": "size of the feasible set, divided by that of the ideal one; mean of the runs",
            "to_rod": "the same, divided by that of ROD on the same graph",
        },
        claims=(
            Claim("falls", "With every further input, ROD gets better relative to the others.", falls),
            Claim(
                "constant-gain",
                "Each further input gives ROD a constant percentage, so the tails are straight.",
                tail_is_straight,
                "It does, within the tenth that we ask for, for all but `connected`, which is off by slightly more.",
            ),
            Claim(
                "two-inputs",
                "With two inputs the others are closer to ROD than the tail suggests.",
                two_are_above,
                "With 20 operators for each stream, two streams still leave four operators for each node. The text's "
                "reason, that there is little choice, needs fewer.",
            ),
        ),
        panels=tuple(
            Panel(
                x="streams",
                y="to_rod",
                line="policy",
                log="y",
                title=f"{size} operators per stream",
                where={"per_stream": size},
                label="feasible over ROD's",
            )
            for size in (MAIN, 10, 40)
        ),
    ),
)
