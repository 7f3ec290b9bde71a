"""What a run needs besides its network: where rows come from and go to, and on how many nodes.

Rule 1: frozen data; nothing here knows Spark, and nothing here is part of a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from drover.control.settings import Control
from drover.control.tenants import AllLimits
from drover.hierarchy.cluster import Cluster
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Named
from drover.network.schema import Column

FILES: Final = ("csv", "json", "parquet", "orc", "text", "avro", "xml")  # formats that have a path
PLACELESS: Final = ("kafka", "rate", "rate-micro-batch", "socket")  # that have none, and columns of their own
REPLAYED: Final = ("csv", "json", "parquet", "orc")
WRITTEN: Final = ("parquet", "json", "csv")
CONSOLE: Final = "console"
PLANS: Final = ("round-robin", "hash")


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
    by: str | None = None  # what tells the streams apart that are read together, in Spark's SQL
    value: str | None = None  # that this one has there
    shares: str | None = None  # the source whose rows carry this one too


@dataclass(frozen=True, slots=True)
class Output:
    """Where the rows of an output go."""

    write: str  # format, or console
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that `drover run` needs to know. Paths are absolute, or URIs."""

    network: Network
    sources: Mapping[str, Input]
    sinks: Mapping[str, tuple[Output, ...]] = field(default_factory=dict)
    dead_letters: tuple[Output, ...] = ()
    checkpoint: str | None = None
    nodes: int = 4
    plan: str = "round-robin"
    trigger: Micros | None = None  # from the start of a batch to that of the next; None: without a pause
    control: Control = field(default_factory=Control)
    stop_on_failure: bool = False
    queries: tuple[Output, ...] = ()  # where results of submitted queries go; empty: none are taken
    limits: AllLimits = field(default_factory=dict)  # of tenants
    cluster: Cluster | None = None  # a tree of nodes
    refine: float = 0.0  # share of the queries that may move of themselves, per hour
