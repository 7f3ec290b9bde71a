"""Which columns of its sources a run reads.

Rule 1: a run reads all declared columns if anybody may still ask for one: a submitted query, or a sink for dead
letters, which gets whole rows.
Rule 2: a reader that drops malformed rows, or fails at them, judges only the columns that it reads. So it reads all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame

from drover.network.model import Network
from drover.spark.sources import Given, SharedSource

MODE: Final = "mode"  # the option of Spark's readers that says what happens to malformed rows
HARMLESS: Final = "permissive"  # the mode in which a malformed field is NULL and changes no other field
log = logging.getLogger(__name__)

SourceColumns = Mapping[str, tuple[str, ...]]  # by source, in the order of its schema


def columns_to_read(network: Network, given: Mapping[str, Given], needed: SourceColumns) -> SourceColumns:
    """Return the columns of each source to read, and log which ones are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for source in network.sources:
        one = given[source.name]
        judges = judges_rows(one.frame if isinstance(one, SharedSource) else one)
        found[source.name] = source.schema.names if judges else needed[source.name]
        if left_out := [name for name in source.schema.names if name not in found[source.name]]:
            log.info("source %s: %s not read, because nothing uses them", source.name, ", ".join(left_out))
    return found


def judges_rows(frame: DataFrame) -> bool:
    """Return whether a streaming DataFrame reads files in a mode in which malformed rows are dropped, or fail."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    for index in range(leaves.size()):
        leaf = leaves.apply(index)
        if leaf.getClass().getSimpleName() == "StreamingRelation":
            options = leaf.dataSource().options().iterator()
            while options.hasNext():
                option = options.next()
                if option._1().lower() == MODE and option._2().lower() != HARMLESS:
                    return True
    return False
