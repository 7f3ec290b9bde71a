"""What a join of two sources has to give, by all pairs in memory: an oracle that costs no Spark.

Rule 1: it knows nothing of windows kept, of keys hashed or of instances: every row meets every row, then conditions
hold. Which rows are too late is asked of `flow.watermarks`, which has its own tests against Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import polars as pl
from numpy.random import Generator

from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.network.expressions import parse_pair, to_polars
from drover.network.model import Network
from drover.network.operators import Join
from tests.flow.harness import Batch

SCHEMA = {"ts": pl.Datetime("us", "UTC"), "k": pl.Int32(), "x": pl.Int32(), "y": pl.Float64(), "n": pl.Int64()}
COLUMNS = {"ts": "timestamp", "k": "int", "x": "int", "y": "double", "n": "bigint"}
SELECT = {"a": "left.n", "b": "right.n"}  # `n` is unique on its side, so that a pair made twice is seen
START = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
STRANGE = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0)


def random_rows(count: int, first: int, begin: float, seconds: float, rng: Generator) -> pl.DataFrame:
    """Return rows of `seconds` from `begin` on: skewed keys, NULLs, strange floats, a few rows far behind."""
    times = begin + seconds * rng.random(count) - 6.0 * (rng.random(count) < 0.15) * rng.random(count)
    floats = [
        STRANGE[int(rng.integers(5))] if rng.random() < 0.1 else float(v) / 4 for v in rng.integers(-20, 20, count)
    ]
    rows = pl.DataFrame(
        {
            "ts": (START + (times * 1000).astype(int) * 1000).tolist(),
            "k": (rng.zipf(1.7, count) % 7).tolist(),
            "x": rng.integers(-12, 12, count).tolist(),
            "y": floats,
            "n": list(range(first, first + count)),
        },
        schema={**SCHEMA, "ts": pl.Int64()},
    )
    holes = {name: pl.Series(rng.random(count) < 0.05) for name in ("k", "x", "y")}
    return rows.with_columns(
        pl.col("ts").cast(SCHEMA["ts"]),
        *(pl.when(~hole).then(pl.col(name)).alias(name) for name, hole in holes.items()),
    )


def all_pairs(network: Network, join: Join, batches: Sequence[Batch]) -> pl.DataFrame:
    """Return the pairs (a, b) of a join of two sources, sorted."""
    progress = SourceProgress()
    kept: dict[str, list[pl.DataFrame]] = {"left": [], "right": []}
    for batch in batches:
        late = operator_watermarks(network, progress)[join.name].late
        for side, source in (("left", join.left), ("right", join.right)):
            if source in batch:
                micros = pl.col("ts").dt.epoch("us")
                kept[side].append(batch[source] if late is None else batch[source].filter(micros > late))
        latest = {
            name: int(rows["ts"].dt.epoch("us").max())  # type: ignore[arg-type] # an integer
            for name, rows in batch.items()
            if rows.height
        }
        progress = progress.after(network, latest)
    sides = [
        pl.concat([pl.DataFrame(schema=SCHEMA), *rows]).rename({name: f"{side}.{name}" for name in SCHEMA})
        for side, rows in kept.items()
    ]
    apart = pl.col("right.ts").dt.epoch("us") - pl.col("left.ts").dt.epoch("us")
    conditions = [apart.is_between(-join.right_window, join.left_window)]
    conditions += [pl.col(f"left.{pair.left}") == pl.col(f"right.{pair.right}") for pair in join.on]
    if join.where is not None:
        types = (network.streams[name].types for name in join.inputs)
        conditions.append(to_polars(parse_pair(join.where, *types)))
    pairs = sides[0].join(sides[1], how="cross").filter(conditions)
    return pairs.select(a="left.n", b="right.n").sort("a", "b")
