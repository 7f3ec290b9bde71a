"""The clerk under everything at once, against a plain model: who is there, with which constants, on which node."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from drover.control.tenants import limits_of
from drover.flow.families.members import CONSTANT, NODE, QUERY
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.network.queries import Shapes
from drover.spark.queries import stopped
from drover.spark.queries.clerk import Clerk
from drover.spark.queries.families import Families
from drover.spark.queries.reopen import NOTES
from tests.spark.queries import meters, parsed, query

NETWORK = meters()
SHAPES = Shapes(NETWORK)
NAMES = [f"q{number}" for number in range(10)]
Seen = dict[str, tuple[object, ...]]  # family, node and constants of each query that runs


def seen(families: Families) -> Seen:
    found: Seen = {}
    for id_, family in families.by_id.items():
        for row in family.table.to_pylist():
            constants = tuple(row[f"{CONSTANT}{index}"] for index in range(len(family.shape.types)))
            assert row[QUERY] not in found
            found[row[QUERY]] = (id_, row[NODE], constants)
    return found


@dataclass(slots=True)
class Ranch:
    """A clerk, what it should know, and what is on its disk."""

    folder: Path
    chance: random.Random
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)  # names, as of now
    parked: set[str] = field(default_factory=set)
    moved: dict[str, int] = field(default_factory=dict)  # by hand, since the last batch
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    clerk: Clerk = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    @property
    def batch(self) -> int:
        return self.checkpoint.batch

    def open(self) -> None:
        """Start again, as after a crash."""
        self.clerk = Clerk(NETWORK, str(self.folder), limits_of({}), seed=1)
        self.checkpoint = latest(LocalFileSystem(), str(self.folder))
        self.clerk.open(self.checkpoint, 2)
        self.moved.clear()

    def stir(self) -> None:
        """Let some come, some go and some move, several times before a batch."""
        for _ in range(self.chance.randrange(6)):
            name = self.chance.choice(NAMES)
            what = self.chance.random()
            if what < 0.6:
                given = query(name, self.chance.randrange(40))
                receipt = self.clerk.submit([given])
                assert (receipt.accepted == (name,)) == (name not in self.taken)
                self.taken.setdefault(name, given)
            elif name in self.taken and what < 0.85:
                if self.chance.random() < 0.3:
                    self.clerk.close()
                    assert stopped.drop(str(self.folder), [name], None, every=False) == 1
                    self.open()
                else:
                    assert self.clerk.drop([name]) == (name,)
                del self.taken[name]
                self.parked.discard(name)
                self.moved.pop(name, None)
            elif name in self.taken and name not in self.parked:
                self.moved[name] = self.chance.randrange(2)
                self.clerk.move(name, self.moved[name])

    def run(self) -> None:
        """Begin a batch, perhaps again after a crash, and commit it; some fail in it."""
        wanted, moved = {name: one for name, one in self.taken.items() if name not in self.parked}, dict(self.moved)
        self.moved.clear()
        first = seen(self.clerk.begin(self.batch + 1, 2, again=False).families)
        self.check(first, wanted, moved)
        if self.chance.random() < 0.4:
            self.stir()  # what comes while the batch runs waits for the next
            self.open()
            assert seen(self.clerk.begin(self.batch + 1, 2, again=True).families) == first
        known = self.clerk.book.members
        numbers = dict(known.select("name", "number").iter_rows())
        failed = {name for name in first if self.chance.random() < 0.1}
        reasons = {numbers[name]: "it fails" for name in failed}
        # One that was dropped meanwhile fails for nobody: its name may be another's already.
        self.parked |= {
            name for name in failed & self.taken.keys() if self.clerk.names.number_of(name) == numbers[name]
        }
        self.clerk.park(reasons)
        notes = {"turn": self.clerk.book.batch, "failed": {str(one): why for one, why in reasons.items()}}
        done = Commit(self.batch + 1, notes={NOTES: notes} if self.clerk.book.batch >= 0 else {})
        self.checkpoint = commit(LocalFileSystem(), str(self.folder), self.checkpoint, done)
        if self.chance.random() < 0.3:
            self.clerk.tidy()
        if self.chance.random() < 0.3:
            self.open()

    def check(self, found: Seen, wanted: dict[str, dict[str, Any]], moved: dict[str, int]) -> None:
        assert found.keys() == wanted.keys()
        for name, given in wanted.items():
            shaped = SHAPES.shape_of(parsed(given))
            family, node, constants = found[name]
            assert (family, constants) == (shaped.shape.id, shaped.constants)
            assert node == moved.get(name, node)
            assert node in (0, 1)


@pytest.mark.parametrize("seed", range(6))
def test_who_runs_is_who_should_whatever_happens(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.flow.book.files.LEAST_CHAIN", 2_000)
    ranch = Ranch(tmp_path, random.Random(seed))
    for _ in range(25):
        ranch.stir()
        ranch.run()
    assert ranch.parked or ranch.taken
