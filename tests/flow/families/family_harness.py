"""A harness with queries that are submitted, dropped and moved while batches run, and each query alone to compare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from drover.flow.families.assignment import (
    FamilyAssignment,
    MemberCounts,
    ParkedMember,
    arrivals_of,
    make_family_assignment,
    unneeded_state,
    with_families,
)
from drover.flow.families.members import MEMBER, NODE, MemberTable, make_members, sweep_members, write_members
from drover.flow.node import Failure
from drover.flow.pruning import FamilyColumns
from drover.flow.schedule import Schedule, make_schedule
from drover.flow.state.segments import Key
from drover.network.expressions.tree import Value
from drover.network.model import Network
from drover.network.queries import Query, Shape, Shapes, query_network
from drover.network.types import polars_type
from drover.placement.plan import Plan
from tests.flow.harness import Batch, Harness
from tests.flow.stored import Computed, StoredHarness


@dataclass(slots=True)
class Member:
    """A query that runs from the batch `born` until before the batch `died`."""

    number: int
    query: Query
    shape: Shape
    constants: tuple[Value, ...]
    node: int
    born: int
    died: int | None = None

    def lives(self, batch: int) -> bool:
        return self.born <= batch and (self.died is None or batch < self.died)


@dataclass(slots=True)
class FamilyHarness(StoredHarness):
    """Runs batches of a network with families of queries on it."""

    members: list[Member] = field(default_factory=list)
    shapes: Shapes | None = None
    tables: dict[str, pa.Table] = field(default_factory=dict)  # of the batch before
    tallies: list[MemberCounts] = field(default_factory=list)
    parked: list[ParkedMember] = field(default_factory=list)
    given: list[dict[str, pl.DataFrame]] = field(default_factory=list)  # by batch: results by table

    @property
    def batch(self) -> int:
        """The batch that comes next."""
        return self.checkpoint.batch + 1

    def submit(self, query: Query, node: int = 0) -> Member:
        self.shapes = self.shapes or Shapes(self.network)
        shaped = self.shapes.shape_of(query)
        member = Member(len(self.members) * 3, query, shaped.shape, shaped.constants, node, self.batch)
        self.members.append(member)
        return member

    def drop(self, member: Member) -> None:
        member.died = self.batch

    def member_tables(self) -> tuple[list[Shape], dict[str, MemberTable], dict[str, pa.Table]]:
        """Return the families of the next batch."""
        live = [member for member in self.members if member.lives(self.batch)]
        shapes = {member.shape.id: member.shape for member in live}
        tables = {}
        stored = {}
        for family, shape in shapes.items():
            mine = [member for member in live if member.shape.id == family]
            tables[family] = make_members(
                shape,
                [member.number for member in mine],
                [member.query.name for member in mine],
                [member.node for member in mine],
                [member.constants for member in mine],
            )
            stored[family] = write_members(self.fs, str(self.root), shape, tables[family])
        return list(shapes.values()), stored, tables

    def _schedule(self, plan: Plan) -> Schedule:
        shapes, stored, _ = self.member_tables()
        return with_families(make_schedule(self.network, plan), shapes, stored)

    def _columns(self) -> FamilyColumns:
        return {shape.id: shape.columns for shape in self.member_tables()[0]}

    def _herded(self) -> FamilyAssignment | None:
        shapes, stored, tables = self.member_tables()
        arrivals: dict[tuple[str, int], tuple[int, ...]] = {}
        for family, table in tables.items():
            arrivals |= arrivals_of(family, self.tables.get(family), table)
        return make_family_assignment(self.network, self._progress(), shapes, stored, arrivals)

    def _dropped(self) -> tuple[Key, ...]:
        return unneeded_state(self.checkpoint.version, self.member_tables()[1])

    def _commit(self, computed: Computed, plan: Plan) -> None:
        _, stored, tables = self.member_tables()
        StoredHarness._commit(self, computed, plan)
        self.tables = tables
        sweep_members(self.fs, str(self.root), list(stored.values()))
        self.tallies += [tally for report in computed.reports for tally in report.tallies]
        self.parked += [parked for report in computed.reports for parked in report.parked]
        self.given.append(computed.query_results)

    def gave(self, member: Member) -> pl.DataFrame:
        """Return all results of a member."""
        schema = {name: polars_type(kind) for name, kind in member.shape.schema.types.items()}
        found = [pl.DataFrame(schema=schema)]
        for batch, tables in enumerate(self.given):
            if member.lives(batch) and member.shape.table in tables:
                rows = tables[member.shape.table].filter(pl.col("query") == member.query.name)
                found.append(rows.drop("query"))
        return pl.concat(found)


def alone(network: Network, member: Member, batches: Iterable[Batch]) -> pl.DataFrame:
    """Return the results of a member's query in a network of its own, which runs from the first batch on."""
    harness = Harness(query_network(member.query, network))
    plan = Plan(1, 1, {operator.name: 0 for operator in harness.network.operators})
    before = [Failure(operator.name, "it is not here yet") for operator in member.query.operators]
    for number, batch in enumerate(batches):
        if member.died is not None and number >= member.died:
            break
        harness.failures = before if number < member.born else []
        harness.run(batch, plan)
    assert harness.failures in ([], before)
    return harness.output(member.query.output)


def nodes_of(table: pa.Table) -> dict[int, int]:
    """Return the node of each member in a table."""
    return dict(zip(table.column(MEMBER).to_pylist(), table.column(NODE).to_pylist(), strict=True))
