"""A network as an SVG drawing, from left to right.

Rule 1: sources, operators, tables and outputs differ in shape, not only in colour. Rule 2: text from the network is
escaped, and long text is cut; the full text is in the tooltip. A table that is read and written is drawn twice, so that
the drawing has no cycle.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from drover.errors import one_line
from drover.network.drawing.layout import Arrangement, Connector, Point, arrange
from drover.network.drawing.ordering import Box, Pixels
from drover.network.drawing.shapes import LEGEND, PADDING, STYLE, outline
from drover.network.drawing.summary import box_lines, describe_source, summary
from drover.network.model import Network
from drover.network.operators import Operator, Table
from drover.wording import count

LONGEST: Final = 44  # characters of a line in a box
CHARACTER: Final[Pixels] = 7.3  # width of one, in a monospaced font of 12 px
LINE: Final[Pixels] = 18
MARGIN: Final[Pixels] = 24
HEADING: Final[Pixels] = 40
FOOT: Final[Pixels] = 44


@dataclass(frozen=True, slots=True)
class Item:
    """A box and its text: name and kind in the first line, then more lines."""

    shape: str
    name: str
    kind: str
    lines: tuple[str, ...] = ()
    tooltip: str = ""

    @property
    def box(self) -> Box:
        """Its size."""
        widest = max(width(self.name) + 2 + width(self.kind), *(width(line) for line in self.lines), 10)
        slant = 12 if self.shape != "operator" else 0
        return Box(round(widest * CHARACTER) + 2 * PADDING + slant, 14 + LINE * (1 + len(self.lines)))


def width(text: str) -> int:
    """Return how many columns a text takes in a monospaced font."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def cut(text: str) -> str:
    """Return a text that fits into a box."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True, slots=True)
class Diagram:
    """The parts of a drawing: items, wires between them, and which wires lead to or from tables."""

    items: tuple[Item, ...]
    wires: tuple[Connector, ...]
    dashed: frozenset[int]


def svg(network: Network) -> str:
    """Return the drawing of a network as the text of an SVG file."""
    diagram = diagram_of(network)
    placed = arrange([item.box for item in diagram.items], diagram.wires)
    return "\n".join(_lines(network, diagram, placed)) + "\n"


def diagram_of(network: Network) -> Diagram:
    """Return boxes and wires of a network."""
    items: list[Item] = []
    ports: dict[str, tuple[int, Pixels]] = {}  # where each stream leaves its box
    for source in network.sources:
        ports[source.name] = (len(items), 7 + LINE)
        note = describe_source(source)
        items.append(Item("source", source.name, "source", (cut(note),), str(source.schema)))
    numbers = {}
    for operator in network.operators:
        numbers[operator.name] = len(items)
        item = _operator_item(operator)
        for index, stream in enumerate(operator.outputs):
            height = 7 + LINE * (1.5 + index) if operator.branches else item.box.height / 2
            ports[stream] = (len(items), height)
        items.append(item)
    wires = [
        Connector(ports[stream][0], numbers[operator.name], ports[stream][1])
        for operator in network.operators
        for stream in operator.inputs
    ]
    solid = len(wires)
    wires += _table_wires(network, numbers, items)
    dashed = frozenset(range(solid, len(wires)))
    for stream in network.outputs:
        wires.append(Connector(ports[stream][0], len(items), ports[stream][1]))
        items.append(Item("output", stream, "output", (), str(network.streams[stream])))
    return Diagram(tuple(items), tuple(wires), dashed)


def _operator_item(operator: Operator) -> Item:
    lines = tuple(map(cut, box_lines(operator)))
    shape = "state" if operator.holds_state else "operator"
    return Item(shape, operator.name, operator.kind, lines, summary(operator))


def _table_wires(network: Network, numbers: dict[str, int], items: list[Item]) -> Iterator[Connector]:
    """Yield the wires from and to tables, adding the tables to `items`."""
    for table in network.tables:
        users = [operator for operator in network.operators if operator.table == table.name]
        for writes in (False, True):
            group = [operator for operator in users if operator.writes_table == writes]
            if group or (not users and not writes):
                item = _table_item(table)
                for operator in group:
                    there = numbers[operator.name]
                    ends = (there, len(items)) if writes else (len(items), there)
                    yield Connector(*ends, items[there].box.height / 2 if writes else item.box.height / 2)
                items.append(item)


def _table_item(table: Table) -> Item:
    key = cut(one_line(f"key {', '.join(table.key)}"))
    return Item("table", table.name, "table", (key,), str(table.schema))


def _lines(network: Network, diagram: Diagram, placed: Arrangement) -> Iterator[str]:
    legend_width = sum(wide for _, _, wide in LEGEND)
    full = max(placed.width, legend_width, width(network.name) * 10) + 2 * MARGIN
    tall = placed.height + 2 * MARGIN + HEADING + FOOT
    sizes = ", ".join(
        count(len(group), noun)
        for group, noun in (
            (network.sources, "source"),
            (network.tables, "table"),
            (network.operators, "operator"),
            (network.outputs, "output"),
        )
    )
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full:.0f}" height="{tall:.0f}" '
        f'viewBox="0 0 {full:.0f} {tall:.0f}" role="img" aria-labelledby="drover-title drover-desc">'
    )
    yield f'<title id="drover-title">Network {escape(network.name)}</title>'
    yield f'<desc id="drover-desc">{sizes}. Rows flow from left to right.</desc>'
    yield STYLE
    yield '<rect class="paper" width="100%" height="100%"/>'
    yield f'<text class="heading" x="{MARGIN}" y="{MARGIN + 12}">{escape(network.name)}</text>'
    yield f'<text class="note" x="{MARGIN}" y="{MARGIN + 30}">{sizes}</text>'
    yield f'<g transform="translate({MARGIN} {MARGIN + HEADING})">'
    for number, route in enumerate(placed.routes):
        dashed = " dashed" if number in diagram.dashed else ""
        yield f'<path class="wire{dashed}" d="{curve(route)}" marker-end="url(#drover-tip)"/>'
    for item, corner in zip(diagram.items, placed.corners, strict=True):
        yield from _item_lines(item, corner)
    yield "</g>"
    yield from _legend(tall - FOOT / 2 - 8)
    yield "</svg>"


def curve(route: tuple[Point, ...]) -> str:
    """Return the path of a wire: straight beside boxes, bent between layers."""
    (x, y), *rest = route
    words = [f"M{x:.1f} {y:.1f}"]
    for index, (to_x, to_y) in enumerate(rest):
        if index % 2 == 0:
            words.append(f"H{to_x:.1f}" if to_x != x else "")
        else:
            middle = (x + to_x) / 2
            words.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x = to_x
        y = to_y
    return "".join(words)


def _item_lines(item: Item, corner: Point) -> Iterator[str]:
    box = item.box
    (x, y) = corner
    left = PADDING + (6 if item.shape in ("source", "state") else 0)
    right = box.width - PADDING - (12 if item.shape == "output" else 6 if item.shape == "source" else 0)
    yield f'<g class="{item.shape}" transform="translate({x:.1f} {y:.1f})">'
    yield f"<title>{escape(one_line(f'{item.kind} {item.name}: {item.tooltip}'))}</title>"
    yield outline(item.shape, box)
    yield f'<text class="name" x="{left}" y="{7 + LINE - 5}">{escape(one_line(item.name))}</text>'
    yield f'<text class="kind" x="{right}" y="{7 + LINE - 5}">{item.kind}</text>'
    for index, line in enumerate(item.lines):
        yield f'<text class="note" x="{left}" y="{7 + LINE * (index + 2) - 5}">{escape(line)}</text>'
    yield "</g>"


def _legend(y: Pixels) -> Iterator[str]:
    x = MARGIN
    for shape, meaning, wide in LEGEND:
        yield f'<g class="{shape}" transform="translate({x:.0f} {y:.0f})">{outline(shape, Box(28, 16))}'
        yield f'<text class="note" x="36" y="12">{meaning}</text></g>'
        x += wide
