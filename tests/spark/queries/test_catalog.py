"""The catalog without Spark: accepted queries are durable, replayed batches start alike, and moves are carried out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drover.control.query_placer import QueryPlacer
from drover.errors import DroverError, StateError
from drover.flow.families.members import MEMBER
from drover.spark.queries.batch import arrivals
from tests.spark.meters import parsed
from tests.spark.queries.catalogs import begin, nodes_of, opened, queries


def test_the_next_batch_runs_submitted_queries_and_not_dropped_ones(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    assert nodes_of(begin(catalog, 0).families) == {}
    assert catalog.submit(queries(0, 1, 2, 3)).accepted == ("q0", "q1", "q2", "q3")
    assert catalog.tables()[1]["name"].to_list() == ["q0", "q1", "q2", "q3"]
    assert sorted(nodes_of(begin(catalog, 1).families)) == ["q0", "q1", "q2", "q3"]
    assert catalog.drop(["q1"]) == ("q1",)
    catalog.submit(queries(4))
    start = begin(catalog, 2)
    assert sorted(nodes_of(start.families)) == ["q0", "q2", "q3", "q4"]
    assert set(nodes_of(start.families).values()) <= {0, 1}
    assert sorted(nodes_of(start.before)) == ["q0", "q1", "q2", "q3"]


def test_query_objects_are_accepted_like_queries_of_a_file(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit([parsed(one) for one in queries(0, 1)])
    assert sorted(nodes_of(begin(catalog, 0).families)) == ["q0", "q1"]


def test_a_name_that_is_used_again_gets_a_new_number(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0))
    first = [table.table[MEMBER].to_pylist() for table in begin(catalog, 0).families.by_id.values()]
    catalog.drop(["q0"])
    catalog.submit(queries(0))
    then = [table.table[MEMBER].to_pylist() for table in begin(catalog, 1).families.by_id.values()]
    assert (first, then) == ([[0]], [[1]])


def test_each_query_is_refused_on_its_own_and_atomic_accepts_all_or_none(tmp_path: Path) -> None:
    catalog = opened(tmp_path, acme={"queries": 2})
    bad = {"name": "bad", "operators": {"f": {"kind": "filter", "input": "nowhere", "where": "true"}}}
    receipt = catalog.submit([queries(0)[0], bad, queries(0)[0], *queries(1, 2)])
    assert receipt.accepted == ("q0", "q1")
    assert [(one.index, one.name) for one in receipt.refused] == [(1, "bad"), (2, "q0"), (4, "q2")]
    texts = [one.faults[0].text for one in receipt.refused]
    assert "there is no such stream" in texts[0]
    assert "has that name" in texts[1]
    assert "it has 2 queries and may have 2" in texts[2]
    held = catalog.submit([*queries(5, tenant="b"), bad], atomic=True)
    assert held.accepted == ()
    assert "with atomic all queries are accepted or none, and 1 of 2 are refused" in held.refused[0].faults[0].text
    assert catalog.submit(queries(5, 6, tenant="b"), atomic=True).accepted == ("q5", "q6")


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        pytest.param(["q0", "p1"], {}, "there is no query 'p1', so nothing is dropped", id="unknown"),
        pytest.param(["q1"], {"tenant": "acme"}, "belongs to tenant 'b', not 'acme'", id="query of another tenant"),
        pytest.param([], {}, "either name", id="neither"),
        pytest.param(["q0"], {"every": True}, "either name", id="both"),
    ],
)
def test_a_refused_drop_drops_nothing(tmp_path: Path, names: list[str], options: dict[str, Any], said: str) -> None:
    catalog = opened(tmp_path)
    catalog.submit([*queries(0), *queries(1, tenant="b")])
    with pytest.raises(DroverError, match=said):
        catalog.drop(names, **options)
    assert len(nodes_of(begin(catalog, 0).families)) == 2
    assert catalog.drop(tenant="b", every=True) == ("q1",)


def test_accepted_queries_survive_a_crash(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    begin(catalog, 0)
    catalog.submit(queries(2))
    catalog.drop(["q0"])
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})  # the other was killed after the commit of batch 0
    assert again.submit(queries(1)).refused[0].name == "q1"
    assert sorted(nodes_of(again.families)) == ["q0", "q1"]
    assert sorted(nodes_of(begin(again, 1).families)) == ["q1", "q2"]


def test_a_replayed_batch_starts_with_the_same_queries(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(8)))
    first = nodes_of(begin(catalog, 0).families)
    again = opened(tmp_path)  # killed before the commit of batch 0
    again.submit(queries(9))
    again.drop(["q3"])
    assert nodes_of(begin(again, 0, again=True).families) == first
    assert sorted(nodes_of(begin(again, 1).families)) == sorted({*first, "q9"} - {"q3"})
    # A batch that began without a manifest is replayed without pending changes.
    third = opened(tmp_path, 1, {"turn": 1, "failed": {}})
    third.submit(queries(10))
    assert "q10" not in nodes_of(begin(third, 2, again=True).families)
    assert "q10" in nodes_of(begin(third, 3).families)


def test_queries_leave_lost_nodes_even_if_the_batch_had_begun(tmp_path: Path) -> None:
    closed: set[int] = set()
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(8)))
    assert set(nodes_of(begin(catalog, 0).families).values()) == {0, 1}
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}}, closed_nodes=lambda: closed)
    # The plan of one node was written and the manifest was not, so nothing of the batch was computed.
    assert set(nodes_of(begin(again, 1, 1, again=True).families).values()) == {0}
    closed.add(1)
    assert set(nodes_of(begin(again, 2, 2).families).values()) == {0}


@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_starts_with_fewer_nodes_uses_those(tmp_path: Path, again: bool) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(8)))
    before = nodes_of(begin(catalog, 0).families)
    fewer = opened(tmp_path, 0, {"turn": 0, "failed": {}}, nodes=1)
    assert set(nodes_of(begin(fewer, 1, 1, again=again).families).values()) == {0}
    (tmp_path / "queries" / "turn-000000000001.arrow").unlink()
    same = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    assert nodes_of(begin(same, 1, 2, again=again).families) == before


def test_a_failed_query_is_parked_with_the_reason_and_keeps_its_name(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    begin(catalog, 0)
    again = opened(tmp_path, 0, {"turn": 0, "failed": {"0": "it divides"}})  # known from the commit alone
    start = begin(again, 1)
    assert sorted(nodes_of(start.families)) == ["q1"]
    assert start.query_log.members["parked"].to_list() == ["it divides", None]
    assert again.submit(queries(0)).accepted == ()
    again.drop(["q0"])
    assert again.submit(queries(0)).accepted == ("q0",)


def test_compaction_keeps_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.flow.query_log.files.LEAST_CHAIN", 0)
    catalog = opened(tmp_path)
    for batch in range(12):
        catalog.submit(queries(batch))
        if batch >= 3:
            catalog.drop([f"q{batch - 3}"])
        begin(catalog, batch)
        catalog.compact()
    assert len(list((tmp_path / "queries").iterdir())) < 12
    assert len(list((tmp_path / "families").iterdir())) <= 4
    again = opened(tmp_path, 11, {"turn": 11, "failed": {}})
    assert nodes_of(again.families) == nodes_of(catalog.families)


def test_a_closed_catalog_accepts_nothing(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.close()
    with pytest.raises(DroverError, match="has ended"):
        catalog.submit(queries(0))


def test_a_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="turn-000000000004"):
        opened(tmp_path, 5, {"turn": 4, "failed": {}})


def test_a_query_moves_with_the_next_batch_and_stays_there(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(8)))
    first = nodes_of(begin(catalog, 0).families)
    wanted = {**first, "q3": 1 - first["q3"]}
    catalog.move("q3", wanted["q3"])
    assert nodes_of(catalog.families) == first
    start = begin(catalog, 1)
    assert nodes_of(start.families) == wanted
    assert sum(arrivals(start).values(), ()) == (first["q3"],)  # its state comes from its old node
    assert nodes_of(begin(catalog, 2).families) == wanted
    assert not (tmp_path / "queries" / "turn-000000000002.arrow").exists()
    # Killed while batch 1 ran: the replay and the placer have its move.
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    again.move("q4", 1 - first["q4"])
    assert nodes_of(begin(again, 1, again=True).families) == wanted
    assert nodes_of(begin(again, 2).families) == {**wanted, "q4": 1 - first["q4"]}
    # Killed after its commit.
    assert nodes_of(opened(tmp_path, 2, {"turn": 2, "failed": {}}).families)["q3"] == wanted["q3"]


def test_queries_that_wait_when_a_node_joins_start_there(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(100)))
    before = nodes_of(begin(catalog, 0).families)
    catalog.submit(queries(*range(100, 140)))  # the catalog does not know of a third node yet
    catalog.move("q100", 0)
    after = nodes_of(begin(catalog, 1, 3).families)
    assert {name: after[name] for name in before} == before
    assert after["q100"] == 0
    waited = [after[f"q{number}"] for number in range(101, 140)]
    assert waited.count(2) >= 30
    again = opened(tmp_path, 1, {"turn": 1, "failed": {}}, nodes=3)
    assert nodes_of(begin(again, 2, 3).families) == after


def test_a_waiting_query_starts_on_the_node_it_was_moved_to(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(4)))
    for number in range(4):
        catalog.move(f"q{number}", 1)
    catalog.drop(["q0"])
    assert nodes_of(begin(catalog, 0).families) == {"q1": 1, "q2": 1, "q3": 1}
    catalog.move("q1", 0)
    catalog.move("q2", 0)
    catalog.drop(["q1"])
    assert nodes_of(begin(catalog, 1).families) == {"q2": 0, "q3": 1}


def test_a_query_moved_to_a_node_that_is_lost_is_placed_again(tmp_path: Path) -> None:
    closed: set[int] = set()
    catalog = opened(tmp_path, closed_nodes=lambda: closed)
    catalog.submit(queries(0, 1))
    begin(catalog, 0)
    catalog.move("q0", 1)
    closed.add(1)
    assert set(nodes_of(begin(catalog, 1).families).values()) == {0}
    closed.clear()
    with pytest.raises(DroverError, match="node 1 is lost or is being emptied"):
        catalog.move("q0", 1)  # the placer may use it again from the next batch on


@pytest.mark.parametrize(
    ("name", "node", "said"),
    [
        pytest.param("q9", 0, r"there is no query 'q9'\. See drover queries", id="unknown"),
        pytest.param("q0", 0, "query 'q0' is parked, so it cannot move: it divides", id="parked"),
        pytest.param("q1", 0, "query 'q1' is parked, so it cannot move: it fails", id="to be parked"),
        pytest.param("q2", 2, "node is 2, but the nodes are 0 to 1", id="unknown node"),
        pytest.param("q2", 1, "node 1 is lost or is being emptied, so query 'q2' cannot", id="a closed node"),
    ],
)
def test_a_refused_move_moves_nothing(tmp_path: Path, name: str, node: int, said: str) -> None:
    closed: set[int] = set()
    catalog = opened(tmp_path, closed_nodes=lambda: closed)
    catalog.submit(queries(0, 1, 2))
    begin(catalog, 0)
    catalog.park({0: "it divides"})
    begin(catalog, 1)
    catalog.park({1: "it fails"})
    closed.add(1)
    before = nodes_of(catalog.families)
    with pytest.raises(DroverError, match=said):
        catalog.move(name, node)
    assert nodes_of(catalog.families) == before
    assert not catalog._moved


def wide(name: str, columns: int) -> dict[str, Any]:
    """A query of about 300 characters per column; most of them would take six as JSON escapes."""
    select = {f"c{number}": f"concat(site, '{'é' * 280}')" for number in range(columns)}
    return {"name": name, "operators": {"m": {"kind": "map", "input": "readings", "select": select}}}


def test_a_query_too_long_to_be_recovered_is_refused(tmp_path: Path) -> None:
    receipt = opened(tmp_path).submit([wide("fits", 150), wide("over", 250)])
    assert receipt.accepted == ("fits",)
    assert "a query has at most 65536 characters, written as JSON" in receipt.refused[0].faults[0].text
    start = begin(opened(tmp_path), 0)
    assert nodes_of(start.families).keys() == {"fits"}
    assert start.query_log.members["parked"].to_list() == [None]


def test_a_new_query_is_placed_with_the_weight_of_its_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    families = begin(catalog, 0).families.by_id
    dear = next(name for name, family in families.items() if family.table["query"].to_pylist() == ["q0"])
    given: list[list[float]] = []
    monkeypatch.setattr(QueryPlacer, "place", lambda _self, _numbers, _topics, weights: given.append(list(weights)))
    catalog.submit(queries(4, 5), weights={dear: 3.0})
    assert given == [[3.0, 1.0]]
