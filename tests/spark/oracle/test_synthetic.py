"""What synthetic load means: each row as often as its hash says, and no time is spent."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import SparkSession

from tests.spark.oracle.scopes import one_source, run, scope_of


def test_rows_are_repeated(spark: SparkSession) -> None:
    network = one_source(
        lambda s: {
            "none": s.synthetic("none", cost=60, selectivity=0),
            "twice": s.synthetic("twice", cost=60, selectivity=2),
            "more": s.synthetic("more", cost=60, selectivity=1.25),
        }
    )
    rows = [(i, "a", i, 0) for i in range(1000)]
    found = run(scope_of(spark, network, {"s": rows}))
    copies = {stream: Counter(each) for stream, each in found.items()}
    assert found["none"] == []
    assert set(copies["twice"].values()) == {2}
    assert len(copies["twice"]) == len(copies["more"]) == len(rows)
    assert set(copies["more"].values()) == {1, 2}
    assert 1200 < len(found["more"]) < 1300
