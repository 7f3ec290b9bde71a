"""A network on a small tree, one side of which becomes too full: for tests in this process and for victim.py."""

from __future__ import annotations

from typing import Any, Final

from numpy.random import default_rng

import drover
from drover.network.model import Network
from drover.spark.handle import Handle
from drover_lab.generate import rows
from tests.flow.harness import Batch
from tests.spark.runs import COLUMNS

LENGTHS: Final = (2, 4, 6, 8)  # seconds of the windows on each side
# State is the same in every run, so that what neighbours agree on is, too.
TREE: Final[dict[str, Any]] = {
    "tree": {
        "city": {"memory": 40_000},
        "west": {"parent": "city", "memory": 16_000, "sources": ["a"]},
        "east": {"parent": "city", "memory": 16_000, "sources": ["b"]},
    }
}
CITY, WEST, EAST = range(3)
CONTROL: Final[dict[str, Any]] = {"mode": "auto", "period": 0}  # every batch is a period
EVEN = (20, 20)  # rows of each source per batch
SURGE = (60, 20)


def tree_network() -> Network:
    """Windows and a join within each of two sources, and sums over both."""
    net = drover.Builder("tree")
    short = []
    for name in ("a", "b"):
        some = net.source(name, COLUMNS, time="ts", lateness="1 s").filter(f"{name}-some", "key <> 3")
        for length in LENGTHS:
            sums = {"n": "count(*)", "total": "sum(amount)", "kinds": "count(distinct tag)"}
            found = some.aggregate(f"{name}-{length}", sums, size=f"{length} s", advance="1 s", group_by="key")
            found.filter(f"{name}-many-{length}", "n > 1").output()
            short += [found] if length == LENGTHS[0] else []
        pairs = some.join(
            f"{name}-pairs",
            some,
            within="1 s",
            on="key",
            where="left.amount < right.amount",
            select={"low": "left.amount", "high": "right.amount"},
        )
        pairs.output()
    both = short[0].union("both", short[1])
    both.aggregate("all", {"n": "sum(n)", "total": "sum(total)"}, size="4 s").output()
    return net.build()


def tree_batches(lengths: list[tuple[int, int]], seed: int = 0) -> list[Batch]:
    """Return rows in batches of so many of each source; none is late, whatever is in a batch."""
    drawn = rows(tree_network(), max(map(sum, zip(*lengths, strict=True))), default_rng(seed))
    found: list[Batch] = []
    for i, now in enumerate(lengths):
        starts = [sum(before[k] for before in lengths[:i]) for k in range(2)]
        found.append({name: drawn[name].slice(starts[k], now[k]) for k, name in enumerate(("a", "b"))})
    return found


def in_step(handle: Handle) -> Handle:
    """Let no batch begin before the last one is decided on: with batches of a moment, decisions would come late."""
    handle.listen(lambda _: handle.control.wait())
    return handle


def units_moved(handle: Handle) -> set[str]:
    """The units that neighbours have handed over."""
    return {
        move.unit
        for record in handle.control.records
        if record.kind == "moved" and record.proposal is not None
        for move in record.proposal.moves
    }
