"""Fig. 2.5 to 2.7 [Xing06] on the real engine: how long a move takes, by operators and by size of state."""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from drover.network.build import Builder
from drover.placement.plan import Plan, units_of
from drover_lab.engine.rows import BEGIN
from drover_lab.summary import listed, mean, numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged

if TYPE_CHECKING:
    from drover.network.model import Network
    from drover.spark.facts import BatchFacts
    from drover.spark.handle import Handle

RATE: Final = 200  # rows per second after the first
WARM_UP: Final = 6  # batches before the first move
EVERY: Final = 3  # batches from one move to the next
FIT: Final = 0.8  # correlation from which on points lie on a line
CERTAIN: Final = 3.0  # standard errors from which on a difference is none of chance

COLUMNS: Final = {
    "batch": "seconds of the nodes in a batch without moves and loading, median",
    "moving": "seconds of the nodes in a batch with a move, median; with state, of the batches that loaded it",
    "extra": "the difference: the time of a move",
    "error": "standard error of that difference",
    "state_bytes": "bytes of state that move",
    "moves": "batches with a move",
    "loaded": "batches with a move in which the node's process had to load the state",
    "reloads": "batches without a move in which it had to, because Spark ran the node in another process",
}


def network_of(operators: int, groups: int) -> Network:
    """Return a network of operators on one stream: filters if there are no groups, else aggregates over an hour."""
    builder = Builder("migration")
    stream = builder.source("rows", {"ts": "timestamp", "value": "bigint"}, time="ts")
    for k in range(operators):
        if groups:
            stream.aggregate(f"a{k}", {"n": "count(*)", "mean": "avg(value)"}, size="1 hour", group_by="value").output()
        else:
            stream.filter(f"f{k}", f"value % 7 <> {k % 7}").output()
    return builder.build()


def rows_for(groups: int, seconds: float, seed: int) -> pl.DataFrame:
    """Return one row of every group at once, then some rows per second."""
    rng = np.random.default_rng(seed)
    count = int(seconds * RATE)
    times = np.concatenate([[0.0], np.full(groups, 0.5), np.sort(rng.uniform(1.0, seconds, count))])
    keys = np.concatenate([[0], np.arange(groups), rng.integers(0, max(groups, 1000), count)])
    stamps = ((BEGIN + times) * 1e6).astype(np.int64)
    return pl.DataFrame({"ts": stamps, "value": keys}).select(
        pl.col("ts").cast(pl.Datetime("us", "UTC")), "value", pl.lit("rows").alias("stream")
    )


def run_moves(row: Row) -> Row:
    """Move all operators back and forth between two nodes while rows arrive, and compare batches."""
    from drover_lab.engine.rehearsal import RehearsalSetup, rehearse  # noqa: PLC0415 - Spark takes a second to import

    network = network_of(int(row["operators"]), int(row["groups"]))
    units = units_of(network)

    def move(handle: Handle, facts: BatchFacts) -> None:
        batch = facts.batch
        if batch >= WARM_UP and (batch - WARM_UP) % EVERY == 0:
            for unit in units:
                handle.move(unit, 1 - handle.plan.node_of[unit])

    rows = rows_for(int(row["groups"]), float(row["seconds"]), int(row["seed"]))
    found = rehearse(network, rows, Plan(1, 2, dict.fromkeys(units, 0)), RehearsalSetup(during=move))
    measured = [each for each in found.batches if each.batch >= WARM_UP]
    plans = [each.plan for each in measured]
    changed = {each.batch for before, each in zip(plans, measured[1:], strict=False) if each.plan != before}
    moved = [each for each in measured if each.batch in changed]
    stayed = [each for each in measured if each.batch not in changed]
    # A unit may return to a process that still has its state. Such a move costs nothing, and says nothing.
    counted = [each for each in moved if each.loaded] if row["groups"] else moved
    # Spark may run a node in another process without a move. Loading state then would count against batches that stay.
    stays = [each.seconds.nodes for each in stayed if not each.loaded]
    moves = [each.seconds.nodes for each in counted]
    size = max((sum(one.sample.state_bytes for one in each.operators) for each in measured), default=0)
    batch, moving = (statistics.median(values) if values else float("nan") for values in (stays, moves))
    error = float(np.sqrt(sum(np.var(values) / len(values) for values in (stays, moves) if values)))
    return {
        "batch": batch,
        "moving": moving,
        "extra": moving - batch,
        "error": error,
        "state_bytes": size,
        "moves": len(moved),
        "loaded": sum(each.loaded > 0 for each in moved),
        "reloads": sum(each.loaded > 0 for each in stayed),
    }


def linear(x: str, where: Row, rows: pl.DataFrame) -> Finding:
    """Find whether the time of a move grows with x along a line."""
    part = select(rows, **where)
    points = numbers_of(part, x)
    times = [mean(part, "extra", **{x: point}) for point in points]
    if len(points) < 3:
        return unjudged("there are fewer than three points")
    last = mean(part, "error", **{x: points[-1]})
    rho = float(np.corrcoef(points, times)[0, 1])
    slope = float(np.polyfit(points, times, 1)[0])
    described = listed([1000 * each for each in times])
    words = (
        f"at {listed(points)}: {described} ms; {1000 * slope:.3g} ms each, correlation {rho:.2f}, "
        f"standard error of the last {1000 * last:.2g} ms"
    )
    return Finding(words, rho >= FIT and slope > 0 and times[-1] > CERTAIN * last)


ABOUT: Final = """
All operators of a stream move together, back and forth between two nodes, while rows arrive. A move is a changed plan
for the next batch. Its cost is the extra time of that batch on the nodes. Nothing is suspended: rows that arrive
meanwhile are in the next batch. The text packs, ships and unpacks operators, which takes 80 ms for each. In drover, a
worker already has the code of every operator. It only reads state, from files that the old node writes anyway. Spark
does not bind a node to a process. On one machine, a unit may return to the process that it left, and then nothing is
read. Where there is state, we do not count such moves.
"""
WHY: Final = (
    "Operators without state have nothing to move, and reading state takes little time compared with the "
    "variation of batches."
)

EXPERIMENTS: Final = tuple(
    Experiment(
        name=f"R-fig2.{number}-spark",
        title=title,
        about=ABOUT,
        grids=(ParameterGrid({x: values}, {**base, "seconds": 24}),),
        quick=(ParameterGrid({x: values[:1]}, {**base, "seconds": 4}),),
        measure=run_moves,
        columns=COLUMNS,
        claims=(Claim("linear", f"The time of a move grows linearly with {what}.", partial(linear, x, {}), WHY),),
        panels=(Panel(x=x, y="extra", title=title, label="seconds that a move takes"),),
        timed=frozenset(COLUMNS),
        engine=True,
    )
    for number, title, x, values, base, what in (
        (
            5,
            "Moving operators without state, on Spark",
            "operators",
            (1, 2, 4, 8, 16),
            {"groups": 0},
            "the operators moved",
        ),
        (
            6,
            "Moving an aggregate by its open windows, on Spark",
            "groups",
            (10_000, 100_000, 300_000, 1_000_000),
            {"operators": 1},
            "the size of the state",
        ),
        (
            7,
            "Moving aggregates of 10,000 windows each, on Spark",
            "operators",
            (1, 2, 4, 8, 16),
            {"groups": 10_000},
            "the number of operators",
        ),
    )
)
