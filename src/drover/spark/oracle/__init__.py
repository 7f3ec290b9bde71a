"""The oracle: what each kind of operator means, as plain Spark batch operations, one kind per module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame

from drover.spark.oracle.aggregate import oracle_aggregate
from drover.spark.oracle.filter import oracle_filter
from drover.spark.oracle.join import oracle_join
from drover.spark.oracle.map import oracle_map
from drover.spark.oracle.scope import Scope
from drover.spark.oracle.switch import oracle_switch
from drover.spark.oracle.synthetic import oracle_synthetic
from drover.spark.oracle.table_read import oracle_table_read
from drover.spark.oracle.table_write import oracle_table_write
from drover.spark.oracle.union import oracle_union
from drover.spark.oracle.user import oracle_user

# By the name of the kind in `drover.network.operators.OPERATORS`: from an operator to its output streams.
# Any: each function takes the operator of its kind.
ORACLES: Final[Mapping[str, Callable[[Any, Scope], dict[str, DataFrame]]]] = {
    "filter": oracle_filter,
    "switch": oracle_switch,
    "map": oracle_map,
    "union": oracle_union,
    "aggregate": oracle_aggregate,
    "join": oracle_join,
    "table_read": oracle_table_read,
    "table_write": oracle_table_write,
    "user": oracle_user,
    "synthetic": oracle_synthetic,
}
