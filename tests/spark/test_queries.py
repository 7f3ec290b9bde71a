"""Submitted queries on a real run: ten thousand at once, dropped and added under load, against the oracle."""

from __future__ import annotations

import random
import time

from pyspark.sql import SparkSession

from drover.spark.sinks import Memory
from tests.spark.conftest import Worlds
from tests.spark.queries import assert_answers, expected, files_by_batch, meters, query, readings

MANY = 10_000
BAD = {
    "syntax": ("bad-syntax", {"f": {"kind": "filter", "input": "readings", "where": "site ="}}),
    "unknown stream": ("bad-stream", {"f": {"kind": "filter", "input": "reading", "where": "true"}}),
    "unknown column": ("bad-column", {"f": {"kind": "filter", "input": "readings", "where": "sit = 'a'"}}),
    "type error": ("bad-type", {"f": {"kind": "filter", "input": "readings", "where": "value + 1"}}),
    "forbidden kind": (
        "bad-kind",
        {"u": {"kind": "user", "input": "readings", "function": "os:system", "columns": {}}},
    ),
    "name taken": ("q0", {"f": {"kind": "filter", "input": "readings", "where": "true"}}),
}


def wait(handle, condition, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        assert handle.isActive
        time.sleep(0.05)


def test_ten_thousand_queries_come_and_go_under_load(spark: SparkSession, worlds: Worlds) -> None:
    network = meters()
    world = worlds(network)
    files = [readings(number) for number in range(12)]
    world.add(files[:2])
    sink = Memory()
    handle = world.start(trigger={"processingTime": "0 seconds"}, queries=sink, limits={"few": {"queries": 1}})
    handle.processAllAvailable()
    given = {f"q{number}": query(f"q{number}", number) for number in range(MANY)}
    bad = [{"name": name, "operators": operators} for name, operators in BAD.values()]
    few = [query("few-1", 1, "few"), query("few-2", 2, "few")]
    before = handle.recentProgress[-1]["batch"]
    t = time.monotonic()
    receipt = handle.submit([*given.values(), *bad, *few])
    print("submit", time.monotonic() - t)
    assert len(receipt.accepted) == MANY + 1
    assert [one.name for one in receipt.refused] == [*(name for name, _ in BAD.values()), "few-2"]
    for one in receipt.refused:
        print(one.name, one.faults[0].text)
    world.add(files[2:5])
    handle.processAllAvailable()
    live = handle.queries().filter(state="live")
    assert live.height == MANY + 1
    assert live["since"].max() <= before + 3
    print([(p["batch"], p["seconds"], p.get("queries")) for p in handle.recentProgress])
    sample = random.Random(3).sample(sorted(given), 40)
    numbered = files_by_batch(handle, files[:5])
    since = live["since"].max()
    wanted = expected(
        spark, network, {name: given[name] for name in sample}, {b: f for b, f in numbered.items() if b >= since}
    )
    assert assert_answers(handle, wanted) > 0
