"""The network with its placement as SVG, from left to right.

Rule 1: the layout is that of `network.drawing`; here operators get their node and load, in words and in colour.
Rule 2: a stream that changes the node is a thick line, since that is what a hop costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from drover.network.drawing.layout import Arrangement, Point, Wire, arrange
from drover.network.drawing.ordering import Box
from drover.network.drawing.shapes import PADDING, outline
from drover.network.drawing.summary import clean
from drover.network.drawing.svg import LINE, Item, curve, cut, diagram_of
from drover.network.model import Network
from drover.placement.plan import Plan, unit_of
from drover.web.report.colours import line_of
from drover.web.report.figures import count, number, percent
from drover.web.report.markup import Markup, element
from drover.web.report.story import Story

MARGIN: Final = 16.0
MOST: Final = 300  # operators; more are a picture that nobody reads, and make the page too large
STRIPE: Final = 6.0  # width of the colour of a node
TIP: Final = "tip"


def draw_network(story: Story, network: Network) -> Markup:
    """Return the drawing of a network of at most MOST operators."""
    plan = story.material.plan
    diagram = diagram_of(network)
    nodes = _nodes(network, plan)
    labels = _labels(story, network, nodes)
    items = [
        replace(item, lines=(*item.lines, labels[item.kind, item.name])) if (item.kind, item.name) in labels else item
        for item in diagram.items
    ]
    placed = arrange([item.box for item in items], diagram.wires)
    wide, tall = placed.width + 2 * MARGIN, placed.height + 2 * MARGIN
    return element(
        "svg",
        element("title", f"Network {clean(network.name)} with its placement", id="network-title"),
        element("desc", _described(network, plan), id="network-desc"),
        _tip(),
        element(
            "g",
            _wires(diagram.wires, diagram.dashed, items, nodes, placed),
            (_box(item, corner, nodes.get(_key(item))) for item, corner in zip(items, placed.corners, strict=True)),
            transform=f"translate({MARGIN:.0f} {MARGIN:.0f})",
        ),
        viewBox=f"0 0 {wide:.0f} {tall:.0f}",
        width=wide,
        height=tall,
        class_="network",
        role="img",
        aria_labelledby="network-title network-desc",
    )


def _key(item: Item) -> str:
    """Return the operator that an item shows, or nothing; an output has the name of a stream, often an operator's."""
    return item.name if item.shape in ("operator", "state") else ""


def _nodes(network: Network, plan: Plan | None) -> dict[str, int]:
    """Return the node of each operator that the plan knows."""
    if plan is None:
        return {}
    places = {operator.name: plan.node_of.get(unit_of(operator)) for operator in network.operators}
    return {name: node for name, node in places.items() if node is not None}


def _labels(story: Story, network: Network, nodes: Mapping[str, int]) -> dict[tuple[str, str], str]:
    """Return, by kind and name, what is to be told of an item: the rate of a source, node and load of an operator."""
    units = {unit.name: unit for unit in story.units}
    labels = {("source", name): f"{number(rate)} rows per second" for name, rate in story.rates.items()}
    for operator in network.operators if story.material.plan is not None else ():
        name, unit = operator.name, unit_of(operator)
        if name in nodes:
            load = "" if math.isnan(units[unit].load) else f", load {percent(units[unit].load)}"
            labels[operator.kind, name] = cut(f"node {nodes[name]}{load}{'' if unit == name else f' of {unit}'}")
        else:
            labels[operator.kind, name] = "on no node yet"
    return labels


def _described(network: Network, plan: Plan | None) -> str:
    groups = ((network.sources, "source"), (network.operators, "operator"), (network.outputs, "output"))
    sizes = f"{', '.join(count(len(group), noun) for group, noun in groups)}. Rows flow from left to right."
    if plan is None:
        return sizes
    return f"{sizes} The table of units says the same in words: which unit is on which of {count(plan.nodes, 'node')}."


def _tip() -> Markup:
    head = element("path", d="M0 0.8L8 4L0 7.2z", class_="tip")
    return element(
        "defs",
        element(
            "marker", head, id=TIP, viewBox="0 0 8 8", refX="7.5", refY="4", markerWidth="9", markerHeight="9",
            markerUnits="userSpaceOnUse", orient="auto",
        ),
    )  # fmt: skip


def _wires(
    wires: Sequence[Wire], dashed: frozenset[int], items: Sequence[Item], nodes: Mapping[str, int], placed: Arrangement
) -> Iterator[Markup]:
    for index, (wire, route) in enumerate(zip(wires, placed.routes, strict=True)):
        ends = [nodes.get(_key(items[end])) for end in (wire.source, wire.target)]
        hop = " cut" if None not in ends and ends[0] != ends[1] else ""
        look = " dashed" if index in dashed else hop
        yield element("path", d=Markup(curve(route)), class_=f"wire{look}", marker_end=f"url(#{TIP})")


def _box(item: Item, corner: Point, node: int | None) -> Markup:
    box, (x, y) = item.box, corner
    left = PADDING + (6 if item.shape in ("source", "state") else 0)
    right = box.width - PADDING - (12 if item.shape == "output" else 6 if item.shape == "source" else 0)
    return element(
        "g",
        element("title", clean(f"{item.kind} {item.name}: {item.tooltip}")),
        Markup(outline(item.shape, box)),  # made of numbers alone
        () if node is None else _stripe(box, node),
        element("text", clean(item.name), x=left, y=7 + LINE - 5, class_="name"),
        element("text", item.kind, x=right, y=7 + LINE - 5, class_="kind"),
        (
            element("text", line, x=left, y=7 + LINE * (index + 2) - 5, class_=_look(item, index, node))
            for index, line in enumerate(item.lines)
        ),
        transform=f"translate({x:.1f} {y:.1f})",
    )


def _stripe(box: Box, node: int) -> Markup:
    return element("rect", width=STRIPE, height=box.height, x=-STRIPE / 2, class_=f"bar fill-{line_of(node)}")


def _look(item: Item, index: int, node: int | None) -> str:
    return f"node fill-{line_of(node)}" if node is not None and index == len(item.lines) - 1 else "note"
