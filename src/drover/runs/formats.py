"""The formats that a run file may name for its sources and sinks: one row each.

Rule 1: nothing here knows Spark. What a sink does is a row of `drover.spark.sinks.SINKS`; Spark itself reads sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """A format that Spark reads as a stream."""

    name: str
    has_path: bool | None = None  # None: not known
    own_columns: bool = False  # whether the format itself says which columns there are
    suffixes: tuple[str, ...] = ()  # of files that can be replayed in order of time; empty: none can


@dataclass(frozen=True, slots=True)
class SinkFormat:
    """A kind of sink."""

    name: str
    has_path: bool = True


SOURCE_FORMATS: Final[Mapping[str, SourceFormat]] = {
    one.name: one
    for one in (
        SourceFormat("csv", has_path=True, suffixes=(".csv",)),
        SourceFormat("json", has_path=True, suffixes=(".json", ".ndjson")),
        SourceFormat("parquet", has_path=True, suffixes=(".parquet",)),
        SourceFormat("orc", has_path=True, suffixes=(".orc",)),
        SourceFormat("text", has_path=True),
        SourceFormat("avro", has_path=True),
        SourceFormat("xml", has_path=True),
        SourceFormat("kafka", has_path=False, own_columns=True),
        SourceFormat("rate", has_path=False, own_columns=True),
        SourceFormat("rate-micro-batch", has_path=False, own_columns=True),
        SourceFormat("socket", has_path=False, own_columns=True),
        SourceFormat("delta"),
    )
}
SINK_FORMATS: Final[Mapping[str, SinkFormat]] = {
    one.name: one
    for one in (
        SinkFormat("parquet"),
        SinkFormat("json"),
        SinkFormat("csv"),
        SinkFormat("console", has_path=False),
    )
}
REMOTE_RULE: Final = "files of sinks are written to local disks"
REMOTE_WAY_OUT: Final = "Name a local folder."
UNKNOWN: Final = SourceFormat("unknown")  # a connector that is not in the table


def source_format(name: str | None) -> SourceFormat:
    """Return what is known of a format; Spark may have connectors that are not in the table."""
    return SOURCE_FORMATS.get(name or "", UNKNOWN)
