"""A small experiment whose results anybody can work out. In a module of its own, because other processes import it."""

from __future__ import annotations

import os

from numpy.random import default_rng

from drover_lab.summary import mean
from drover_lab.table import Claim, Experiment, Finding, Measure, Panel, ParameterGrid, Row, unjudged

__all__ = ["TOY", "Measure", "measure", "whoami"]


def measure(row: Row) -> Row:
    """Multiply, and draw something by the row's seed."""
    drawn = default_rng(int(row["seed"])).random()
    return {"product": int(row["factor"]) * float(row["size"]), "drawn": float(drawn)}


def whoami(row: Row) -> Row:
    """Tell which process has this row."""
    return {"product": float(row["size"]), "drawn": float(os.getpid())}


TOY = Experiment(
    name="X-fig1",
    title="Products",
    about="Sizes are multiplied by factors.",
    grids=(
        ParameterGrid({"size": (1.0, 2.0, 4.0), "factor": (1, 3)}, {}, 5),
        ParameterGrid({"size": (8.0,)}, {"factor": 7}),
    ),
    quick=(ParameterGrid({"size": (1.0,), "factor": (1, 3)}, {}, 2),),
    measure=measure,
    columns={"product": "size times factor", "drawn": "something by chance"},
    claims=(
        Claim("larger", "Three times is more.", lambda rows: Finding("3 > 1", mean(rows, "product", factor=3) > 1)),
        Claim("smaller", "Three times is less.", lambda _rows: Finding("3 > 1", holds=False), "It is not."),
        Claim("unknown", "Nine times is more.", lambda _rows: unjudged("nine was not run")),
    ),
    panels=(
        Panel(x="size", y="product", line="factor", printed={"3": {1.0: 3.0}}, bound="size"),
        Panel(x="size", y="drawn", kind="points"),
        Panel(x="factor", y="product", line="size", log="y"),
    ),
)
