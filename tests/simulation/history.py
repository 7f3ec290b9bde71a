"""What a simulated run works on: a network and the rows of its sources, drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl
from numpy.random import Generator

from drover.control.settings import Control, Mode
from drover.network.model import Network
from drover.network.operators import Join, KeyPair, Map, Named, Table, TableRead, TableWrite
from drover_lab.generate import DagParameters, dags, rows
from tests.flow.holding import with_brittle_functions
from tests.flow.spreading import spread_all

MOST_OPERATORS = 5
MOST_FILES = 8  # per source
MOST_ROWS = 20  # per file
KEPT = ("ts", "key", "amount", "price")  # columns of a table


@dataclass(frozen=True, slots=True)
class History:
    """A network and the files of each source, in the order in which they arrive."""

    network: Network
    files: Mapping[str, Sequence[pl.DataFrame]]
    nodes: int
    control: Control
    brittle: bool = False  # whether functions may fail


def draw_history(rng: Generator) -> History:
    """Draw a network and its rows."""
    shape = DagParameters(
        sources=int(rng.integers(1, 3)),
        operators=int(rng.integers(1, MOST_OPERATORS + 1)),
        aggregate=3,
        join=1.5,
        timeout=0.4,
        lateness="1 s",
    )
    network = dags(rng, shape, name="drawn")
    brittle = bool(rng.random() < 0.4)
    if brittle:
        network = with_brittle_functions(network, rng, most=2)
    elif rng.random() < 0.6:
        # A spread join cannot hold its input, so it does not go together with functions that fail.
        network = spread_all(network, rng)
    if rng.random() < 0.4:
        network = with_tables(network, rng)
    files = draw_files(network, rng)
    if not brittle and rng.random() < 0.5:
        # Rows that an operator held are not late when it works them off, so results would differ.
        files = {name: with_late_rows(parts, rng) for name, parts in files.items()}
    return History(network, files, int(rng.integers(1, 4)), draw_control(rng), brittle)


def draw_files(network: Network, rng: Generator) -> dict[str, list[pl.DataFrame]]:
    """Draw the files of each source; some rows have no event time."""
    count = int(rng.integers(2, MOST_FILES + 1))
    drawn = rows(network, count * int(rng.integers(1, MOST_ROWS + 1)), rng)
    times = {source.name: source.time or "" for source in network.sources}
    holes = float(rng.choice([0.0, 0.05]))
    files = {}
    for name, frame in drawn.items():
        lost = pl.Series(rng.random(frame.height) < holes, dtype=pl.Boolean)
        files[name] = cut(frame.with_columns(pl.when(~lost).then(pl.col(times[name]))), count, rng)
    return files


def with_late_rows(files: list[pl.DataFrame], rng: Generator) -> list[pl.DataFrame]:
    """Return the files with some of their rows in later files."""
    made = list(files)
    for early in range(len(files) - 1):
        later = int(rng.integers(early + 1, len(files)))
        moved = pl.Series(rng.random(made[early].height) < 0.2, dtype=pl.Boolean)
        made[later] = pl.concat([made[later], made[early].filter(moved)])
        made[early] = made[early].filter(~moved)
    return made


def draw_control(rng: Generator) -> Control:
    """Draw settings with which the control loop decides after a few batches."""
    mode = Mode.AUTO if rng.random() < 0.2 else Mode.OBSERVE
    return Control(mode=mode, period=0.05, window=2, warm_up=2, trial=0, cool_down=0, certainty=0, least_gain=0)


def cut(frame: pl.DataFrame, count: int, rng: Generator) -> list[pl.DataFrame]:
    """Return the rows of a source cut into files, some of them without rows."""
    edges = [0, *sorted(rng.integers(0, frame.height + 1, count - 1).tolist()), frame.height]
    return [frame.slice(first, last - first) for first, last in pairwise(edges)]


def with_tables(network: Network, rng: Generator) -> Network:
    """Return the network with a table that it writes, and mostly reads."""
    source = network.sources[0]
    columns = tuple(column for column in source.schema.columns if column.name in KEPT)
    table = Table("latest", columns, ("key",))
    kept = Map(name="kept", input=source.name, select=tuple(Named(name, name) for name in KEPT))
    added = [kept, TableWrite(name="keep", input="kept", into="latest")]
    outputs = list(network.outputs)
    if rng.random() < 0.7:
        last = network.sources[-1].name
        asked = Map(name="asked", input=last, select=(Named("ts", "ts"), Named("key", "key")))
        known = TableRead(
            name="known", input="asked", from_table="latest", on=(KeyPair("key", "key"),), columns=("amount", "price")
        )
        added += [asked, known]
        outputs.append("known")
    return Network(network.name, network.sources, (*network.operators, *added), tuple(outputs), (table,))


def spread_joins_of(network: Network) -> list[str]:
    """Return the joins that may be spread."""
    return [one.name for one in network.operators if isinstance(one, Join) and one.spread is not None]
