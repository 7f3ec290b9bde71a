"""Member tables follow the query log, and topics the rates that were stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from drover.flow.families.members import MEMBER, QUERY
from drover.flow.families.topics import ALL
from drover.flow.query_log.figures import TopicRates
from drover.network.queries import Shapes
from drover.spark.queries.families import families_named, rates_of, tables_of, topics_of
from tests.spark.meters import meters, parsed, query
from tests.spark.queries.catalogs import begin, opened, queries


def test_queries_of_one_shape_are_one_family() -> None:
    shapes = Shapes(meters())
    given = [parsed(query(f"q{number}", number)) for number in (0, 4, 2)]
    tables = tables_of((number, one, shapes.shape_of(one)) for number, one in enumerate(given))
    assert sorted(family.table[QUERY].to_pylist() for family in tables.values()) == [["q0", "q4"], ["q2"]]


def test_an_unchanged_family_keeps_its_table(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 2, 4))
    first = begin(catalog, 0).families.by_id
    catalog.drop(["q4"])
    then = begin(catalog, 1).families.by_id
    kept = {name: family.table is first[name].table for name, family in then.items()}
    members = {name: family.table[MEMBER].to_pylist() for name, family in then.items()}
    assert {tuple(members[name]): same for name, same in kept.items()} == {(0,): False, (1,): True}
    assert families_named(catalog.query_log.members, catalog.query_log.members["number"]) == then.keys()


def test_a_topic_is_a_key_value_or_the_whole_stream() -> None:
    everything = {"name": "b", "operators": {"f": {"kind": "filter", "input": "readings", "where": "value > 3"}}}
    given = [everything, query("a", 2), query("c", 6), query("d", 22), everything]
    shapes = Shapes(meters())
    tables = tables_of((7 + n, one, shapes.shape_of(one)) for n, one in enumerate(map(parsed, given)))
    numbers, read = topics_of(tables.values())
    assert numbers.tolist() == [7, 8, 9, 10, 11]
    found = [[read.topics[t] for t in read.topic[a:b]] for a, b in zip(read.start, read.start[1:], strict=False)]
    by_site = [[("readings", "`site`", site)] for site in ("s2", "s6", "s2")]
    assert found == [[("readings", ALL, None)], *by_site, [("readings", ALL, None)]]
    some, read = topics_of(tables.values(), np.array([9, 10]))
    assert (some.tolist(), [read.topics[t] for t in read.topic]) == ([9, 10], [one for (one,) in by_site[1:]])


def test_topics_that_were_stored_have_their_rates() -> None:
    by_site = TopicRates("readings", "`site`", pl.DataFrame({"value": ["s2", "s6"], "rate": [4.0, 0.5]}))
    everything = TopicRates("readings", ALL, pl.DataFrame({"value": [None], "rate": [9.0]}))
    assert rates_of((by_site, everything)) == {
        ("readings", "`site`", "s2"): 4.0,
        ("readings", "`site`", "s6"): 0.5,
        ("readings", ALL, None): 9.0,
    }
