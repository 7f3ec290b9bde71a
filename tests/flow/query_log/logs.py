"""Small changes and placements for the tests of the query log."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drover.flow.query_log.log import ADDED, Change, QueryLog


def change(serial: int, numbers: Sequence[int] = (), dropped: Sequence[int] = ()) -> Change:
    rows = [(number, f"q{number}", "acme", "f", f"text {number}") for number in numbers]
    return Change(serial, pl.DataFrame(rows, schema=ADDED, orient="row"), tuple(dropped))


def placed(nodes: dict[int, int]) -> pl.DataFrame:
    schema = {"number": pl.Int64, "node": pl.Int32}
    return pl.DataFrame({"number": list(nodes), "node": list(nodes.values())}, schema=schema)


def numbers(query_log: QueryLog) -> list[int]:
    return query_log.members["number"].to_list()
