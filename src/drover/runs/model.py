"""A run: its network, sources, sinks and settings.

Rule 1: frozen data. Nothing here knows Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drover.control.engine_choice import DEFAULT_ENGINE
from drover.control.failing import HOLD_BYTES, OnFailure
from drover.control.popularity import ExpectedQueries
from drover.control.settings import Control
from drover.control.tenants import AllLimits
from drover.hierarchy.cluster import TreeCluster
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Named
from drover.network.schema import Column
from drover.placement.starting_plans import DEFAULT_NODES, DEFAULT_PLAN


@dataclass(frozen=True, slots=True)
class Option:
    """An option of one of Spark's readers."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Input:
    """Where the rows of a source come from: a stream that Spark reads, or a file that is replayed."""

    read: str | None = None  # format
    replay: str | None = None  # format
    path: str | None = None
    columns: tuple[Column, ...] = ()  # of what is read; empty: those of the source
    options: tuple[Option, ...] = ()
    select: tuple[Named, ...] = ()  # the source's columns, in Spark's SQL; empty: by name
    where: str | None = None  # in Spark's SQL
    time: str | None = None  # of a replay: the column that orders it; None: the source's
    speed: float | None = None
    batches: int = 1
    by: str | None = None  # of sources that are read together: Spark SQL whose result names the source of a row
    value: str | None = None  # the result of `by` for rows of this source
    shares: str | None = None  # the source with whose data this one is read


@dataclass(frozen=True, slots=True)
class Output:
    """Where the rows of an output go."""

    write: str  # format, or console
    path: str | None = None


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Where a table of the network is. The URI may contain a password, so it is not part of any text."""

    table: str
    uri: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that `drover run` needs to know. Paths are absolute, or URIs."""

    network: Network
    sources: Mapping[str, Input]
    sinks: Mapping[str, tuple[Output, ...]] = field(default_factory=dict)
    dead_letters: tuple[Output, ...] = ()
    late: tuple[Output, ...] = ()
    tables: tuple[TableAddress, ...] = ()  # a table that is left out is in the checkpoint
    checkpoint: str | None = None
    nodes: int | str = DEFAULT_NODES  # or auto: as many as Spark has slots
    plan: str = DEFAULT_PLAN
    trigger: Micros | None = None  # from the start of a batch to the start of the next; None: without a pause
    control: Control = field(default_factory=Control)
    on_failure: str = str(OnFailure.HOLD)
    hold_bytes: int = HOLD_BYTES
    stop_on_failure: bool = False  # an older word for `on_failure: stop`
    queries: tuple[Output, ...] = ()  # sinks for results of submitted queries; empty: no queries are accepted
    limits: AllLimits = field(default_factory=dict)  # of tenants
    cluster: TreeCluster | None = None  # a tree of nodes
    refine: float = 0.0  # fraction of queries that drover may move per hour
    popularity: tuple[ExpectedQueries, ...] = ()  # queries that are expected
    engine: str = str(DEFAULT_ENGINE)  # what computes batches


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What one start of a run file does differently; the fields are arguments of `drover.run`."""

    resume: Sequence[str] = ()
    without: Sequence[str] = ()
    allow_changes: bool | Sequence[str] = False
    existing: str = "refuse"
