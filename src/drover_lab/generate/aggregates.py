"""The traffic monitoring workload: sixteen window aggregates per sub-stream of a packet trace."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

from drover.network.build import Builder
from drover.network.functions import Span
from drover.network.model import Network
from drover_lab.generate.ranges import demand

# Name, size and advance. The dissertation does not say how often "the most recent 10 seconds" are reported: every
# second here, the pace of its shortest window.
WINDOWS: Final = (
    ("second", "1 s", "1 s"),
    ("minute", "1 min", "1 min"),
    ("last-10-seconds", "10 s", "1 s"),
    ("last-minute", "1 min", "1 s"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateParameters:
    """Sub-streams and column names of a packet-like stream; figure 6.12 of Xing's dissertation has ten sub-streams."""

    streams: int = 10  # d, each with a share of the source addresses
    time: str = "ts"
    source: str = "src"
    destination: str = "dst"
    size: str = "bytes"
    lateness: Span = "0 s"

    def __post_init__(self) -> None:
        """Raise DroverError for a parameter out of range."""
        demand("streams", self.streams, 1)


AGGREGATES: Final = AggregateParameters()


def aggregates(parameters: AggregateParameters = AGGREGATES, *, name: str = "aggregates") -> Network:
    """Return, per sub-stream `packets0` ..., 16 aggregates: 2 measures x 4 windows x 2 groupings. Nothing is random.

    Operators are named after all four, for example `packets0-count-last-minute-source`.
    """
    measures = (("count", {"packets": "count(*)"}), ("mean", {"mean_size": f"avg(`{parameters.size}`)"}))
    groupings = (("source", (parameters.source,)), ("pair", (parameters.source, parameters.destination)))
    columns = {
        parameters.time: "timestamp",
        parameters.source: "string",
        parameters.destination: "string",
        parameters.size: "bigint",
    }
    builder = Builder(name)
    for k in range(parameters.streams):
        packets = builder.source(f"packets{k}", columns, time=parameters.time, lateness=parameters.lateness)
        for (measure, compute), (window, size, advance), (grouping, keys) in product(measures, WINDOWS, groupings):
            packets.aggregate(
                f"packets{k}-{measure}-{window}-{grouping}", compute, size=size, advance=advance, group_by=keys
            ).output()
    return builder.build()
