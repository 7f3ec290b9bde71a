"""The cost of a batch of submitted queries for a node, stage by stage: `python benchmarks/families.py --help`.

It runs in this process, without Spark. It finds shapes and writes members; then batches pass the router and one node.
Each query selects one source and a threshold of its own, and asks for count and mean per window.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
from pyarrow.fs import LocalFileSystem

from drover.flow.families.assignment import make_family_assignment, with_families
from drover.flow.families.members import make_members, write_members
from drover.flow.frames import FrameKind
from drover.flow.router import route
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.flow.worker import Assignment, WorkerCache, pack_network, run_worker
from drover.network.durations import UNITS
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Named
from drover.network.parts import Source
from drover.network.queries import Query, Shape, Shaped, Shapes
from drover.network.schema import Column
from drover.network.types import DOUBLE, STRING, TIMESTAMP
from drover.placement.plan import Plan

START = 1_700_000_000 * UNITS["s"]
SECOND = UNITS["s"]


class Stages:
    """CPU seconds by stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - started

    def forget(self) -> None:
        """Discard everything except the setup: measurements so far were the warm-up."""
        for stage in [stage for stage in self.seconds if not stage.startswith("setup")]:
            del self.seconds[stage]


def network() -> Network:
    """Return one stream of readings."""
    columns = (Column("time", TIMESTAMP), Column("source", STRING), Column("value", DOUBLE), Column("other", DOUBLE))
    return Network("readings", (Source("readings", columns, "time", SECOND),), (), ("readings",))


def query(number: int, options: argparse.Namespace, rng: np.random.Generator) -> Query:
    """Return a query; each shape has a window length of its own."""
    size = (10 + 2 * (number % options.shapes)) * SECOND
    where = f"source = 's{number % options.sources}' AND value > {rng.integers(0, 1000) / 10:.1f}"
    compute = (Named("n", "count(*)"), Named("mean", "stddev(value)" if options.deviation else "avg(value)"))
    keep = Filter(name="above", input="readings", where=where)
    step = options.advance * SECOND or size
    window = Aggregate(name="seen", input="above", size=size, advance=step, compute=compute)
    return Query(f"q{number}", "bench", (keep, window), "seen")


def rows(batch: int, count: int, sources: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the rows of a second."""
    times = START + batch * SECOND + np.sort(rng.integers(0, SECOND, count))
    return pl.DataFrame(
        {
            "time": pl.Series(times).cast(pl.Datetime("us", "UTC")),
            "source": pl.Series(rng.integers(0, sources, count)).map_elements(lambda n: f"s{n}", pl.String),
            "value": rng.random(count) * 100,
            "other": rng.random(count),
        }
    )


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Run the batches and return the measurements."""
    rng = np.random.default_rng(options.seed)
    stages = Stages()
    root = tempfile.mkdtemp()
    net = network()
    fs = LocalFileSystem()
    given = [query(i, options, rng) for i in range(options.members)]
    finder = Shapes(net)
    with stages("setup: shapes"):
        shaped = [finder.shape_of(one) for one in given]
    with stages("setup: members"):
        families = by_family(shaped)
        rolls = {
            family: write_members(
                fs,
                root,
                shape,
                make_members(
                    shape, mine, [f"q{i}" for i in mine], [0] * len(mine), [shaped[i].constants for i in mine]
                ),
            )
            for family, (shape, mine) in families.items()
        }
    shapes = [shape for shape, _ in families.values()]
    memory = WorkerCache(time.process_time, lambda _: None)
    checkpoint = Checkpoint()
    progress = SourceProgress()
    results = 0
    per_batch = []
    schedule = with_families(make_schedule(net, Plan(1, 1, {})), shapes, rolls)
    for number in range(options.batches):
        frame = rows(number, options.rows, options.sources, rng)
        if number == options.warm:
            stages.forget()
        started = time.perf_counter()
        with stages("assignment"):
            herded = make_family_assignment(net, progress, shapes, rolls, measured=not options.no_tallies)
            saved = {unit: dict(parts) for unit, parts in checkpoint.version.units.items()}
            assignment = Assignment(
                number,
                pack_network(net, {}),
                schedule,
                operator_watermarks(net, progress),
                saved,
                root,
                families=herded,
            )
            assignment = pickle.loads(pickle.dumps(assignment))
        with stages("router"):
            frames = list(route(net, schedule, {"readings": frame}, 0, memory.interest(assignment)))
        with stages("node"):
            _, report = run_worker(assignment, HopNode(0, 0), [f for f in frames if f.hop == 0], "a", memory)
        with stages("commit"):
            checkpoint = commit(fs, root, checkpoint, Commit(number, report.segments, report.bounds))
        latest = [pickle.loads(f.payload) for f in frames if f.port.kind is FrameKind.EVENT_TIMES]
        progress = progress.after(net, latest[0])
        results += sum(tally.rows_out for tally in report.tallies)
        per_batch.append(round(time.perf_counter() - started, 3))
    counted = options.batches - options.warm
    each = {
        stage: round(seconds / (1 if stage.startswith("setup") else counted), 4)
        for stage, seconds in stages.seconds.items()
    }
    return {"results": results, "seconds": each, "batches": per_batch}


def by_family(shaped: list[Shaped]) -> dict[str, tuple[Shape, list[int]]]:
    """Return the numbers of the queries of each shape."""
    families: dict[str, tuple[Shape, list[int]]] = {}
    for number, one in enumerate(shaped):
        families.setdefault(one.shape.id, (one.shape, []))[1].append(number)
    return families


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--shapes", type=int, default=1)
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20_000, help="per batch")
    parser.add_argument("--advance", type=int, default=0, help="seconds; 0 for windows side by side")
    parser.add_argument("--batches", type=int, default=25)
    parser.add_argument("--warm", type=int, default=3, help="batches that do not count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-tallies", action="store_true")
    parser.add_argument(
        "--deviation", action="store_true", help="ask for what is computed row by row and member by member"
    )
    options = parser.parse_args()
    print(json.dumps({**vars(options), **measure(options)}))


if __name__ == "__main__":
    main()
