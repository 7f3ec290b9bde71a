"""A kind that queries may use says how they share it; `lacking` names what its record does not say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

import pytest

from drover.errors import ExpressionError, NetworkError
from drover.network.expressions import AggregateCall
from drover.network.expressions.tree import LEFT, ONLY, RIGHT
from drover.network.model import Network
from drover.network.operators import OPERATORS, Named, Operator, OperatorKind, Union, kind
from drover.network.operators.sharing import GROUP, PAIR, ROW, QuerySharing
from drover.network.queries import KINDS, Query, Shape, shape_of
from drover.network.queries.template import normalize_query
from drover.network.samples import SOURCES
from drover.network.types import BIGINT

NETWORK: Final = Network("streams", tuple(SOURCES.values()), (), tuple(SOURCES))
SHARED: Final = [pytest.param(name, id=name) for name in KINDS]
SHARED_SAMPLES: Final = [
    pytest.param(one, id=f"{name} {one.name}") for name in KINDS for one in OPERATORS[name].samples
]


def query_of(operator: Operator) -> Query:
    """Return a query of one operator, or with a union behind it if it has several outputs: all must be read."""
    if len(operator.outputs) == 1:
        return Query("q", "t", (operator,), operator.name)
    return Query("q", "t", (operator, Union(name="all", streams=operator.outputs)), "all")


def shape(operator: Operator) -> Shape:
    return shape_of(query_of(operator), NETWORK).shape


def lacking(kind: OperatorKind[Any]) -> Iterator[str]:
    """Yield what the sharing of a kind lacks, in words; none means complete."""
    for sample in kind.samples:
        try:
            found = shape(sample)
        except (NetworkError, ExpressionError, AssertionError) as error:
            yield f"columns, form or with_defaults in its sharing: {sample.name} has no shape ({error})"
            continue
        step = found.steps[0]
        if not all(found.member in step.network.streams[stream].types for stream in step.operator.outputs):
            yield f"with_member in its sharing: results of {sample.name} do not say which query they belong to"
        renamed = with_other_branches(kind, sample)
        if renamed.outputs != sample.outputs and shape(renamed).id != found.id:
            yield f"with_numbered_branches in its sharing: names of branches of {sample.name} make another shape"


def with_other_branches(kind: OperatorKind[Any], sample: Operator) -> Operator:
    """Return the sample with other names for its branches, if it has any."""
    changed: dict[str, Any] = {}
    for attribute in (name for field in kind.fields for name in field.targets):
        value = getattr(sample, attribute)
        if isinstance(value, tuple) and any(isinstance(one, Named) and one.name in sample.branches for one in value):
            changed[attribute] = tuple(Named(f"other_{one.name}", one.expression) for one in value)
        elif value in sample.branches:
            changed[attribute] = f"other_{value}"
    return replace(sample, **changed)


@pytest.mark.parametrize("name", SHARED)
def test_the_sharing_of_a_kind_is_complete(name: str) -> None:
    assert list(lacking(OPERATORS[name])) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("aggregate", {"columns": None}, id="columns of an aggregate"),
        pytest.param("join", {"columns": None}, id="columns of a join"),
        pytest.param("aggregate", {"form": ROW}, id="form of an aggregate"),
        pytest.param("join", {"form": ROW}, id="form of a join"),
        pytest.param("map", {"with_member": None}, id="member of a map"),
        pytest.param("aggregate", {"with_member": None}, id="member of an aggregate"),
        pytest.param("join", {"with_member": None}, id="member of a join"),
        pytest.param("switch", {"with_numbered_branches": None}, id="branches of a switch"),
    ],
)
def test_a_missing_field_is_named(name: str, change: dict[str, Any]) -> None:
    whole = OPERATORS[name]
    assert whole.sharing is not None
    poor: OperatorKind[Any] = replace(whole, sharing=replace(whole.sharing, **change))
    with patch.dict(OPERATORS, {name: poor}):
        found = list(lacking(poor))
    (field,) = change
    assert found
    assert all(field in text.partition(":")[0] for text in found)


@pytest.mark.parametrize("operator", SHARED_SAMPLES)
def test_every_setting_of_an_operator_is_part_of_the_normalized_query(operator: Operator) -> None:
    record = OPERATORS[operator.kind]
    whole = normalize_query(query_of(operator))
    assert whole is not None
    settings = {name for field in record.fields if not field.reads for name in field.targets}
    for name in settings.difference(record.expressions):
        changed: dict[str, Any] = {name: Changed()}
        other = normalize_query(query_of(replace(operator, **changed)))
        assert other is not None, name
        assert other[0] != whole[0], name


@dataclass(frozen=True)
class Changed:
    """A value that no setting has."""


def test_the_three_forms_read_a_row_a_pair_and_a_group() -> None:
    types = ({"x": BIGINT}, {"y": BIGINT})
    assert ROW.parse("x + 1", types).columns == {(ONLY, "x")}
    assert PAIR.parse("x + y", types).columns == {(LEFT, "x"), (RIGHT, "y")}
    assert isinstance(GROUP.parse("sum(x)", types), AggregateCall)
    assert (ROW.sides_of(3), PAIR.sides_of(2)) == ((ONLY, ONLY, ONLY), (LEFT, RIGHT))


def test_a_kind_has_no_sharing_unless_it_says_so() -> None:
    assert kind.OperatorKind.__dataclass_fields__["sharing"].default is None
    assert QuerySharing().with_member is None
    assert {"user", "table_read", "table_write", "synthetic"}.isdisjoint(KINDS)
