"""The network with its placement, ready to be drawn by the template `network.svg.j2`.

Rule 1: the layout is that of `network.drawing`; the report adds the node and load of operators, in words and in colour.
Rule 2: a stream between two nodes is a thick line, because it costs a hop.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from drover.errors import one_line
from drover.network.drawing.layout import Arrangement, Point, arrange
from drover.network.drawing.shapes import PADDING, outline
from drover.network.drawing.svg import LINE, Diagram, Item, curve, cut, diagram_of
from drover.network.model import Network
from drover.placement.plan import Plan, unit_of
from drover.web.charts import fill_class
from drover.web.formatting import number, percent
from drover.web.report.model import ReportModel
from drover.wording import count

MARGIN: Final = 16.0
MOST_OPERATORS: Final = 300  # nobody can read a drawing of more, and the page would be too large


@dataclass(frozen=True, slots=True)
class BoxDrawing:
    """A box of the drawing."""

    item: Item
    x: float
    y: float
    left: float  # where text begins, from x
    right: float  # where text ends, from x
    outline: Markup
    fill: str  # the CSS class of its node's colour; empty if it is on no node


@dataclass(frozen=True, slots=True)
class NetworkDrawing:
    """A network in pixels."""

    title: str
    description: str
    width: float
    height: float
    wires: tuple[tuple[Markup, str], ...]  # path, CSS classes
    boxes: tuple[BoxDrawing, ...]
    margin: float = MARGIN
    line_height: float = LINE
    first_line: float = 7 + LINE - 5  # the baseline, from the top of a box


def draw_network(report: ReportModel, network: Network) -> NetworkDrawing:
    """Return the drawing of a network, which should have at most MOST_OPERATORS."""
    plan = report.files.plan
    diagram = diagram_of(network)
    nodes = _nodes(network, plan)
    labels = _labels(report, network, nodes)
    items = []
    for item in diagram.items:
        label = labels.get((item.kind, item.name))
        items.append(item if label is None else replace(item, lines=(*item.lines, label)))
    placed = arrange([item.box for item in items], diagram.wires)
    boxes = (
        _box(item, corner, nodes.get(_operator_name(item))) for item, corner in zip(items, placed.corners, strict=True)
    )
    return NetworkDrawing(
        title=f"Network {one_line(network.name)} with its placement",
        description=_describe(network, plan),
        width=placed.width + 2 * MARGIN,
        height=placed.height + 2 * MARGIN,
        wires=tuple(_wires(diagram, items, nodes, placed)),
        boxes=tuple(boxes),
    )


def _operator_name(item: Item) -> str:
    """Return the operator that a box shows, or nothing. An output often has the same name as an operator."""
    return item.name if item.shape in ("operator", "state") else ""


def _nodes(network: Network, plan: Plan | None) -> dict[str, int]:
    """Return the node of each operator that the plan places."""
    if plan is None:
        return {}
    places = {operator.name: plan.node_of.get(unit_of(operator)) for operator in network.operators}
    return {name: node for name, node in places.items() if node is not None}


def _labels(report: ReportModel, network: Network, nodes: Mapping[str, int]) -> dict[tuple[str, str], str]:
    """Return the last line of boxes by kind and name: the rate of a source, node and load of an operator."""
    units = {unit.name: unit for unit in report.units}
    labels = {("source", name): f"{number(rate)} rows per second" for name, rate in report.rates.items()}
    for operator in network.operators if report.files.plan is not None else ():
        name = operator.name
        unit = unit_of(operator)
        if name in nodes:
            load = "" if math.isnan(units[unit].load) else f", load {percent(units[unit].load)}"
            shared = "" if unit == name else f" of {unit}"
            labels[operator.kind, name] = cut(f"node {nodes[name]}{load}{shared}")
        else:
            labels[operator.kind, name] = "not placed yet"
    return labels


def _describe(network: Network, plan: Plan | None) -> str:
    groups = ((network.sources, "source"), (network.operators, "operator"), (network.outputs, "output"))
    sizes = f"{', '.join(count(len(group), noun) for group, noun in groups)}. Rows flow from left to right."
    if plan is None:
        return sizes
    return f"{sizes} The table of units lists the node of each unit, out of {count(plan.nodes, 'node')}."


def _wires(
    diagram: Diagram, items: Sequence[Item], nodes: Mapping[str, int], placed: Arrangement
) -> Iterator[tuple[Markup, str]]:
    for index, (wire, route) in enumerate(zip(diagram.wires, placed.routes, strict=True)):
        source = nodes.get(_operator_name(items[wire.source]))
        target = nodes.get(_operator_name(items[wire.target]))
        look = "wire"
        if index in diagram.dashed:
            look = "wire dashed"
        elif source is not None and target is not None and source != target:
            look = "wire crossing"
        yield Markup(curve(route)), look


def _box(item: Item, corner: Point, node: int | None) -> BoxDrawing:
    slant = {"output": 12, "source": 6}.get(item.shape, 0)
    return BoxDrawing(
        item=item,
        x=corner[0],
        y=corner[1],
        left=PADDING + (6 if item.shape in ("source", "state") else 0),
        right=item.box.width - PADDING - slant,
        outline=Markup(outline(item.shape, item.box)),
        fill="" if node is None else fill_class(node),
    )
