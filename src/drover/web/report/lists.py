"""The sections that are tables: headroom, units, moves, refusals, settings.

Rule 1: a table that would be too long is cut at its least important end, and says how much is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.control.settings import described
from drover.load.headroom import Headroom
from drover.web.report.decisions import Change
from drover.web.report.figures import NONE, clock, count, number, percent, seconds, size
from drover.web.report.markup import Content, Markup, element
from drover.web.report.story import Story
from drover.web.report.tables import Column, table

MOST_UNITS: Final = 500
MOST_CHANGES: Final = 200
MOST_GROUPS: Final = 200
MOST_MOVES: Final = 20  # named of one change


def left_out(total: int, most: int, which: str) -> Content:
    """Return how many rows of a table are not shown; nothing if all are."""
    return element("p", f"{count(total - most, 'row')} left out here: {which}.", class_="soft") if total > most else ()


def headroom(story: Story) -> Content:
    """Return how far rates can grow, all together and each source by itself."""
    room = story.room
    if room is None:
        return element("p", "Headroom is not known; the summary says why.")
    worst: Content = ()
    if room.worst is not None and room.worst.node is not None:
        mix = ", ".join(f"{source} {number(factor)} times" for source, factor in room.worst.factors.items())
        worst = element("p", f"The worst mix, the smallest change that fills a node: node {room.worst.node} at {mix}.")
    columns = [Column("source"), *(Column(head, "number") for head in ("rows/s", "most alone", "times", "then full"))]
    rows = [
        [
            each.source, number(each.rate), number(each.limit), number(each.factor),
            NONE if each.node is None else f"node {each.node}",
        ]
        for each in room.sources
    ]  # fmt: skip
    return (
        element("p", _growth(room)),
        table("Each source by itself, while the others stay", columns, rows),
        worst,
        element(
            "p", "From the costs, selectivities and rates of the last window, under the plan as it is.", class_="soft"
        ),
    )


def _growth(room: Headroom) -> str:
    if room.overloaded:
        return (
            f"Overloaded: node {', '.join(map(str, room.overloaded))}; rates must shrink to {number(room.all.factor)}."
        )
    if room.all.node is None:
        return "Nothing limits the rates."
    return f"All rates together can grow {number(room.all.factor)} times; then node {room.all.node} is full."


def units(story: Story) -> Content:
    """Return the table of units."""
    if not story.units:
        return element("p", "The checkpoint has no plan, so no unit is on a node yet.")
    columns = [
        Column("unit"), Column("node", "number"), Column("busy s/s", "number"), Column("of its node", "number"),
        Column("state", "number"), Column("last decision", "words"),
    ]  # fmt: skip
    rows = [
        [
            unit.name, str(unit.node), _known(unit.load, number), _known(unit.share, percent),
            _known(unit.state_bytes, size), unit.word or NONE,
        ]
        for unit in story.units[:MOST_UNITS]
    ]  # fmt: skip
    return table("Units, the busiest first", columns, rows), left_out(len(story.units), MOST_UNITS, "the least busy")


def _known(value: float, shown: Callable[[float], str]) -> str:
    return NONE if math.isnan(value) else shown(value)


def moves(story: Story) -> Content:
    """Return the changes of plan with their moves and reasons, newest first."""
    if not story.changes:
        return element("p", "No plan was changed.")
    columns = [
        Column("no.", "number"), Column("at", "number"), Column("period", "number"), Column("plan", "number"),
        Column("moves", "words"), Column("reason", "words"), Column("slowest node, promised"), Column("cost", "number"),
    ]  # fmt: skip
    rows = [
        [
            str(change.number), clock(story.timeline.at(change.period)), str(change.period), str(change.plan),
            _moves(change), change.reason, _promise(change), seconds(change.cost) if change.moves else NONE,
        ]
        for change in reversed(story.changes[-MOST_CHANGES:])
    ]  # fmt: skip
    return table("Changes of plan, newest first", columns, rows), left_out(
        len(story.changes), MOST_CHANGES, "the oldest"
    )


def _moves(change: Change) -> Content:
    if not change.moves and not change.shapes:
        return NONE
    named = [element("li", str(shape)) for shape in change.shapes]
    named += [element("li", f"{move}, {size(move.bytes)}") for move in change.moves[:MOST_MOVES]]
    more = len(change.moves) - MOST_MOVES
    return element("ul", named, element("li", f"and {count(more, 'move')} more") if more > 0 else ())


def _promise(change: Change) -> str:
    if not change.before or not change.after:
        return NONE
    return f"{percent(max(change.before))} to {percent(max(change.after))}"


def refusals(story: Story) -> Content:
    """Return what was not done and why, newest first, the same reason once."""
    if not story.groups:
        return element("p", "Nothing was refused.")
    columns = [
        Column("what", "words"), Column("why not", "words"), Column("times", "number"), Column("periods", "number"),
    ]  # fmt: skip
    rows = [
        [
            group.what, group.reason, str(group.times),
            str(group.last) if group.first == group.last else f"{group.first} to {group.last}",
        ]
        for group in story.groups[:MOST_GROUPS]
    ]  # fmt: skip
    return (
        table(
            "Refusals, newest first; reasons that differ in numbers alone are one row, with the newest", columns, rows
        ),
        left_out(len(story.groups), MOST_GROUPS, "the oldest"),
    )


def settings(story: Story) -> Content:
    """Return the settings of the loop."""
    given = story.material.settings
    if given is None:
        return element("p", "The checkpoint does not say with which settings the control loop ran.")
    rows = [[name, _setting(value)] for name, value in described(given).items()]
    return table("Settings of the control loop", [Column("setting"), Column("value", "words")], rows)


def _setting(value: Any) -> Markup | str:  # Any: JSON
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items()) or NONE
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value)) or NONE
    return str(value)
