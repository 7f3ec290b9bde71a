"""Texts that grow from operator to operator."""

from __future__ import annotations

from typing import Any

import pytest

import drover
from drover.errors import NetworkError
from drover.network.queries import Shapes, examine_query
from drover.network.queries.text_shapes import TextShapes
from drover.spark.queries.requests import MANY, check_request
from tests.spark.meters import meters, parsed

COLUMNS = {"ts": "timestamp", "s": "string"}


def chain(*counts: int) -> drover.Network:
    net = drover.Builder("n")
    stream = net.source("events", COLUMNS, time="ts")
    for number, count in enumerate(counts):
        stream = stream.map(f"m{number}", {"ts": "ts", "s": f"repeat(s, {count})"})
    stream.output()
    return net.build()


def test_a_chain_within_the_limit_is_accepted() -> None:
    assert len(chain(100, 100).operators) == 2


def test_a_chain_beyond_the_limit_is_refused_where_it_gets_there() -> None:
    with pytest.raises(NetworkError) as caught:
        chain(1000, 1000)
    (fault,) = caught.value.faults
    assert fault.path == ("operators", "m1", "select", "s")
    assert "at most 20,000 times, and this one 1,000,000 times" in fault.text


def test_a_condition_counts_as_well() -> None:
    net = drover.Builder("n")
    long = net.source("events", COLUMNS, time="ts").map("long", {"ts": "ts", "s": "repeat(s, 9000)"})
    long.filter("some", "length(concat(s, s, s)) > 3").output()
    with pytest.raises(NetworkError, match="27,000 times"):
        net.build()


def test_a_long_literal_counts_from_the_operator_that_writes_it() -> None:
    net = drover.Builder("n")
    long = net.source("events", COLUMNS, time="ts").map("long", {"ts": "ts", "s": f"'{'x' * 500}'"})
    long.map("longer", {"ts": "ts", "s": "repeat(s, 9000)"}).output()
    with pytest.raises(NetworkError, match=r"longer\.select\.s .* at most 1,000,000 characters, and this one of 4,5"):
        net.build()


def repeats(name: str, written: str) -> dict[str, Any]:
    """A query that writes a text and repeats it."""
    made = {"kind": "map", "input": "readings", "select": {"ts": "ts", "s": f"'{written}'"}}
    some = {"kind": "filter", "input": f"{name}-made", "where": "length(repeat(s, 9000)) > 1"}
    return {"name": name, "operators": {f"{name}-made": made, f"{name}-some": some}}


def test_a_query_that_resembles_others_is_refused_for_its_literal_all_the_same() -> None:
    given = [repeats(f"q{number}", f"x{number}") for number in range(MANY + 5)]
    given.append(repeats("poison", "x" * 1_500))
    for some in (given[-2:], given):  # one by one, and as columns
        checked = check_request(some, TextShapes(Shapes(meters())), (), {}, {}, 0)
        assert [one.name for one in checked.refused] == ["poison"]
        assert "at most 1,000,000 characters" in checked.refused[0].faults[0].text


def test_a_query_continues_where_the_network_ends() -> None:
    net = drover.Builder("n")
    net.source("events", COLUMNS, time="ts").map("long", {"ts": "ts", "s": "repeat(s, 9000)"}).output()
    more = {"f": {"kind": "filter", "input": "long", "where": "length(repeat(s, 9000)) > 1"}}
    faults = examine_query(parsed({"name": "q", "operators": more}), net.build())
    assert ["and this one 81,000,000 times" in fault.text for fault in faults] == [True]


def test_a_submitted_query_is_checked_alike() -> None:
    where = "length(repeat(repeat(site, 9000), 9000)) > 1"
    poison = {"name": "q", "operators": {"f": {"kind": "filter", "input": "readings", "where": where}}}
    assert any("and this one 81,000,000 times" in fault.text for fault in examine_query(parsed(poison), meters()))
