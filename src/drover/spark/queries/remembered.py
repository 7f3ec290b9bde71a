"""What a run remembers of the queries that an earlier run on its checkpoint measured, to place queries well at once.

Rule 1: this only decides where queries run, so without it, or with old figures, all results are the same.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from drover.errors import StateError
from drover.flow.query_log.figures import FIGURES, read_figures
from drover.flow.state.storage import open_root
from drover.load.arrays import Floats, Ints
from drover.spark.queries.families import Topic, rates_of

LEAST_WEIGHT = 1e-3  # of a query, relative to the mean; if it were 0, any number of queries would fit on one node
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class RememberedFigures:
    """The last measurements of an earlier run; empty if there are none."""

    queries: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FIGURES))
    rates: dict[Topic, float] = field(default_factory=dict)  # bytes per second

    def weights(self, numbers: Ints, families: pl.DataFrame) -> Floats:
        """Return the cost of queries by family, relative to the mean, (n,); `families` has `number` and `family`."""
        busy = self.queries.select("number", "busy").join(families, on="number")
        mean = float(busy["busy"].sum()) / max(busy.height, 1)
        if mean <= 0:
            return np.ones(len(numbers))
        by_family = busy.group_by("family").agg((pl.col("busy").mean() / mean).clip(LEAST_WEIGHT).alias("weight"))
        asked = pl.DataFrame({"number": numbers}, schema={"number": pl.Int64()})
        found = asked.join(families, on="number", how="left", maintain_order="left")
        found = found.join(by_family, on="family", how="left", maintain_order="left")
        return found["weight"].fill_null(1.0).to_numpy()


def remembered(root: str) -> RememberedFigures:
    """Read what the last run on a checkpoint measured; nothing, with a warning, if the file is damaged."""
    try:
        found = read_figures(*open_root(root))
    except StateError as error:
        log.warning("queries are measured anew, because their last measurements are damaged: %s", error)
        return RememberedFigures()
    return RememberedFigures() if found is None else RememberedFigures(found.queries, rates_of(found.topics))
