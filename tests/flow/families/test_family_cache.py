"""The cache of families: nothing is made twice while it is used, and idle entries are forgotten."""

from __future__ import annotations

import pickle
from pathlib import Path

from pyarrow.fs import LocalFileSystem

from drover.flow.families.assignment import FamilyAssignment
from drover.flow.families.family_cache import FamilyCache
from drover.flow.families.members import make_members, write_members
from drover.network.queries import shape_of
from tests.network.queries.cases import NETWORK, filtering

SHAPE = shape_of(filtering("source = 'a'"), NETWORK).shape


def assignment(root: Path, *nodes: int) -> FamilyAssignment:
    numbers = range(len(nodes))
    table = make_members(SHAPE, numbers, [f"q{i}" for i in numbers], nodes, [("a",)] * len(nodes))
    stored = write_members(LocalFileSystem(), str(root), SHAPE, table)
    return FamilyAssignment(stored.fingerprint, {SHAPE.id: pickle.dumps(SHAPE)}, {SHAPE.id: stored}, {SHAPE.id: ()})


def test_nothing_is_made_twice(tmp_path: Path) -> None:
    cache = FamilyCache(lambda _: None)
    given = assignment(tmp_path, 0, 1, 0)
    local = cache.local_members(str(tmp_path), given, SHAPE.id, 0)
    assert local.numbers.tolist() == [0, 2]
    assert cache.local_members(str(tmp_path), given, SHAPE.id, 0) is local
    assert cache.interest(str(tmp_path), given) is cache.interest(str(tmp_path), given)
    assert cache.compiled == 1


def test_other_members_are_read_and_the_shape_stays_compiled(tmp_path: Path) -> None:
    cache = FamilyCache(lambda _: None)
    cache.local_members(str(tmp_path), assignment(tmp_path, 0), SHAPE.id, 0)
    moved = cache.local_members(str(tmp_path), assignment(tmp_path, 1), SHAPE.id, 1)
    assert moved.numbers.tolist() == [0]
    assert cache.compiled == 1


def test_idle_entries_are_forgotten(tmp_path: Path) -> None:
    cache = FamilyCache(lambda _: None)
    given = assignment(tmp_path, 0)
    for count in range(1, 4):
        cache.begin(count, 2)
        cache.family(given, SHAPE.id)
    cache.begin(5, 2)
    cache.family(given, SHAPE.id)
    assert cache.compiled == 1
    cache.begin(8, 2)
    cache.family(given, SHAPE.id)
    assert cache.compiled == 2
