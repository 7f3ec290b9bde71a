"""Texts that grow from operator to operator."""

from __future__ import annotations

import pytest

import drover
from drover.errors import NetworkError
from drover.network.queries import examine_query
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


def test_a_submitted_query_is_checked_alike() -> None:
    where = "length(repeat(repeat(site, 9000), 9000)) > 1"
    poison = {"name": "q", "operators": {"f": {"kind": "filter", "input": "readings", "where": where}}}
    assert any("and this one 81,000,000 times" in fault.text for fault in examine_query(parsed(poison), meters()))
