"""One instance of a spread join: of all pairs, it makes those that belong to it."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from drover.diffusion.epochs import Epochs
from drover.flow.distribute import DRAW, own_rows
from drover.flow.instances import JoinInstance
from drover.flow.operators import CompileContext, UnitState, Watermarks, late_streams, make_runner, oldest_epoch
from drover.flow.operators.instance import EPOCH
from drover.network.grid import Epoch, Grid
from drover.network.operators import Join
from tests.flow.operators.batches import Row, cells, frame, two_sources

NETWORK = two_sources(
    lambda a, b: a.join("out", b, within="10 s", on="k", select={"x": "left.v", "y": "right.v"}, spread="2 x 2")
)
DRAWS = [0, 2**30, 2**31, 2**32 - 1]  # two in each half


def rows(side: str, seconds: float) -> pl.DataFrame:
    """Return a row for each draw; `v` tells them apart."""
    given = frame(NETWORK, side, [(seconds, "a", i) for i in range(len(DRAWS))])
    return given.with_columns(pl.Series(DRAW, DRAWS, dtype=pl.UInt32))


class Instance:
    """An instance with its state; it is compiled anew where the epochs change."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.state = UnitState()

    def run(self, epochs: Epochs, left: pl.DataFrame, right: pl.DataFrame) -> list[Row]:
        """Return the pairs (x, y) that the instance makes of the rows that belong to it."""
        (join,) = NETWORK.operators
        assert isinstance(join, Join)
        instance = JoinInstance(name=f"out/{self.number}", join=join, number=self.number, epochs=epochs)
        runner = make_runner(instance, CompileContext(NETWORK, lambda _: None, late_streams(NETWORK)))
        inputs = own_rows(instance, dict(zip(instance.inputs, (left, right), strict=True)))
        (found,) = runner.run(inputs, self.state, Watermarks(None, None)).values()
        return [row[1:] for row in cells(found)]


ALL = sorted(product(range(4), repeat=2))


@pytest.mark.parametrize("grid", [Grid(1, 1), Grid(2, 2), Grid(1, 4), Grid(4, 1)], ids=str)
def test_each_pair_is_made_by_one_instance(grid: Grid) -> None:
    epochs: Epochs = (Epoch(0, grid),)
    made = [Instance(number).run(epochs, rows("a", 0), rows("b", 1)) for number in range(grid.cells)]
    assert sorted(pair for each in made for pair in each) == ALL
    assert all(len(each) == 16 / grid.cells for each in made)


def test_a_pair_of_two_epochs_is_made_where_the_older_row_is() -> None:
    before: Epochs = (Epoch(0, Grid(2, 1)),)
    after: Epochs = (*before, Epoch(1, Grid(1, 2)))
    instances = [Instance(number) for number in range(2)]
    nothing = rows("b", 0).clear()
    for instance in instances:
        assert instance.run(before, rows("a", 0), nothing) == []
    made = [instance.run(after, rows("a", 1).clear(), rows("b", 1)) for instance in instances]
    assert sorted(pair for each in made for pair in each) == ALL
    assert {x for x, _ in made[0]}.isdisjoint({x for x, _ in made[1]})


def test_the_oldest_epoch_of_the_windows() -> None:
    instance = Instance(0)
    assert oldest_epoch(instance.state) is None
    instance.run((Epoch(3, Grid(1, 1)),), rows("a", 0), rows("b", 0).clear())
    instance.run((Epoch(3, Grid(1, 1)), Epoch(4, Grid(1, 1))), rows("a", 0).clear(), rows("b", 0))
    assert instance.state.parts["right"][f"right.{EPOCH}"].unique().to_list() == [4]
    assert oldest_epoch(instance.state) == 3
    instance.state.evict("left", 10**9)
    assert oldest_epoch(instance.state) == 4
