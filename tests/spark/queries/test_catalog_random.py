"""The catalog under random requests and crashes, against a plain model of which queries run, and where."""

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
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.families import Families
from drover.spark.queries.recovery import NOTES
from tests.spark.meters import meters, parsed, query

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
class ModelledCatalog:
    """A catalog, and a model of what it should contain."""

    folder: Path
    chance: random.Random
    accepted: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name, as of now
    parked: set[str] = field(default_factory=set)
    moved: dict[str, int] = field(default_factory=dict)  # by request, since the last batch
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    catalog: QueryCatalog = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    @property
    def batch(self) -> int:
        return self.checkpoint.batch

    def open(self) -> None:
        """Start again, as after a crash."""
        self.catalog = QueryCatalog(NETWORK, str(self.folder), limits_of({}), seed=1)
        self.checkpoint = latest(LocalFileSystem(), str(self.folder))
        self.catalog.open(self.checkpoint, 2)
        self.moved.clear()

    def change(self) -> None:
        """Submit, drop and move some queries."""
        for _ in range(self.chance.randrange(6)):
            name = self.chance.choice(NAMES)
            what = self.chance.random()
            if what < 0.6:
                given = query(name, self.chance.randrange(40))
                receipt = self.catalog.submit([given])
                assert (receipt.accepted == (name,)) == (name not in self.accepted)
                self.accepted.setdefault(name, given)
            elif name in self.accepted and what < 0.85:
                if self.chance.random() < 0.3:
                    self.catalog.close()
                    assert stopped.drop(str(self.folder), [name], None, every=False) == 1
                    self.open()
                else:
                    assert self.catalog.drop([name]) == (name,)
                del self.accepted[name]
                self.parked.discard(name)
                self.moved.pop(name, None)
            elif name in self.accepted and name not in self.parked:
                self.moved[name] = self.chance.randrange(2)
                self.catalog.move(name, self.moved[name])

    def run(self) -> None:
        """Begin a batch, perhaps again after a crash, let some queries fail, and commit it."""
        wanted = {name: one for name, one in self.accepted.items() if name not in self.parked}
        moved = dict(self.moved)
        self.moved.clear()
        first = seen(self.catalog.begin(self.batch + 1, 2, again=False).families)
        self.check(first, wanted, moved)
        if self.chance.random() < 0.4:
            self.change()  # these changes wait for the next batch
            self.open()
            assert seen(self.catalog.begin(self.batch + 1, 2, again=True).families) == first
        known = self.catalog.query_log.members
        numbers = dict(known.select("name", "number").iter_rows())
        failed = {name for name in first if self.chance.random() < 0.1}
        reasons = {numbers[name]: "it fails" for name in failed}
        # A query that was dropped meanwhile is not parked: another query may have its name already.
        self.parked |= {name for name in failed & self.accepted.keys() if self.catalog.number_of(name) == numbers[name]}
        self.catalog.park(reasons)
        notes = {"turn": self.catalog.query_log.batch, "failed": {str(one): why for one, why in reasons.items()}}
        done = Commit(self.batch + 1, notes={NOTES: notes} if self.catalog.query_log.batch >= 0 else {})
        self.checkpoint = commit(LocalFileSystem(), str(self.folder), self.checkpoint, done)
        if self.chance.random() < 0.3:
            self.catalog.compact()
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
def test_every_batch_runs_the_queries_of_the_model(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.flow.query_log.files.LEAST_CHAIN", 2_000)
    modelled = ModelledCatalog(tmp_path, random.Random(seed))
    for _ in range(25):
        modelled.change()
        modelled.run()
    assert modelled.parked or modelled.accepted
