"""Families on nodes: queries that start late, are dropped, move or fail, and what is reported of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from numpy.random import default_rng

from drover.flow.families.run import RunFamily
from drover.flow.frames import stream_port, unpack
from drover.flow.operators import EXPRESSION_ERRORS
from drover.network.durations import UNITS
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Map, Named
from drover.network.parts import Source
from drover.network.queries import Query
from drover.network.schema import Column
from drover.network.types import DOUBLE, INT, STRING, TIMESTAMP
from drover.placement.plan import Plan
from tests.flow.families.family_harness import FamilyHarness, alone
from tests.flow.oracle import assert_same_rows

START = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS = (Column("ts", TIMESTAMP), Column("source", STRING), Column("value", DOUBLE), Column("level", INT))
SCHEMA = {"ts": pl.Datetime("us", "UTC"), "source": pl.String(), "value": pl.Float64(), "level": pl.Int32()}
TWO = Plan(1, 2, {})


def network() -> Network:
    return Network("net", (Source("readings", COLUMNS, "ts"),), (), ("readings",))


def counting(name: str, where: str, size: int = 10, advance: int = 10) -> Query:
    compute = (Named("n", "count(*)"), Named("total", "sum(value)"))
    window = Aggregate(name="seen", input="kept", size=size * UNITS["s"], advance=advance * UNITS["s"], compute=compute)
    return Query(name, "tenant", (Filter(name="kept", input="readings", where=where), window), "seen")


def readings(*rows: tuple[float, str | None, float | None]) -> dict[str, pl.DataFrame]:
    """Return rows of (second, source, value)."""
    made = [(START + timedelta(seconds=at), source, value, 1) for at, source, value in rows]
    return {"readings": pl.DataFrame(made, schema=SCHEMA, orient="row")}


def calm(tmp_path: Path, net: Network | None = None) -> FamilyHarness:
    return FamilyHarness(net or network(), tmp_path, default_rng(0), trouble=0.0)


def counts(harness: FamilyHarness, number: int) -> list[tuple[int, float]]:
    return harness.gave(harness.members[number]).select("n", "total").rows()


def test_a_query_sees_the_rows_of_its_first_batch_and_later_ones(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    harness.submit(counting("early", "source = 'a' AND value > 1"))
    harness.run(readings((1, "a", 2.0), (2, "a", 1.0)), TWO)
    harness.submit(counting("late", "source = 'a' AND value > 0"))
    harness.run(readings((3, "a", 4.0), (4, "b", 9.0), (5, None, 9.0), (6, "a", None)), TWO)
    harness.run(readings((15, "a", 0.5)), TWO)
    harness.run({}, TWO)
    assert counts(harness, 0) == [(2, 6.0)]
    assert counts(harness, 1) == [(1, 4.0)]


def test_a_query_submitted_again_starts_empty(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    query = counting("same", "source = 'a' AND value > 0")
    first = harness.submit(query)
    harness.run(readings((1, "a", 2.0)), TWO)
    harness.drop(first)
    harness.submit(query)
    harness.run(readings((2, "a", 3.0)), TWO)
    harness.run(readings((15, "b", 0.5)), TWO)
    harness.run({}, TWO)
    assert counts(harness, 0) == []
    assert counts(harness, 1) == [(1, 3.0)]


def test_queries_of_the_same_text_are_two_members(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    for name, node in (("one", 0), ("two", 0), ("three", 1)):
        harness.submit(counting(name, "source = 'a' AND value > 0"), node)
    harness.run(readings((1, "a", 2.0)), TWO)
    harness.run(readings((15, "b", 0.5)), TWO)
    harness.run({}, TWO)
    assert [counts(harness, number) for number in range(3)] == [[(1, 2.0)]] * 3
    assert len({member.shape.id for member in harness.members}) == 1


def test_a_query_keeps_its_windows_when_it_moves_and_moves_back(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    members = [harness.submit(counting(f"q{i}", f"source = 'a' AND value > {i}"), i % 2) for i in range(4)]
    batches = [readings((second, "a", float(second % 5))) for second in range(8)]
    for number, batch in enumerate(batches):
        members[0].node = number % 2
        members[3].node = 0
        harness.run(batch, TWO)
    for batch in (readings((30, "b", 0.0)), {}):
        harness.run(batch, TWO)
        batches.append(batch)
    for member in members:
        assert harness.gave(member).height == 1
        assert_same_rows(harness.gave(member), alone(network(), member, batches))


def test_state_of_a_node_that_a_family_has_left_is_dropped(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    member = harness.submit(counting("q", "source = 'a'"), 0)
    harness.run(readings((1, "a", 1.0)), TWO)
    assert {unit.rpartition("@")[2] for unit in harness.checkpoint.version.units} == {"0"}
    member.node = 1
    harness.run(readings((2, "a", 1.0)), TWO)
    assert {unit.rpartition("@")[2] for unit in harness.checkpoint.version.units} == {"1"}
    harness.drop(member)
    harness.run(readings((3, "a", 1.0)), TWO)
    assert dict(harness.checkpoint.version.units) == {}


def test_a_node_receives_only_rows_that_its_members_need(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    for number in range(6):
        harness.submit(counting(f"q{number}", f"source = 's{number}' AND value > 0"), number % 2)
    harness.run(readings(*((number, f"s{number % 9}", 1.0) for number in range(90))), TWO)
    assert [tally.rows_in for tally in harness.tallies] == [30, 30]
    sent = [frame for frame in harness.sent if frame.port == stream_port("readings")]
    assert sum(unpack([frame])[stream_port("readings")].height for frame in sent) == 60


def test_counts_are_reported_by_member(tmp_path: Path) -> None:
    harness = calm(tmp_path)
    for number in range(3):
        harness.submit(counting(f"q{number}", f"source = 's{number}' AND value > 5"))
    harness.run(readings((1, "s0", 9.0), (2, "s0", 1.0), (3, "s1", 1.0)), TWO)
    table = harness.tallies[-1].table
    assert table is not None
    assert table.drop(["busy", "state_bytes"]).to_pydict() == {
        "member": [0, 3, 6],
        "rows_in": [2, 1, 0],
        "rows_out": [0, 0, 0],
        "state_rows": [1, 0, 0],
    }


def test_a_family_reads_what_operators_on_other_nodes_make(tmp_path: Path) -> None:
    doubled = Map(name="doubled", input="readings", select=(Named("value", "value * 2"),), extend=True)
    source = network().sources[0]
    net = Network("net", (source,), (doubled,), ("doubled",))
    query = counting("q", "source = 'a' AND value > 3")
    query = replace(query, operators=(replace(query.operators[0], input="doubled"), query.operators[1]))  # type: ignore[call-arg] # a filter has an input
    harness = calm(tmp_path, net)
    member = harness.submit(query, 1)
    batches = [readings((1, "a", 1.0), (2, "a", 2.0), (3, "b", 9.0)), readings((15, "a", 1.0)), {}]
    for batch in batches:
        harness.run(batch, Plan(1, 2, {"doubled": 0}))
    assert counts(harness, 0) == [(1, 4.0)]
    assert_same_rows(harness.gave(member), alone(net, member, batches))


@pytest.mark.parametrize("error", EXPRESSION_ERRORS, ids=["an error", "a panic"])
def test_a_failing_member_is_parked_and_the_others_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    run = RunFamily.run

    def fail_on_thirteen(self: RunFamily, streams, local, *rest):  # type: ignore[no-untyped-def] # as the method it is
        if "thirteen" in local.names:
            raise error("thirteen is not accepted")
        return run(self, streams, local, *rest)

    harness = calm(tmp_path)
    members = [harness.submit(counting(f"q{i}", f"source = 'a' AND value > {i}")) for i in range(5)]
    members.append(harness.submit(counting("thirteen", "source = 'a' AND value > 0")))
    harness.run(readings((1, "a", 9.0)), TWO)
    monkeypatch.setattr(RunFamily, "run", fail_on_thirteen)
    harness.run(readings((2, "a", 8.0)), TWO)
    assert [(one.member, one.reason) for one in harness.parked] == [
        (members[-1].number, f"{error.__name__}: thirteen is not accepted")
    ]
    harness.drop(members[-1])
    harness.run(readings((15, "b", 0.0)), TWO)
    harness.run({}, TWO)
    assert [counts(harness, number) for number in range(5)] == [[(2, 17.0)]] * 5
