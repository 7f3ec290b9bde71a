from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from polars.testing import assert_frame_equal

from drover.errors import DroverError
from drover.network.functions import columns_of
from drover.network.model import Network
from drover.network.parts import Source
from drover.network.types import SIMPLE, decimal, polars_type
from drover_lab.generate import AggregateParameters, DagParameters, RowParameters, aggregates, dags, rows
from drover_lab.generate.rows import key_names
from tests.network.cases import an_aggregate
from tests.strategies import networks

KINDS = {str(kind): kind for kind in (*SIMPLE.values(), decimal(5, 2), decimal(1, 1), decimal(38, 10))}


def one_source(columns: dict[str, str], time: str | None = None, lateness: int = 0) -> Network:
    return Network("n", (Source("s", columns_of(columns), time, lateness),), (), ("s",))


def column(kind: str, parameters: RowParameters | None = None) -> pl.Series:
    return rows(one_source({"x": kind}), 400, default_rng(1), parameters or RowParameters())["s"]["x"]


@settings(max_examples=50)
@given(networks(max_operators=3), st.integers(0, 20), st.integers(0, 2**32))
def test_every_source_gets_its_rows_with_its_types(network: Network, count: int, seed: int) -> None:
    frames = rows(network, count, default_rng(seed))
    assert list(frames) == [source.name for source in network.sources]
    for source in network.sources:
        frame = frames[source.name]
        assert frame.height == count
        assert dict(frame.schema) == {name: polars_type(kind) for name, kind in source.schema.types.items()}
        assert source.time is None or frame[source.time].null_count() == 0


def test_equal_seeds_give_equal_rows() -> None:
    network = dags(default_rng(1))
    first, second, other = (rows(network, 50, default_rng(seed)) for seed in (7, 7, 8))
    for name in first:
        assert_frame_equal(first[name], second[name])
    assert not first["s0"].equals(other["s0"])


@pytest.mark.parametrize("lateness", [0, 1_500, 2_000_000])
def test_disorder_stays_within_the_lateness(lateness: int) -> None:
    network = one_source({"ts": "timestamp", "x": "int"}, "ts", lateness)
    times = rows(network, 2000, default_rng(1), RowParameters(gap=1000))["s"]["ts"]
    behind = (times.cum_max().shift(1) - times).drop_nulls().max()
    assert isinstance(behind, timedelta)
    assert behind <= timedelta(microseconds=lateness)
    assert times.is_sorted() == (lateness < 1000)  # event times are whole milliseconds


def test_event_times_begin_at_the_start_and_advance_by_the_gap() -> None:
    start = datetime(2030, 5, 1, tzinfo=UTC)
    parameters = RowParameters(start=start, gap=20_000)
    times = rows(one_source({"ts": "timestamp"}, "ts"), 4000, default_rng(1), parameters)["s"]["ts"]
    assert times[0] >= start
    assert times[-1] - times[0] == pytest.approx(timedelta(seconds=80), abs=timedelta(seconds=6))
    assert times.n_unique() < len(times)  # some are equal


@pytest.mark.parametrize("kind", KINDS)
def test_nulls_are_sprinkled_over_every_type(kind: str) -> None:
    assert 0 < column(kind).null_count() < 60
    assert column(kind, RowParameters(nulls=0)).null_count() == 0
    assert column(kind, RowParameters(nulls=1)).null_count() == 400


@pytest.mark.parametrize("kind", ["float", "double"])
def test_floats_are_multiples_of_an_eighth_whose_sums_are_exact(kind: str) -> None:
    values = column(kind).drop_nulls().cast(pl.Float64)
    assert ((values * 8) % 1 == 0).all()
    assert values.is_between(-128, 128).all()
    assert values.sum() == values.shuffle(seed=1).sum()
    assert values.n_unique() > 200


@pytest.mark.parametrize("kind", ["int", "string", "bigint", "double", "decimal(5,2)", "date", "timestamp", "binary"])
def test_keys_take_few_values_and_others_many(kind: str) -> None:
    source = Source("events", columns_of({"ts": "timestamp", "key": kind, "other": kind}), "ts")
    network = Network("n", (source,), (an_aggregate(group_by=["key"]),), ("counted",))
    frame = rows(network, 1000, default_rng(1), RowParameters(keys=4))["events"].drop_nulls()
    assert frame["key"].n_unique() == 4
    assert frame["other"].n_unique() > 8


def test_keys_are_the_columns_by_which_operators_find_rows() -> None:
    assert key_names(aggregates(AggregateParameters(streams=1))) == {"src", "dst"}
    assert key_names(dags(default_rng(1), DagParameters(operators=60))) == {"key", "tag"}


def test_different_keys_are_different_values() -> None:
    source = Source("events", columns_of({"ts": "timestamp"} | {f"k{i}": k for i, k in enumerate(KINDS)}), "ts")
    keys = [f"k{i}" for i in range(len(KINDS))]
    network = Network("n", (source,), (an_aggregate(group_by=keys),), ("counted",))
    frame = rows(network, 500, default_rng(1), RowParameters(keys=5, nulls=0))["events"]
    counts = {kind: frame[key].n_unique() for key, kind in zip(keys, KINDS, strict=True)}
    assert counts == dict.fromkeys(KINDS, 5) | {"boolean": 2}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"keys": 0}, "keys is 0, but must be from 1 to 100", id="no key"),
        pytest.param({"nulls": -0.1}, "nulls is -0.1", id="no probability"),
        pytest.param({"gap": -1}, "gap is -1", id="time that runs back"),
    ],
)
def test_parameters_that_make_no_rows_are_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(DroverError, match=says):
        RowParameters(**fields)  # type: ignore[arg-type]  # that it is refused is the point
