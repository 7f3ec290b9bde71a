"""What a batch has to know about families, and what it tells of them."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl
import pyarrow as pa

from drover.flow.families.members import MEMBER, NODE, Roll
from drover.flow.families.moves import family_and_node
from drover.flow.operators import Clock
from drover.flow.schedule import Place, Schedule, arrival
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.watermarks import Progress, clock_of
from drover.network.model import Network
from drover.network.queries.shape import Shape

# The port of results: their frames come to the driver as `queries:` and the `table` of their shapes. Their first column
# is `query`, the name of the query, followed by the columns of the shape's `schema`.
RESULTS: Final = "queries:"


@dataclass(frozen=True, slots=True)
class Herded:
    """The families of a batch; shapes travel as bytes, which a worker that knows the family does not look at.

    `arrivals` has, for a family and a node, the nodes from whose state members have come to it with this batch: their
    rows are taken in from the state of the batch before.
    """

    fingerprint: str  # of all members
    shapes: Mapping[str, bytes] = field(repr=False)  # by family
    rolls: Mapping[str, Roll]  # by family
    clocks: Mapping[str, tuple[Clock, ...]]  # by family, one per step
    arrivals: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    tallies: bool = True  # whether to measure members in this batch


@dataclass(frozen=True, slots=True)
class Tally:
    """What the members of a family did on a node in a batch.

    `table` has a row per member: member int64, rows_in int64 (rows that its conditions on keys let through), rows_out
    int64, state_rows int64, state_bytes int64, busy double (CPU seconds, shared out by rows in and one more each).
    """

    family: str
    node: int
    rows_in: int  # of the family as a whole
    rows_out: int
    state_bytes: int
    busy: float  # CPU seconds
    table: pa.Table | None  # None unless the batch asks for tallies


@dataclass(frozen=True, slots=True)
class Parked:
    """A member that failed by its own fault, took nothing in and gave nothing out; park it from the next batch on."""

    family: str
    member: int
    reason: str


def make_herded(
    network: Network,
    progress: Progress,
    shapes: Sequence[Shape],
    rolls: Mapping[str, Roll],
    arrivals: Mapping[tuple[str, int], tuple[int, ...]] | None = None,
    *,
    tallies: bool = True,
) -> Herded | None:
    """Return what to put into an assignment; None without members. Families without members are left out."""
    live = {shape.id: shape for shape in shapes if shape.id in rolls and rolls[shape.id].members}
    if not live:
        return None
    digest = hashlib.sha256(repr(sorted((id_, rolls[id_].fingerprint) for id_ in live)).encode()).hexdigest()
    return Herded(
        digest,
        {id_: pickle.dumps(shape) for id_, shape in live.items()},
        {id_: rolls[id_] for id_ in live},
        {id_: _clocks(shape, network, progress) for id_, shape in live.items()},
        arrivals or {},
        tallies,
    )


def _clocks(shape: Shape, network: Network, progress: Progress) -> tuple[Clock, ...]:
    """Return the clock of every step: that of an operator of the network that would read the same."""
    roots = dict(network.roots())
    found = []
    for step in shape.steps:
        reached = frozenset[str]().union(*(roots[stream] for stream in step.inputs))
        roots |= dict.fromkeys(step.operator.outputs, reached)
        found.append(clock_of(network, progress, reached))
    return tuple(found)


def with_families(schedule: Schedule, shapes: Sequence[Shape], rolls: Mapping[str, Roll]) -> Schedule:
    """Return the schedule with the places of families, and where the streams they read travel.

    A family runs on each node where it has members, in the first hop in which all that it reads is there.
    """
    herds: dict[Place, tuple[str, ...]] = {}
    wanted: dict[str, set[Place]] = {}
    for shape in sorted(shapes, key=lambda one: one.id):
        for node in rolls[shape.id].nodes if shape.id in rolls else ():
            place = Place(max(arrival(schedule.made_at.get(stream, ()), node) for stream in shape.reads), node)
            herds[place] = (*herds.get(place, ()), shape.id)
            for stream in shape.reads:
                if (place,) != schedule.made_at.get(stream) and place not in schedule.routes.get(stream, ()):
                    wanted.setdefault(stream, set()).add(place)
    hops = max([schedule.hops, *(place.hop + 1 for place in herds)])
    return replace(
        schedule, hops=hops, herds=herds, wanted={stream: tuple(sorted(places)) for stream, places in wanted.items()}
    )


def arrivals_of(family: str, before: pa.Table | None, after: pa.Table) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return from which nodes members of a family come to which, given its tables of two batches in a row."""
    if before is None:
        return {}
    was = pl.DataFrame(before.select([MEMBER, NODE])).rename({NODE: "was"})
    moved = pl.DataFrame(after.select([MEMBER, NODE])).join(was, on=MEMBER).filter(pl.col(NODE) != pl.col("was"))
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    for node, source in moved.select(NODE, "was").unique().sort(NODE, "was").rows():
        found[family, node] = (*found.get((family, node), ()), source)
    return found


def forsaken(version: Version, rolls: Mapping[str, Roll]) -> tuple[Key, ...]:
    """Return the parts of state of families that nobody is left to need: `dropped` of the commit of the batch."""
    found: list[Key] = []
    for unit, parts in version.units.items():
        owner = family_and_node(unit)
        if owner is not None and (owner[0] not in rolls or owner[1] not in rolls[owner[0]].nodes):
            found += ((unit, part) for part in parts)
    return tuple(found)
