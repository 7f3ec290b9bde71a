from __future__ import annotations

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from drover.network.functions import resolve
from drover.network.model import Network
from drover.network.operators import OPERATORS, TableRead, TableWrite, UserDefined
from drover.network.schema import Schema, schema_faults
from drover.network.types import polars_type
from tests.strategies import durations, frames, networks, schemas

QUICK = settings(max_examples=2000, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@given(networks())
def test_every_network_drawn_is_sound(network: Network) -> None:
    assert set(network.streams) >= set(network.outputs)


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_kind_of_operator_is_drawn(kind: str) -> None:
    find(
        networks(kinds=[kind, "filter"]), lambda network: any(o.kind == kind for o in network.operators), settings=QUICK
    )


def test_a_failing_network_shrinks_to_one_source_and_one_operator() -> None:
    least = find(
        networks(),
        lambda network: bool(network.operators),
        settings=settings(max_examples=500, deadline=None, database=None),
    )
    assert (len(least.sources), len(least.operators)) == (1, 1)
    assert least.operators[0].kind == "filter"


@pytest.mark.slow
@given(networks(kinds=["filter", "union"], max_operators=3))
def test_kinds_and_number_of_operators_are_kept_to(network: Network) -> None:
    assert len(network.operators) <= 3
    assert {operator.kind for operator in network.operators} <= {"filter", "union"}


@pytest.mark.slow
@given(networks(kinds=["user", "table_read", "table_write", "filter"], runnable=True, shared_tables=False))
def test_runnable_networks_name_functions_that_exist_and_share_no_table(network: Network) -> None:
    written = {operator.into for operator in network.operators if isinstance(operator, TableWrite)}
    read = {operator.from_table for operator in network.operators if isinstance(operator, TableRead)}
    assert not written & read
    for operator in network.operators:
        if isinstance(operator, UserDefined):
            assert callable(resolve(operator.function))


@given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), frames(schema))))
def test_frames_have_the_types_of_their_schema_and_no_null_event_time(drawn: tuple[Schema, pl.DataFrame]) -> None:
    schema, frame = drawn
    assert not list(schema_faults(schema))
    assert dict(frame.schema) == {name: polars_type(kind) for name, kind in schema.types.items()}
    assert schema.time is None or frame[schema.time].null_count() == 0


@given(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9))
    .map(sorted)
    .flatmap(lambda ends: st.tuples(st.just(ends), durations(ends[0], ends[1])))
)
def test_durations_keep_to_their_bounds(drawn: tuple[list[int], int]) -> None:
    (least, most), micros = drawn
    assert least <= micros <= most
