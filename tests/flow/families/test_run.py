"""Queries of many shapes that are submitted, dropped and moved: each gives in its family what it gives alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from numpy.random import Generator, default_rng

from drover.flow.families.run import RunFamily
from drover.network.queries import examine_query
from tests.flow.families.family_harness import FamilyHarness, alone
from tests.flow.families.queries import random_batches, random_network, random_query, varied
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.flow.test_against_oracle import random_plan

NODES = 3


def submit_some(harness: FamilyHarness, rng: Generator, shapes: int, members: int) -> None:
    """Submit queries of a few shapes, each several times with other constants, and once with the same."""
    for _ in range(shapes):
        query = random_query(rng, harness.network, f"q{len(harness.members)}")
        harness.submit(query, int(rng.integers(NODES)))
        for _ in range(members):
            other = varied(rng, query, f"q{len(harness.members)}")
            if not examine_query(other, harness.network):
                harness.submit(other, int(rng.integers(NODES)))


def change_members(harness: FamilyHarness, rng: Generator) -> None:
    """Drop some members, submit some again under their old name, and move some."""
    for member in [one for one in harness.members if one.lives(harness.batch) and one.born < harness.batch]:
        what = rng.random()
        if what < 0.15:
            harness.drop(member)
        elif what < 0.25:
            harness.drop(member)
            harness.submit(member.query, int(rng.integers(NODES)))
        elif what < 0.5:
            member.node = int(rng.integers(NODES))


def played(folder: Path, seed: int) -> tuple[FamilyHarness, list[Batch]]:
    """Return a harness after some batches, and the batches."""
    rng = default_rng([seed, 77])
    network = random_network(rng)
    batches = random_batches(network, rng)
    harness = FamilyHarness(network, folder, rng)
    submit_some(harness, rng, 3, 4)
    for number, batch in enumerate(batches):
        if number:
            change_members(harness, rng)
        if number == 2:
            submit_some(harness, rng, 1, 3)
        plan = random_plan(network, number, rng)
        harness.run(batch, replace(plan, nodes=max(plan.nodes, NODES)))
    return harness, batches


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 60))])
def test_a_family_gives_what_each_of_its_queries_gives_alone(tmp_path: Path, seed: int) -> None:
    harness, batches = played(tmp_path, seed)
    assert harness.failures == []
    assert harness.parked == []
    for member in harness.members:
        assert_same_rows(harness.gave(member), alone(harness.network, member, batches))


@pytest.mark.parametrize(
    "seed", [*range(60, 64), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(64, 90))]
)
def test_a_family_run_in_small_slices_gives_the_same(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice has a few pairs of row and member here, so that there are many slices."""
    monkeypatch.setattr(RunFamily.run, "__defaults__", (None, 7))
    monkeypatch.setattr("drover.flow.families.member_panes.MOST_PAIRS", 7)
    harness, batches = played(tmp_path, seed)
    assert harness.failures == []
    assert harness.parked == []
    for member in harness.members:
        assert_same_rows(harness.gave(member), alone(harness.network, member, batches))


def test_many_queries_have_results(tmp_path: Path) -> None:
    """Otherwise the tests above would compare nothing."""
    harnesses = [played(tmp_path / str(seed), seed)[0] for seed in range(5)]
    gave = [one.gave(member).height > 0 for one in harnesses for member in one.members]
    assert sum(gave) > len(gave) / 4
