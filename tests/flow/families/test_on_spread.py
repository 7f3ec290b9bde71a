"""Queries on what a spread join gives, while instances and queries move: each gives what it would give alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from numpy.random import default_rng

import drover
from drover.network.durations import UNITS
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, KeyPair, Named
from drover.network.queries import Query
from tests.flow.families.family_harness import FamilyHarness, alone
from tests.flow.families.queries import random_batches
from tests.flow.oracle import assert_same_rows
from tests.flow.spreading import chaos, unspread

SECOND = UNITS["s"]


def pairing() -> Network:
    """A join that is spread, and a filter on what it gives."""
    net = drover.Builder("pairing")
    columns = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double"}
    a, b = (net.source(name, columns, time="ts", lateness="1 s") for name in "ab")
    select = {"key": "left.key", "x": "left.amount", "y": "right.price", "tag": "right.tag"}
    pairs = a.join("pairs", b, within="3 s", on="key", select=select, spread=(2, 2)).output()
    pairs.filter("large", "x > 1").output()
    return net.build()


def queries(number: int) -> list[Query]:
    """A filter on pairs, windows of them, and a join of pairs with what is made of them and with a source."""
    key = number % 4
    mine = Filter(name="mine", input="pairs", where=f"key = {key} AND x > {number % 3}")
    window = Aggregate(
        name="w",
        input="mine",
        size=4 * SECOND,
        advance=2 * SECOND,
        compute=(Named("n", "count(*)"),),
        group_by=("tag",),
    )
    other = Filter(name="other", input="large", where=f"key = {key}")
    again = Join(
        name="again",
        left="other",
        right="a",
        left_window=SECOND,
        right_window=SECOND,
        on=(KeyPair("key", "key"),),
        where=f"left.x <> {number}",
        select=(Named("x", "left.x"), Named("z", "right.amount")),
    )
    made = [(mine,), (mine, window), (other, again)]
    return [Query(f"q{number}-{i}", "tenant", given, given[-1].name) for i, given in enumerate(made)]


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))])
def test_queries_on_a_spread_join_give_what_they_give_on_a_whole_one(tmp_path: Path, seed: int) -> None:
    rng = default_rng([seed, 5])
    network = pairing()
    batches = random_batches(network, rng)
    plans = chaos(network, rng)
    harness = FamilyHarness(network, tmp_path, rng, trouble=0.1)
    for number in range(4):
        for query in queries(number):
            harness.submit(query)
    for batch in batches:
        plan = plans.step()
        for member in harness.members:
            member.node = int(rng.integers(plan.nodes)) if rng.random() < 0.4 else member.node % plan.nodes
        harness.run(batch, plan)
        plans.retire_epochs(harness.facts)
    assert harness.failures == []
    assert harness.parked == []
    found = {member.query.name: harness.gave(member) for member in harness.members}
    for member in harness.members:
        assert_same_rows(found[member.query.name], alone(unspread(network), member, batches))
    assert sum(rows.height for rows in found.values()) > 0
