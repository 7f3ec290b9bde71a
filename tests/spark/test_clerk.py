"""The clerk without Spark: what is accepted is durable, what a batch began with it begins with again, limits hold."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drover.control.tenants import limits_of
from drover.errors import DroverError, StateError
from drover.flow.families.herded import Tally
from drover.flow.families.members import MEMBER, NODE, QUERY
from drover.flow.state.commits import Checkpoint
from drover.flow.state.versions import Version
from drover.spark.queries import stopped
from drover.spark.queries.clerk import Begun, Clerk
from drover.spark.queries.families import Families
from drover.spark.queries.judging import EVERY, Inspector, topic_rates
from drover.spark.queries.part import arrivals
from drover.spark.queries.refining import Refiner
from drover.spark.queries.reopen import NOTES
from drover.spark.queries.standing import Standing
from tests.spark.queries import meters, parsed, query


def opened(folder: Path, batch: int = -1, notes: dict[str, Any] | None = None, nodes: int = 2, **limits: Any) -> Clerk:
    clerk = Clerk(meters(), str(folder), limits_of(limits))
    clerk.open(Checkpoint(Version(batch), {NOTES: notes} if notes else {}), nodes)
    return clerk


def members(families: Families) -> dict[str, int]:
    """Queries that run, with their nodes."""
    return {
        name: node
        for family in families.by_id.values()
        for name, node in zip(family.table[QUERY].to_pylist(), family.table[NODE].to_pylist(), strict=True)
    }


def queries(*numbers: int, tenant: str = "acme") -> list[dict[str, Any]]:
    return [query(f"q{number}", number, tenant) for number in numbers]


def begin(clerk: Clerk, batch: int, nodes: int = 2, *, again: bool = False) -> Begun:
    return clerk.begin(batch, nodes, again=again)


def test_what_is_submitted_runs_with_the_next_batch_and_what_is_dropped_does_not(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    assert members(begin(clerk, 0).families) == {}
    assert clerk.submit(queries(0, 1, 2, 3)).accepted == ("q0", "q1", "q2", "q3")
    assert clerk.waiting["name"].to_list() == ["q0", "q1", "q2", "q3"]
    assert sorted(members(begin(clerk, 1).families)) == ["q0", "q1", "q2", "q3"]
    assert clerk.drop(["q1"]) == ("q1",)
    clerk.submit(queries(4))
    begun = begin(clerk, 2)
    assert sorted(members(begun.families)) == ["q0", "q2", "q3", "q4"]
    assert set(members(begun.families).values()) <= {0, 1}
    assert sorted(members(begun.before)) == ["q0", "q1", "q2", "q3"]


def test_python_queries_are_taken_as_those_of_a_file(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit([parsed(one) for one in queries(0, 1)])
    assert sorted(members(begin(clerk, 0).families)) == ["q0", "q1"]


def test_a_name_that_comes_again_is_another_member(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(0))
    first = [table.table[MEMBER].to_pylist() for table in begin(clerk, 0).families.by_id.values()]
    clerk.drop(["q0"])
    clerk.submit(queries(0))
    then = [table.table[MEMBER].to_pylist() for table in begin(clerk, 1).families.by_id.values()]
    assert (first, then) == ([[0]], [[1]])


def test_each_is_refused_by_itself_and_atomic_takes_all_or_none(tmp_path: Path) -> None:
    clerk = opened(tmp_path, acme={"queries": 2})
    bad = {"name": "bad", "operators": {"f": {"kind": "filter", "input": "nowhere", "where": "true"}}}
    receipt = clerk.submit([queries(0)[0], bad, queries(0)[0], *queries(1, 2)])
    assert receipt.accepted == ("q0", "q1")
    assert [(one.index, one.name) for one in receipt.refused] == [(1, "bad"), (2, "q0"), (4, "q2")]
    told = [one.faults[0].text for one in receipt.refused]
    assert "there is no such stream" in told[0]
    assert "has that name" in told[1]
    assert "it has 2 queries and may have 2" in told[2]
    held = clerk.submit([*queries(5, tenant="b"), bad], atomic=True)
    assert held.accepted == ()
    assert "all were to be taken or none, and 1 of 2 cannot be" in held.refused[0].faults[0].text
    assert clerk.submit(queries(5, 6, tenant="b"), atomic=True).accepted == ("q5", "q6")


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        pytest.param(["q0", "p1"], {}, "there is no query 'p1', so nothing is dropped", id="unknown"),
        pytest.param(["q1"], {"tenant": "acme"}, "is of tenant 'b', not 'acme'", id="another tenant's"),
        pytest.param([], {}, "either name", id="nobody"),
        pytest.param(["q0"], {"every": True}, "either name", id="both"),
    ],
)
def test_a_bad_drop_drops_nothing(tmp_path: Path, names: list[str], options: dict[str, Any], said: str) -> None:
    clerk = opened(tmp_path)
    clerk.submit([*queries(0), *queries(1, tenant="b")])
    with pytest.raises(DroverError, match=said):
        clerk.drop(names, **options)
    assert len(members(begin(clerk, 0).families)) == 2
    assert clerk.drop(tenant="b", every=True) == ("q1",)


def test_what_was_accepted_is_there_after_a_crash(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(0, 1))
    begin(clerk, 0)
    clerk.submit(queries(2))
    clerk.drop(["q0"])
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})  # the other was killed after the commit of batch 0
    assert again.submit(queries(1)).refused[0].name == "q1"
    assert sorted(members(again.families)) == ["q0", "q1"]
    assert sorted(members(begin(again, 1).families)) == ["q1", "q2"]


def test_a_batch_that_was_begun_begins_as_it_did(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*range(8)))
    first = members(begin(clerk, 0).families)
    again = opened(tmp_path)  # killed before the commit of batch 0
    again.submit(queries(9))
    again.drop(["q3"])
    assert members(begin(again, 0, again=True).families) == first
    assert sorted(members(begin(again, 1).families)) == sorted({*first, "q9"} - {"q3"})
    # A batch that was begun without anything new is repeated without anything new.
    third = opened(tmp_path, 1, {"turn": 1, "failed": {}})
    third.submit(queries(10))
    assert "q10" not in members(begin(third, 2, again=True).families)
    assert "q10" in members(begin(third, 3).families)


def test_queries_leave_nodes_that_are_gone_even_if_the_batch_was_begun(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*range(8)))
    assert set(members(begin(clerk, 0).families).values()) == {0, 1}
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    # The plan of one node was written, the turn was not: nothing of the batch can have been computed.
    assert set(members(begin(again, 1, 1, again=True).families).values()) == {0}
    again.closed = lambda: frozenset({1})
    assert set(members(begin(again, 2, 2).families).values()) == {0}


@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_starts_with_fewer_nodes_uses_those(tmp_path: Path, again: bool) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*range(8)))
    before = members(begin(clerk, 0).families)
    fewer = opened(tmp_path, 0, {"turn": 0, "failed": {}}, nodes=1)
    assert set(members(begin(fewer, 1, 1, again=again).families).values()) == {0}
    (tmp_path / "queries" / "turn-000000000001.arrow").unlink()
    same = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    assert members(begin(same, 1, 2, again=again).families) == before


def test_who_failed_is_parked_with_the_reason_and_keeps_the_name(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(0, 1))
    begin(clerk, 0)
    again = opened(tmp_path, 0, {"turn": 0, "failed": {"0": "it divides"}})  # known from the commit alone
    begun = begin(again, 1)
    assert sorted(members(begun.families)) == ["q1"]
    assert begun.book.members["parked"].to_list() == ["it divides", None]
    assert again.submit(queries(0)).accepted == ()
    again.drop(["q0"])
    assert again.submit(queries(0)).accepted == ("q0",)


def test_a_tenant_over_its_limit_loses_its_heaviest(tmp_path: Path) -> None:
    clerk = opened(tmp_path, acme={"state": 100})
    clerk.submit([*queries(0, 4), *queries(8, tenant="b")])
    begun = begin(clerk, EVERY)
    (family,) = begun.families.by_id
    standing = Standing()
    rows = {"member": [0, 1, 2], "rows_in": [5] * 3, "rows_out": [1] * 3, "state_rows": [1] * 3}
    table = pl.DataFrame({**rows, "state_bytes": [90, 40, 500], "busy": [0.5, 0.1, 0.1]}).to_arrow()
    standing.take(2.0, 0.3, [Tally(family, 0, 15, 3, 630, 0.7, table)])
    assert standing.figures().select("rows_in", "state_bytes").rows() == [(2.5, 90), (2.5, 40), (2.5, 500)]
    Inspector(clerk, standing).look(EVERY)
    assert sorted(members(begin(clerk, EVERY + 1).families)) == ["q4", "q8"]
    assert "over its limit: its queries took 130 bytes of state" in str(clerk.book.members["parked"][0])


def test_a_stopped_run_lists_and_drops(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(0, 1, 2, tenant="b"))
    shutil.rmtree(tmp_path / "families", ignore_errors=True)
    found = stopped.table(str(tmp_path))
    assert found.select("query", "tenant", "state").rows() == [(f"q{n}", "b", "waiting") for n in range(3)]
    assert stopped.drop(str(tmp_path), ["q1"], None, every=False) == 1
    assert stopped.table(str(tmp_path), "b")["query"].to_list() == ["q0", "q2"]
    assert stopped.table(str(tmp_path), "nobody").height == 0
    assert sorted(members(begin(opened(tmp_path), 0).families)) == ["q0", "q2"]


def test_files_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.flow.book.files.LEAST_CHAIN", 0)
    clerk = opened(tmp_path)
    for batch in range(12):
        clerk.submit(queries(batch))
        if batch >= 3:
            clerk.drop([f"q{batch - 3}"])
        begin(clerk, batch)
        clerk.tidy()
    assert len(list((tmp_path / "queries").iterdir())) < 12
    assert len(list((tmp_path / "families").iterdir())) <= 4
    again = opened(tmp_path, 11, {"turn": 11, "failed": {}})
    assert members(again.families) == members(clerk.families)


def test_a_run_that_has_ended_takes_nothing(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.close()
    with pytest.raises(DroverError, match="has ended"):
        clerk.submit(queries(0))


def test_a_book_that_lacks_a_turn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="turn-000000000004"):
        opened(tmp_path, 5, {"turn": 4, "failed": {}})


def test_the_herd_learns_the_rates_of_topics(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(2, 6, 22, 26))  # s2, s6, s2, s6
    (family,) = begin(clerk, 0).families.by_id
    standing = Standing()
    zeros = {"rows_out": [0] * 4, "state_rows": [0] * 4, "state_bytes": [0] * 4, "busy": [0.0] * 4}
    table = pl.DataFrame({"member": range(4), "rows_in": [8, 0, 8, 0], **zeros}).to_arrow()
    standing.take(2.0, 0.3, [Tally(family, 0, 16, 0, 0, 0.0, table)])
    found = topic_rates(clerk.families, standing.figures())
    assert found == {("readings", "`site`", "s2"): 4.0, ("readings", "`site`", "s6"): 0.01}
    Inspector(clerk, standing).look(0)
    assert clerk.measure({}) >= 1


def test_a_query_weighs_what_its_family_was_measured_to_cost(tmp_path: Path) -> None:
    standing = Standing()
    assert standing.weights() == {}
    table = pl.DataFrame({"member": [0, 1]}).to_arrow()
    standing.take(1.0, 0.1, [Tally("dear", 0, 0, 0, 0, 0.6, table), Tally("cheap", 0, 0, 0, 0, 0.2, table)])
    assert standing.weights() == pytest.approx({"dear": 1.5, "cheap": 0.5})
    clerk = opened(tmp_path)
    asked: list[str] = []

    def weigh(family: str) -> float:
        asked.append(family)
        return 1.0

    clerk.weight_of = weigh
    clerk.submit(queries(0, 1))
    assert len(set(asked)) == 2


def test_a_query_moves_by_hand_with_the_next_batch_and_stays_there(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*range(8)))
    first = members(begin(clerk, 0).families)
    wanted = {**first, "q3": 1 - first["q3"]}
    clerk.move("q3", wanted["q3"])
    assert members(clerk.families) == first
    begun = begin(clerk, 1)
    assert members(begun.families) == wanted
    assert sum(arrivals(begun).values(), ()) == (first["q3"],)  # its state comes from where it was
    assert members(begin(clerk, 2).families) == wanted
    assert not (tmp_path / "queries" / "turn-000000000002.arrow").exists()
    # Killed while batch 1 ran: it is repeated as it was, and the herd knows.
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    again.move("q4", 1 - first["q4"])
    assert members(begin(again, 1, again=True).families) == wanted
    assert members(begin(again, 2).families) == {**wanted, "q4": 1 - first["q4"]}
    # Killed after its commit.
    assert members(opened(tmp_path, 2, {"turn": 2, "failed": {}}).families)["q3"] == wanted["q3"]


def test_a_query_that_waits_begins_where_it_was_moved_to(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*range(4)))
    for number in range(4):
        clerk.move(f"q{number}", 1)
    clerk.drop(["q0"])
    assert members(begin(clerk, 0).families) == {"q1": 1, "q2": 1, "q3": 1}
    clerk.move("q1", 0)
    clerk.move("q2", 0)
    clerk.drop(["q1"])
    assert members(begin(clerk, 1).families) == {"q2": 0, "q3": 1}


def test_who_is_moved_to_a_node_that_is_lost_is_placed_again(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(0, 1))
    begin(clerk, 0)
    clerk.move("q0", 1)
    clerk.closed = lambda: frozenset({1})
    assert set(members(begin(clerk, 1).families).values()) == {0}
    clerk.closed = frozenset
    with pytest.raises(DroverError, match="node 1 is lost or is being emptied"):
        clerk.move("q0", 1)  # it may be used again from the next batch on


@pytest.mark.parametrize(
    ("name", "node", "said"),
    [
        pytest.param("q9", 0, r"there is no query 'q9'\. See drover queries", id="unknown"),
        pytest.param("q0", 0, "query 'q0' is parked, so it cannot move: it divides", id="parked"),
        pytest.param("q1", 0, "query 'q1' is parked, so it cannot move: it fails", id="to be parked"),
        pytest.param("q2", 2, "node is 2, but the nodes are 0 to 1", id="no node"),
        pytest.param("q2", 1, "node 1 is lost or is being emptied, so query 'q2' cannot", id="a closed node"),
    ],
)
def test_a_bad_move_moves_nothing(tmp_path: Path, name: str, node: int, said: str) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(0, 1, 2))
    begin(clerk, 0)
    clerk.park({0: "it divides"})
    begin(clerk, 1)
    clerk.park({1: "it fails"})
    clerk.closed = lambda: frozenset({1})
    before = members(clerk.families)
    with pytest.raises(DroverError, match=said):
        clerk.move(name, node)
    assert members(clerk.families) == before
    assert not clerk._moving


def test_refinement_moves_as_many_as_it_may_through_a_turn(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*(4 * n + 2 for n in range(100))))  # five sites, twenty of each
    first = members(begin(clerk, 0).families)
    for n in range(0, 100, 7):
        clerk.move(f"q{4 * n + 2}", 1 - first[f"q{4 * n + 2}"])
    worse = members(begin(clerk, 1).families)
    before = clerk.measure({})
    refiner = Refiner(clerk, 0.05)
    refiner.look(EVERY, 1.0)  # nothing is earned yet
    refiner.look(EVERY + 1, 3600.0)  # it is not time yet
    refiner.join()
    assert members(begin(clerk, 2).families) == worse
    refiner.look(2 * EVERY, 1.0)
    refiner.join()
    after = members(begin(clerk, 3).families)
    moved = [name for name in worse if after[name] != worse[name]]
    assert 1 <= len(moved) <= 5
    assert clerk.measure({}) < before
    assert (tmp_path / "queries" / "turn-000000000003.arrow").exists()
    assert members(opened(tmp_path, 3, {"turn": 3, "failed": {}}).families) == after
    refiner.look(3 * EVERY, 1.0)  # it has moved its share
    refiner.join()
    assert len([name for name, node in members(begin(clerk, 4).families).items() if node != worse[name]]) <= 5


def test_without_a_share_nobody_looks(tmp_path: Path) -> None:
    clerk = opened(tmp_path)
    clerk.submit(queries(*range(8)))
    refiner = Refiner(clerk)
    refiner.look(0, 10.0**6)
    assert refiner._thread is None


def wide(name: str, columns: int) -> dict[str, Any]:
    """A query of some 300 characters per column, each of which would be six as an escape of JSON."""
    select = {f"c{number}": f"concat(site, '{'é' * 280}')" for number in range(columns)}
    return {"name": name, "operators": {"m": {"kind": "map", "input": "readings", "select": select}}}


def test_what_is_too_long_to_be_read_again_is_refused_and_what_is_not_is_read(tmp_path: Path) -> None:
    receipt = opened(tmp_path).submit([wide("fits", 150), wide("over", 250)])
    assert receipt.accepted == ("fits",)
    assert "a query has at most 65536 characters, written as JSON" in receipt.refused[0].faults[0].text
    begun = begin(opened(tmp_path), 0)
    assert members(begun.families).keys() == {"fits"}
    assert begun.book.members["parked"].to_list() == [None]
