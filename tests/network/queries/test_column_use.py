"""Which columns and constants operators use, and which columns they need of their inputs."""

from __future__ import annotations

import pytest

from drover.network.model import late_streams
from drover.network.operators import Map, Named, Operator
from drover.network.queries import Query
from drover.network.queries.column_use import ColumnUse, columns_used, input_columns
from drover.network.queries.parameterized import ParameterizedQuery, parameterize_query
from drover.network.schema import Schema
from tests.network.queries.cases import NETWORK, filtering, window


def parameterized(*operators: Operator) -> tuple[ParameterizedQuery, Operator, tuple[Schema, ...]]:
    query = Query("q", "t", operators, operators[-1].outputs[0])
    found, _ = parameterize_query(query, NETWORK, late_streams(NETWORK))
    return found, found.operators[0], (NETWORK.streams["events"],)


@pytest.mark.parametrize(
    ("operator", "columns", "constants"),
    [
        pytest.param(filtering("source = 'a' AND x > 1").operators[0], {"source", "x"}, (0, 1), id="filter"),
        pytest.param(Map(name="m", input="events", select=(Named("y", "k + 1"),)), {"k"}, (0,), id="map"),
        pytest.param(window("w", "events"), set(), (), id="count(*)"),
    ],
)
def test_columns_and_constants_of_an_operator(
    operator: Operator, columns: set[str], constants: tuple[int, ...]
) -> None:
    query, changed, schemas = parameterized(operator)
    assert columns_used(changed, schemas, query) == ColumnUse((frozenset(columns),), constants)


@pytest.mark.parametrize(
    ("operator", "wanted", "needed"),
    [
        pytest.param(filtering("x > 1").operators[0], {"k"}, {"x", "k"}, id="a filter passes columns on"),
        pytest.param(Map(name="m", input="events", select=(Named("y", "k"),)), {"y"}, {"k"}, id="a map makes its own"),
        pytest.param(window("w", "events", group_by=("source",)), {"n"}, {"source", "ts"}, id="groups and event time"),
    ],
)
def test_columns_that_an_operator_needs(operator: Operator, wanted: set[str], needed: set[str]) -> None:
    query, changed, schemas = parameterized(operator)
    use = columns_used(changed, schemas, query)
    assert input_columns(changed, use, schemas, {changed.outputs[0]: frozenset(wanted)}) == (frozenset(needed),)
