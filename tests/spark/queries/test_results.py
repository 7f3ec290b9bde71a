"""Results of queries: one table for each set of columns, and a sink for each table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.queries.results import LONGEST, QueryResults, rows_in_memory, table_name
from drover.spark.sinks import Files, Memory, Several, Sink


def test_the_name_of_a_table_says_its_columns_and_types() -> None:
    numbers = pl.DataFrame({"query": ["a"], "n": [1]})
    texts = pl.DataFrame({"query": ["a"], "n": ["x"]})
    assert table_name(numbers).startswith("n-")
    assert table_name(numbers) != table_name(texts)
    assert table_name(numbers) == table_name(numbers.with_columns(query=pl.lit("b")))
    odd = table_name(pl.DataFrame({"a/b c" * 40: [1]}))
    assert "/" not in odd
    assert len(odd) <= LONGEST + len("-00000000")


def test_tables_go_to_sinks_of_their_own(spark: SparkSession) -> None:
    sink = Memory()
    results = QueryResults(sink)
    results.write([pl.DataFrame({"query": ["q"], "n": [1]}), pl.DataFrame({"query": ["r"], "s": ["x"]})], 0, spark)
    results.write([pl.DataFrame({"query": ["q"], "n": [2]})], 1, spark)
    assert rows_in_memory(sink, "q").to_dict(as_series=False) == {"n": [1, 2]}
    assert rows_in_memory(sink, "r").to_dict(as_series=False) == {"s": ["x"]}


@pytest.mark.parametrize("kind", ["memory", "parquet", "csv"])
def test_a_table_that_a_repeated_batch_does_not_write_loses_the_rows_of_the_first_attempt(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    memory = Memory()
    sink: Sink = memory if kind == "memory" else Several((Files(str(tmp_path), kind), memory))
    first = pl.DataFrame({"query": ["q"], "n": [1]})
    other = pl.DataFrame({"query": ["r"], "s": ["x"]})
    results = QueryResults(sink)
    for batch in (0, 1):
        results.write([first, other], batch, spark)
    QueryResults(sink).write([other], 1, spark, again=True)
    assert rows_in_memory(sink, "q").height == 1
    assert rows_in_memory(sink, "r").height == 2
    if kind != "memory":
        found = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.glob("*/*"))
        names = [f"{table_name(first)}/{0:012}", *(f"{table_name(other)}/{batch:012}" for batch in (0, 1))]
        assert found == [f"{name}.{kind}" for name in names]


def test_rows_are_found_among_several_sinks(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    kept = Memory()
    sink = Several((Files(str(tmp_path_factory.mktemp("files"))), kept))
    QueryResults(kept).write([pl.DataFrame({"query": ["q"], "n": [1]})], 0, spark)
    assert rows_in_memory(sink, "q").height == 1


def test_without_a_sink_in_memory_there_are_no_rows() -> None:
    with pytest.raises(DroverError, match="no sink keeps results of queries in memory"):
        rows_in_memory(None, "q")
