"""Networks that fill ten nodes on a machine with few cores: most operators wait, as calls to a model server do.

Rule 1: an operator gets a load, not a cost: its seconds per row follow from the expected rate of its input. Rule 2: all
networks have the same load in all, so that they differ in shape alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from numpy.random import Generator, default_rng

from drover.network.build import Builder, Stream
from drover.network.model import Network
from drover_lab.generate.loads import COLUMNS, SEEDS

RATE: Final = 40.0  # rows per second of each source
LOAD: Final = 0.08  # busy seconds per second and node, of operators that wait or burn
CHAINS: Final = 10
LENGTH: Final = 3  # operators of a chain
BURNING: Final = 2  # chains, or their like, whose operators use a core instead of waiting
KEYS: Final = 40  # of joins; with a window of a second, a row meets about one other
MANY_KEYS: Final = 500  # of aggregates, so that most rows are a group of their own


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """A stream, and the rows per second that it is expected to have."""

    stream: Stream
    rate: float


@dataclass(slots=True)
class NetworkSketch:
    """A network under construction; `unit` is the busy seconds per second that a weight of 1 means."""

    rng: Generator
    unit: float
    builder: Builder = field(default_factory=lambda: Builder("saturation"))
    weight: float = 0.0  # of all operators so far
    sources: int = 0

    def source(self) -> LoadedStream:
        """Add a source."""
        name = f"s{self.sources}"
        self.sources += 1
        return LoadedStream(self.builder.source(name, COLUMNS, time="ts"), RATE)

    def work(
        self, port: LoadedStream, name: str, weight: float = 1.0, selectivity: float = 1.0, *, burns: bool = False
    ) -> LoadedStream:
        """Add an operator with a share of the load: it waits, or burns."""
        seconds = self.unit * weight / port.rate
        self.weight += weight
        made = port.stream.synthetic(
            name,
            cost=seconds if burns else 0.0,
            wait=0.0 if burns else seconds,
            selectivity=selectivity,
            seed=int(self.rng.integers(SEEDS)),
        )
        return LoadedStream(made, port.rate * selectivity)

    def chain(self, weights: list[float], *, burns: bool = False) -> None:
        """Add a source and a chain of operators."""
        port = self.source()
        start = port.stream.name
        for step, weight in enumerate(weights):
            port = self.work(port, f"{start}-{step}", weight, burns=burns)
        port.stream.output()

    def tree(self, size: int, *, burns: bool = False) -> None:
        """Add a source and a tree of operators, each with one or two children; half of them drop rows."""
        root = self.source()
        made: list[LoadedStream] = []
        parents: list[int] = []
        for step in range(size):
            parent = -1 if not step else int(self.rng.integers(max(step - 2, 0), step))
            selectivity = float(self.rng.uniform(0.5, 1.0)) if step % 2 else 1.0
            port = root if parent < 0 else made[parent]
            made.append(self.work(port, f"{root.stream.name}-{step}", 1.0, selectivity, burns=burns))
            parents.append(parent)
        for leaf in sorted(set(range(size)) - set(parents)):
            made[leaf].stream.output()

    def pair(self) -> None:
        """Add two sources that are prepared, joined, and worked on again."""
        sides = []
        for _ in range(2):
            port = self.source()
            name = port.stream.name
            done = self.work(port, f"{name}-prepared")
            keyed = done.stream.extend(f"{name}-keyed", {"key": f"value % {KEYS}"})
            sides.append(LoadedStream(keyed, done.rate))
        left, right = sides
        name = left.stream.name.removesuffix("-keyed")
        joined = left.stream.join(
            f"{name}-joined", right.stream, within="500 ms", on="key", select={"value": "left.value"}
        )
        pairs = left.rate * right.rate / KEYS  # within a second in all
        self.work(LoadedStream(joined, pairs), f"{name}-scored").stream.output()

    def windows(self) -> None:
        """Add a source whose rows are prepared, counted in windows, and worked on again."""
        port = self.source()
        name = port.stream.name
        done = self.work(port, f"{name}-prepared")
        keyed = done.stream.extend(f"{name}-keyed", {"key": f"value % {MANY_KEYS}"})
        counted = keyed.aggregate(f"{name}-counted", {"n": "count(*)"}, size="1 s", group_by="key")
        self.work(LoadedStream(counted, done.rate), f"{name}-scored").stream.output()


def _chains(sketch: NetworkSketch) -> None:
    for k in range(CHAINS):
        sketch.chain([1.0] * LENGTH, burns=k < BURNING)


def _uneven(sketch: NetworkSketch) -> None:
    for k in range(CHAINS):
        sketch.chain(sketch.rng.lognormal(0.0, 0.8, LENGTH).tolist(), burns=k < BURNING)


def _wide(sketch: NetworkSketch) -> None:
    for k in range(CHAINS // 2):
        port = sketch.source()
        for step, weight in enumerate(sketch.rng.uniform(0.3, 1.7, 2 * LENGTH).tolist()):
            burns = step == 0 and k < 2 * BURNING
            sketch.work(port, f"{port.stream.name}-{step}", weight, burns=burns).stream.output()


def _trees(sketch: NetworkSketch) -> None:
    for k in range(CHAINS // 2):
        sketch.tree(2 * LENGTH, burns=k < BURNING // 2)


def _joins(sketch: NetworkSketch) -> None:
    for _ in range(4):
        sketch.pair()
    for _ in range(BURNING):
        sketch.chain([1.0] * LENGTH, burns=True)


def _aggregates(sketch: NetworkSketch) -> None:
    for _ in range(CHAINS - BURNING):
        sketch.windows()
    for _ in range(BURNING):
        sketch.chain([1.0] * LENGTH, burns=True)


def _mixed(sketch: NetworkSketch) -> None:
    for k in range(BURNING):
        sketch.pair()
        sketch.windows()
        sketch.tree(LENGTH + 1)
        sketch.chain([1.0] * LENGTH, burns=True)
        sketch.chain([1.0 + k] * LENGTH)


SHAPES: Final[Mapping[str, Callable[[NetworkSketch], None]]] = {
    "chains": _chains,
    "uneven": _uneven,
    "wide": _wide,
    "trees": _trees,
    "joins": _joins,
    "aggregates": _aggregates,
    "mixed": _mixed,
}


def network_of(shape: str, seed: int, nodes: int) -> Network:
    """Return a network of a shape that loads this many nodes at its usual rates."""
    first = NetworkSketch(default_rng(seed), 1.0)
    SHAPES[shape](first)
    sketch = NetworkSketch(default_rng(seed), LOAD * nodes / first.weight)
    SHAPES[shape](sketch)
    return sketch.builder.build()
