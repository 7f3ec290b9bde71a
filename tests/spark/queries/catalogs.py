"""A catalog without Spark, what its tests ask of it, and a run that serves it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from drover.control.tenants import limits_of
from drover.flow.families.assignment import MemberCounts
from drover.flow.families.members import NODE, QUERY
from drover.flow.state.commits import Checkpoint
from drover.flow.state.versions import Version
from drover.spark.queries.catalog import BatchStart, QueryCatalog
from drover.spark.queries.families import Families
from drover.spark.queries.recovery import NOTES
from drover.spark.queries.service import QueryService
from drover.spark.sinks import Memory
from tests.spark.control_runs import ControlRun, four_filters
from tests.spark.meters import meters, query


def opened(
    folder: Path,
    batch: int = -1,
    notes: dict[str, Any] | None = None,
    nodes: int = 2,
    closed_nodes: Callable[[], Collection[int]] = frozenset,
    **limits: Any,
) -> QueryCatalog:
    """A catalog on a checkpoint whose last commit is that of `batch`, with these notes about queries."""
    catalog = QueryCatalog(meters(), str(folder), limits_of(limits), closed_nodes=closed_nodes)
    catalog.open(Checkpoint(Version(batch), {NOTES: notes} if notes else {}), nodes)
    return catalog


def nodes_of(families: Families) -> dict[str, int]:
    """The nodes of live queries, by name."""
    return {
        name: node
        for family in families.by_id.values()
        for name, node in zip(family.table[QUERY].to_pylist(), family.table[NODE].to_pylist(), strict=True)
    }


def queries(*numbers: int, tenant: str = "acme") -> list[dict[str, Any]]:
    return [query(f"q{number}", number, tenant) for number in numbers]


def begin(catalog: QueryCatalog, batch: int, nodes: int = 2, *, again: bool = False) -> BatchStart:
    return catalog.begin(batch, nodes, again=again)


def counts(family: str, busy: float = 0.0, **columns: list[Any]) -> MemberCounts:
    """What the members 0, 1, ... of a family did on node 0; a column that is not given is 0."""
    rows = max(len(values) for values in columns.values())
    names = ("rows_in", "rows_out", "state_rows", "state_bytes")
    zeros: dict[str, list[Any]] = {**{name: [0] * rows for name in names}, "busy": [0.0] * rows}
    table = pl.DataFrame({"member": list(range(rows)), **zeros, **columns}).to_arrow()
    return MemberCounts(family, 0, 0, 0, 0, busy, table)


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A run without Spark that has an endpoint, its query service and its catalog."""

    run: ControlRun
    service: QueryService
    catalog: QueryCatalog

    @property
    def path(self) -> str:
        return self.run.path


@contextmanager
def served(folder: Path) -> Iterator[ServedRun]:
    """Serve the queries of a network of four filters; tenant `small` may have one."""
    catalog = QueryCatalog(four_filters(), str(folder), limits_of({"small": {"queries": 1}}))
    service = QueryService(four_filters(), catalog, sink=Memory())
    with ControlRun(folder, queries=service) as run:
        service.open(Checkpoint(), 2)
        yield ServedRun(run, service, catalog)
