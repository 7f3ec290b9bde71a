"""What a batch has to know about families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from drover.flow.families.members import Roll
from drover.flow.operators import Clock
from drover.flow.schedule import Schedule
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.watermarks import Progress
from drover.network.model import Network
from drover.network.queries.shape import Shape

# The port of results: their frames come to the driver as `queries:` and the `table` of their shapes. Their first column
# is `query`, the name of the query, followed by the columns of the shape's `schema`.
RESULTS: Final = "queries:"


@dataclass(frozen=True, slots=True)
class Herded:
    """The families of a batch; `shapes` travels as bytes that workers know again by `fingerprint`.

    `arrivals` has, for a family and a node, the nodes from whose state members have come to it with this batch: their
    rows are taken in from the state of the batch before.
    """

    fingerprint: str  # of shapes and rolls
    shapes: bytes = field(repr=False)
    rolls: Mapping[str, Roll]  # by family
    clocks: Mapping[str, tuple[Clock, ...]]  # by family, one per step
    arrivals: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    tallies: bool = True  # whether to measure members in this batch


@dataclass(frozen=True, slots=True)
class Tally:
    """What the members of a family did on a node in a batch.

    `table` has a row per member: member int64, rows_in int64, rows_out int64, state_rows int64, state_bytes int64,
    busy double (CPU seconds, shared out by rows in; what is left when no rows came is shared evenly).
    """

    family: str
    node: int
    busy: float  # CPU seconds of the family as a whole
    state_bytes: int
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
    """Return what to put into an assignment; None without families. Families without members are left out."""
    raise NotImplementedError


def with_families(schedule: Schedule, network: Network, shapes: Sequence[Shape], rolls: Mapping[str, Roll]) -> Schedule:
    """Return the schedule with the places of families, and the routes of the streams they read."""
    raise NotImplementedError


def arrivals_of(family: str, before: pa.Table | None, after: pa.Table) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return from which nodes members of a family come to which, given its tables of two batches in a row."""
    raise NotImplementedError


def forsaken(version: Version, rolls: Mapping[str, Roll]) -> tuple[Key, ...]:
    """Return the parts of state of families that nobody is left to need: `dropped` of the commit of the batch."""
    raise NotImplementedError
