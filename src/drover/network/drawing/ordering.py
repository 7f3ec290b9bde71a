"""Order within the layers of a drawing, so that few wires cross.

Rule 1: each link joins neighbouring layers; boxes without height stand for long wires that pass through a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Pixels: TypeAlias = float
Links: TypeAlias = list[
    list[tuple[int, Pixels]]
]  # of each box: its neighbours, and the height at which the wire leaves

SWEEPS: Final = 12
TRANSPOSITIONS: Final = 6  # sweeps, the last ones, that also swap neighbours


@dataclass(frozen=True, slots=True)
class Box:
    """Something to be placed."""

    width: Pixels
    height: Pixels


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and virtual boxes in layers."""

    boxes: tuple[Box, ...]  # real ones first
    layer: tuple[int, ...]
    links: tuple[tuple[int, int, Pixels], ...]  # between neighbouring layers: from, to, leaves
    chains: tuple[tuple[int, ...], ...]  # of each wire: the boxes it goes through, ends included
    real: int


def neighbours(graph: Graph) -> tuple[Links, Links]:
    """Return, for each box, its predecessors and successors, with the height at which the link leaves."""
    before: Links = [[] for _ in graph.boxes]
    behind: Links = [[] for _ in graph.boxes]
    for start, end, leaves in graph.links:
        before[end].append((start, leaves))
        behind[start].append((end, leaves))
    return before, behind


def order(graph: Graph) -> list[list[int]]:
    """Return the boxes of each layer from top to bottom, with few crossings."""
    before, behind = neighbours(graph)
    layers = _first_order(graph, behind)
    best = [list(layer) for layer in layers]
    fewest = _crossings(graph, layers)
    for sweep in range(SWEEPS):
        rightwards = sweep % 2 == 0
        place = {box: float(index) for layer in layers for index, box in enumerate(layer)}
        for layer in layers if rightwards else layers[::-1]:
            pull = {}
            for box in layer:
                near = [
                    place[other] + (leaves / (graph.boxes[other].height + 1) if rightwards else 0.0)
                    for other, leaves in (before if rightwards else behind)[box]
                ]
                pull[box] = sum(near) / len(near) if near else place[box]
            layer.sort(key=pull.__getitem__)
            place.update((box, float(index)) for index, box in enumerate(layer))
        if sweep >= SWEEPS - TRANSPOSITIONS:
            _transpose(layers, before, behind)
        # A sweep can make things worse, so the best order so far is kept.
        if (crossings := _crossings(graph, layers)) < fewest:
            best = [list(layer) for layer in layers]
            fewest = crossings
        if not fewest:
            break
    return best


def _first_order(graph: Graph, behind: Links) -> list[list[int]]:
    """Return boxes in the order of a walk along the wires, which keeps connected boxes together."""
    layers: list[list[int]] = [[] for _ in range(max(graph.layer, default=-1) + 1)]
    has_before = {end for _, end, _ in graph.links}
    seen: set[int] = set()
    stack = [box for box in range(len(graph.boxes) - 1, -1, -1) if box not in has_before]
    while stack:
        box = stack.pop()
        if box in seen:
            continue
        seen.add(box)
        layers[graph.layer[box]].append(box)
        stack += (other for other, _ in sorted(behind[box], key=lambda link: -link[1]))
    return layers


def _crossings(graph: Graph, layers: list[list[int]]) -> int:
    """Count the crossings between neighbouring layers: the inversions of the sorted links, with a Fenwick tree."""
    place = {box: index for layer in layers for index, box in enumerate(layer)}
    links: list[list[tuple[int, Pixels, int]]] = [[] for _ in layers]
    for start, end, leaves in graph.links:
        links[graph.layer[start]].append((place[start], leaves, place[end]))
    total = 0
    for layer_links, layer in zip(links[:-1], layers[1:], strict=True):
        counts = [0] * (len(layer) + 1)
        for done, (_, _, end) in enumerate(sorted(layer_links)):
            index = end + 1
            above = 0
            # Clearing the lowest set bit walks up the Fenwick tree; adding it, below, walks to the next node to update.
            while index:
                above += counts[index]
                index &= index - 1
            total += done - above
            index = end + 1
            while index <= len(layer):
                counts[index] += 1
                index += index & -index
    return total


def _transpose(layers: list[list[int]], before: Links, behind: Links) -> None:
    """Swap neighbours wherever that saves crossings; barycentres alone leave some obvious ones."""
    place = {box: index for layer in layers for index, box in enumerate(layer)}
    for layer in layers:
        for index in range(len(layer) - 1):
            upper = layer[index]
            lower = layer[index + 1]
            gain = 0
            for links in (before, behind):
                above = sorted((place[box], leaves) for box, leaves in links[upper])
                below = sorted((place[box], leaves) for box, leaves in links[lower])
                gain += _inversions(above, below) - _inversions(below, above)
            if gain > 0:
                layer[index] = lower
                layer[index + 1] = upper
                place[upper] = index + 1
                place[lower] = index


def _inversions(above: Sequence[tuple[int, Pixels]], below: Sequence[tuple[int, Pixels]]) -> int:
    """Count the pairs of a link of the upper and one of the lower box that cross; both are sorted."""
    count = passed = 0
    for link in above:
        while passed < len(below) and below[passed] < link:
            passed += 1
        count += passed
    return count
