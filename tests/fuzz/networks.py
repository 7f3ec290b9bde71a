"""Target: network files.

Rule 1: an accepted network is written and read again, and must be the same.
Rule 2: some accepted networks run on a few rows, because a file that passes the check must not kill a run.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl

from drover.errors import FileError
from drover.network.files.network_file import dumps, inspect, loads
from drover.network.model import Network
from drover.network.types import polars_type
from drover.placement.plan import round_robin
from tests.flow.harness import Batch, Harness
from tests.fuzz.corpus import corpus_with
from tests.fuzz.target import Feed, Target, demand, demand_faults
from tests.network.expressions.frames import random_value

RUN_ONE_IN: Final = 10  # accepted networks: to run one takes as long as to read ten
MOST_OPERATORS: Final = 100  # of a network that is run
ELSEWHERE: Final = ("user", "table_read", "table_write", "synthetic")  # kinds that need functions, tables or time
SMALL: Final = """\
drover: 1
name: small
sources:
  rows: {columns: {ts: timestamp, key: int, tag: string, amount: bigint, price: double}, time: ts, lateness: 1 s}
  others: {columns: {ts: timestamp, key: int, amount: bigint}, time: ts}
operators:
  some: {kind: filter, input: rows, where: key <> 3}
  sums: {kind: aggregate, input: some, size: 5 s, advance: 2 s, group_by: [key, tag], compute: {n: count(*)}}
  pairs: {kind: join, left: rows, right: others, within: [2 s, 1 s], on: key, select: {y: left.amount, x: right.amount}}
  parts: {kind: switch, input: others, cases: {big: amount > 10, odd: amount % 2 = 1}, rest: other}
  all: {kind: union, inputs: [parts.big, parts.odd]}
  made: {kind: map, input: all, select: {ts: ts, k: key + 1}}
outputs: [sums, pairs, parts.other, made]
"""


@contextmanager
def networks(_folder: Path) -> Iterator[Feed]:
    """Feed a text as a network file."""

    def feed(text: str) -> bool:
        network, faults = inspect(text)
        if network is None:
            demand_faults(faults)
            raise FileError(faults)
        demand(not faults, "it was accepted with faults")
        demand(loads(dumps(network)) == network, "written and read again, it is another network")
        repr(network)
        if zlib.crc32(text.encode(errors="surrogatepass")) % RUN_ONE_IN == 0:
            run_briefly(network)
        return True

    yield feed


def run_briefly(network: Network) -> None:
    """Run three batches of a few rows, and demand that no operator fails."""
    kinds = {operator.kind for operator in network.operators}
    if not kinds.isdisjoint(ELSEWHERE) or len(network.operators) > MOST_OPERATORS:
        return
    harness = Harness(network)
    for second in (1, 2, 100_000):
        harness.run(few_rows(network, second), round_robin(network, 2))
    demand(not harness.failures, f"it passes the check and fails on a row: {harness.failures[:1]}")


def few_rows(network: Network, second: int) -> Batch:
    """Return a batch with some rows of every source at one time; the first one has NULL wherever it may."""
    batch = {}
    for source in network.sources:
        types = dict(source.schema.types)
        values = {
            name: [None, *(random_value(kind, random.Random(f"{name} {i}")) for i in range(3))]
            for name, kind in types.items()
        }
        schema = {name: polars_type(kind) for name, kind in types.items()}
        rows = pl.DataFrame(
            [pl.Series(name, values[name] if name != source.time else [None] * 4, schema[name]) for name in types]
        )
        if source.time is not None:
            rows = rows.with_columns(pl.lit(second * 1_000_000).cast(schema[source.time]).alias(source.time))
        batch[source.name] = rows
    return batch


NETWORKS: Final = Target("networks", 10, corpus_with("drover", (SMALL,) * 4).draw, networks)
