"""Families against single evaluation, and templates against the parser, on any expression."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from numpy.random import default_rng

from drover.errors import NetworkError
from drover.network.operators import Filter, Map, Named, Operator
from drover.network.queries import Query, Shaped, Shapes, examine_query, shape_of
from drover.placement.plan import Plan
from tests.flow.families.any_expression import Inventor, batches_of_every_type, network_of_every_type, varied
from tests.flow.families.family_harness import FamilyHarness, alone
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows

NODES = 2
NETWORK = network_of_every_type()


def valid_query(chance: random.Random, name: str) -> Query:
    inventor = Inventor(chance)
    while examine_query(query := inventor.query(name), NETWORK):
        pass
    return query


def submit_if_valid(harness: FamilyHarness, query: Query, chance: random.Random) -> None:
    if not examine_query(query, NETWORK):
        harness.submit(query, chance.randrange(NODES))


def change_members(harness: FamilyHarness, chance: random.Random) -> None:
    """Drop members, submit some again under their names with other constants, some only to drop them, and move some."""
    for member in [one for one in harness.members if one.lives(harness.batch) and one.born < harness.batch]:
        what = chance.random()
        if what < 0.3:
            harness.drop(member)
        if what < 0.2:
            submit_if_valid(harness, varied(chance, member.query, member.query.name), chance)
        if what < 0.1:
            harness.drop(harness.members[-1])
            submit_if_valid(harness, varied(chance, member.query, member.query.name), chance)
        elif what > 0.6:
            member.node = chance.randrange(NODES)


def played(folder: Path, seed: int) -> tuple[FamilyHarness, list[Batch]]:
    """Return a harness after some batches, and the batches."""
    chance = random.Random(seed)
    batches = batches_of_every_type(chance, 3)
    harness = FamilyHarness(NETWORK, folder, default_rng(seed), trouble=0.1)
    for _ in range(6):
        query = valid_query(chance, f"q{len(harness.members)}")
        harness.submit(query, 0)
        for _ in range(4):
            submit_if_valid(harness, varied(chance, query, f"q{len(harness.members)}"), chance)
    for number, batch in enumerate(batches):
        if number:
            change_members(harness, chance)
        harness.run(batch, Plan(1, NODES, {"both": chance.randrange(NODES), "split": chance.randrange(NODES)}))
    return harness, batches


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_any_expression_gives_in_a_family_what_it_gives_alone(tmp_path: Path, seed: int) -> None:
    harness, batches = played(tmp_path, seed)
    assert harness.failures == []
    assert harness.parked == []
    for member in harness.members:
        assert_same_rows(harness.gave(member), alone(NETWORK, member, batches))


FILTER = Filter(name="f", input="both", where="p_int IS NOT NULL")
KEYED = Filter(name="k", input="f", where="q_int = 1")


def constants(stream: str) -> Map:
    return Map(name="m", input=stream, select=(Named("c", "1.5"),))


@pytest.mark.parametrize(
    "operators",
    [
        pytest.param((constants("both"),), id="constants"),
        pytest.param((FILTER, constants("f")), id="after what is the same for all"),
        pytest.param((FILTER, KEYED, constants("k")), id="after what is looked up"),
        pytest.param((FILTER, replace(KEYED, where="q_int = q_int"), constants("k")), id="after two that are the same"),
    ],
)
def test_rows_count_even_if_no_column_is_used(tmp_path: Path, operators: tuple[Operator, ...]) -> None:
    batches = batches_of_every_type(random.Random(2), 2)
    harness = FamilyHarness(NETWORK, tmp_path, default_rng(0), trouble=0.0)
    for number in range(2):
        harness.submit(Query(f"q{number}", "tenant", operators, "m"))
    for batch in batches:
        harness.run(batch, Plan(1, NODES, {"both": 0, "split": 1}))
    assert harness.parked == []
    for member in harness.members:
        assert harness.gave(member).height > 0
        assert_same_rows(harness.gave(member), alone(NETWORK, member, batches))


def shape_or_faults(shapes: Shapes | None, query: Query) -> tuple[object, ...]:
    """Return shape and constants of a query, or its faults; without `shapes`, the query is parsed."""
    try:
        shaped: Shaped = shape_of(query, NETWORK) if shapes is None else shapes.shape_of(query)
    except NetworkError as error:
        return error.faults
    # As text, because -0.0 equals 0.0 and 1 equals True.
    return (shaped.shape.id, *map(repr, shaped.constants))


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_a_template_gives_what_the_parser_gives(seed: int) -> None:
    chance = random.Random(seed)
    shapes = Shapes(NETWORK)
    for number in range(8):
        query = valid_query(chance, f"q{number}")
        shapes.shape_of(query)
        for _ in range(8):
            other = varied(chance, query, "other")
            assert shape_or_faults(shapes, other) == shape_or_faults(None, other)
