"""Target: tree files of agents; every node of an accepted tree must be able to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from drover.agents.agent import address_of
from drover.errors import FileError
from drover.hierarchy.layout import parse_layout
from drover.hierarchy.machine import Machine, initial_snapshot
from tests.fuzz.corpus import corpus_with
from tests.fuzz.target import Feed, Target, demand_faults

COMPLETE: Final = """\
tree: 1
marks: {lower: 0.3, upper: 0.7, margin: 0.01, least: 0.02}
timing: {period: 1, patience: 0.1, tries: 3}
nodes:
  root: {address: "127.0.0.1:7000", memory: 100, cpu: 2}
  east: {parent: root, address: "[::1]:7001", memory: 50, cpu: 1}
  west: {parent: root, address: "localhost:7002", memory: 50, cpu: 1}
  leaf: {parent: east, address: "127.0.0.1:7003", memory: 25, cpu: 0.5}
operators:
  mean: {entries: [leaf], at: leaf, memory: 10, cpu: 0.4}
  most: {entries: [west], at: west, memory: 40, cpu: 0.1}
  alarm: {inputs: [mean, most], at: root, memory: 5}
"""
MOST_NODES: Final = 50  # that are started; in a larger tree, the first ones


@contextmanager
def trees(_folder: Path) -> Iterator[Feed]:
    """Feed a text as a tree file."""

    def feed(text: str) -> bool:
        try:
            layout = parse_layout(text)
        except FileError as error:
            demand_faults(error.faults)
            raise
        for node, address in enumerate(layout.addresses[:MOST_NODES]):
            machine = Machine(layout.config(node), [initial_snapshot(layout.initial_sizes(node))], 0.0, 0.0)
            machine.tick(0.0)
            if address:
                address_of(address, layout.nodes[node])
        return bool(layout.digest)

    yield feed


TREES: Final = Target("trees", 10, corpus_with("tree", (COMPLETE,) * 4).draw, trees)
