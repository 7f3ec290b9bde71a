"""What the tasks of a batch need to know about families, and what they report about them."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa

from drover.flow.families.members import MEMBER, NODE, MemberTable
from drover.flow.families.moves import family_and_node
from drover.flow.families.topics import TopicCounts
from drover.flow.operators import Watermarks
from drover.flow.parking import WatermarkCaps
from drover.flow.schedule import HopNode, Schedule, arrival
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.watermarks import SourceProgress, WatermarkTable
from drover.network.model import Network
from drover.network.queries.shape import Shape


@dataclass(frozen=True, slots=True)
class FamilyAssignment:
    """The families of a batch. Shapes are pickled, so that a worker that has compiled a family need not read them.

    `arrivals` has, by family and node, the nodes from which members move there with this batch. Their rows are taken
    from the state that these nodes had after the batch before.
    """

    fingerprint: str  # of all members
    shapes: Mapping[str, bytes] = field(repr=False)  # by family
    member_tables: Mapping[str, MemberTable]  # by family
    watermarks: Mapping[str, tuple[Watermarks, ...]]  # by family, one per step
    arrivals: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    measured: bool = True  # whether to count rows, state and time by member in this batch
    without: frozenset[int] = frozenset()  # members that do not run


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """What the members of a family did on a node in a batch.

    `table` has a row per member: member int64, rows_in int64 (rows that match its keys), rows_out int64, state_rows
    int64, state_bytes int64, busy double. `busy` is the member's part of the family's CPU seconds, in proportion to its
    rows_in + 1.
    """

    family: str
    node: int
    rows_in: int  # of the family as a whole
    rows_out: int
    state_bytes: int
    busy: float  # CPU seconds
    table: pa.Table | None  # None unless the batch is measured
    late: int = 0  # rows that came too late, counted for each member
    topics: tuple[TopicCounts, ...] = ()  # empty unless the batch is measured


@dataclass(frozen=True, slots=True)
class ParkedMember:
    """A member that failed. The batch ran without it; the next batch parks it."""

    family: str
    member: int
    reason: str


def make_family_assignment(
    network: Network,
    progress: SourceProgress,
    shapes: Sequence[Shape],
    member_tables: Mapping[str, MemberTable],
    arrivals: Mapping[tuple[str, int], tuple[int, ...]] | None = None,
    *,
    measured: bool = True,
    caps: WatermarkCaps | None = None,
) -> FamilyAssignment | None:
    """Return the families that have members; None if no family has any."""
    live = {shape.id: shape for shape in shapes if shape.id in member_tables and member_tables[shape.id].members}
    if not live:
        return None
    digest = hashlib.sha256(repr(sorted((id_, member_tables[id_].fingerprint) for id_ in live)).encode()).hexdigest()
    table = WatermarkTable(network, progress, caps)
    return FamilyAssignment(
        digest,
        {id_: pickle.dumps(shape) for id_, shape in live.items()},
        {id_: member_tables[id_] for id_ in live},
        {id_: _watermarks(shape, table) for id_, shape in live.items()},
        arrivals or {},
        measured,
    )


def _watermarks(shape: Shape, table: WatermarkTable) -> tuple[Watermarks, ...]:
    """Return the watermarks of every step: those of an operator of the network with the same inputs."""
    made_of: dict[str, frozenset[str]] = {}  # streams of the network behind each stream of the query
    found = []
    for step in shape.steps:
        read = frozenset[str]().union(*(made_of.get(stream, {stream}) for stream in step.inputs))
        made_of |= dict.fromkeys(step.operator.outputs, read)
        found.append(table.of(read))
    return tuple(found)


def with_families(schedule: Schedule, shapes: Sequence[Shape], member_tables: Mapping[str, MemberTable]) -> Schedule:
    """Return the schedule with the places of families added, and the places that their streams are sent to.

    A family runs on each node where it has members, in the first hop in which all its streams have arrived.
    """
    families: dict[HopNode, tuple[str, ...]] = {}
    wanted: dict[str, set[HopNode]] = {}
    for shape in sorted(shapes, key=lambda one: one.id):
        for node in member_tables[shape.id].nodes if shape.id in member_tables else ():
            place = HopNode(max(arrival(schedule.made_at.get(stream, ()), node) for stream in shape.reads), node)
            families[place] = (*families.get(place, ()), shape.id)
            # A stream that is made here, or that an operator here reads, needs no further route.
            for stream in shape.reads:
                if (place,) != schedule.made_at.get(stream) and place not in schedule.routes.get(stream, ()):
                    wanted.setdefault(stream, set()).add(place)
    hops = max([schedule.hops, *(place.hop + 1 for place in families)])
    return replace(
        schedule, hops=hops, herds=families, wanted={stream: tuple(sorted(places)) for stream, places in wanted.items()}
    )


def arrivals_of(family: str, before: pa.Table | None, after: pa.Table) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return, by family and node, the nodes that members come from, given the tables of two consecutive batches."""
    if before is None:
        return {}
    was = pl.DataFrame(before.select([MEMBER, NODE])).rename({NODE: "was"})
    moved = pl.DataFrame(after.select([MEMBER, NODE])).join(was, on=MEMBER).filter(pl.col(NODE) != pl.col("was"))
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    for node, source in moved.select(NODE, "was").unique().sort(NODE, "was").rows():
        found[family, node] = (*found.get((family, node), ()), source)
    return found


def unneeded_state(version: Version, member_tables: Mapping[str, MemberTable]) -> tuple[Key, ...]:
    """Return the parts of state of families without members on that node; the commit of the batch drops them."""
    found: list[Key] = []
    for unit, parts in version.units.items():
        owner = family_and_node(unit)
        if owner is not None and (owner[0] not in member_tables or owner[1] not in member_tables[owner[0]].nodes):
            found += ((unit, part) for part in parts)
    return tuple(found)
