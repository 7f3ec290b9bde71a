"""The listing of queries: their state, and figures only for those that run."""

from __future__ import annotations

import polars as pl

from drover.flow.query_log.figures import FIGURES
from drover.flow.query_log.log import ADDED, MEMBERS
from drover.spark.queries.listing import listing, summary, to_json

RUNNING = pl.DataFrame(
    [(0, "a", "t", "f", "", 1, 3, None), (1, "b", "u", "f", "", 0, 3, "it failed")], schema=MEMBERS, orient="row"
)
WAITING = pl.DataFrame([(1, "b", "u", "f", ""), (2, "c", "t", "g", "")], schema=ADDED, orient="row")
MEASURED = pl.DataFrame([(0, 2.0, 1.0, 0.5, 3, 99), (1, 9.0, 9.0, 9.0, 9, 9)], schema=FIGURES, orient="row")


def test_every_query_is_listed_once_with_its_state() -> None:
    rows = listing(RUNNING, WAITING, MEASURED, 0.25)
    assert rows.select("query", "state", "node", "since", "state_bytes", "lag", "parked").rows() == [
        ("a", "live", 1, 3, 99, 0.25, None),
        ("b", "parked", 0, 3, None, None, "it failed"),
        ("c", "waiting", None, None, None, None, None),
    ]


def test_a_tenant_sees_only_its_own() -> None:
    rows = listing(RUNNING, WAITING, MEASURED, None, "t")
    assert rows["query"].to_list() == ["a", "c"]
    assert [one["query"] for one in to_json(rows)["queries"]] == ["a", "c"]


def test_the_summary_counts_states_families_and_tenants() -> None:
    counts = {"queries": 3, "live": 1, "waiting": 1, "parked": 1, "families": 1, "tenants": 2}
    assert summary(listing(RUNNING, WAITING, MEASURED, None)) == counts
