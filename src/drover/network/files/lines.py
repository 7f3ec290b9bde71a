"""Faults with their lines, in the order of the file, up to a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from drover.errors import Fault
from drover.network.check import MOST_FAULTS
from drover.network.files.document import Fields, Items, Node, Scalar, file_fault


def by_line(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the faults in the order of the file, at most MOST_FAULTS of them."""
    ordered = sorted(dict.fromkeys(faults), key=lambda fault: fault.line or 0)
    if len(ordered) > MOST_FAULTS:
        left_out = f"holding {len(ordered) - MOST_FAULTS} more faults"
        rest = file_fault(
            left_out, f"only the first {MOST_FAULTS} are listed", "Correct these first.", ordered[-1].line
        )
        return (*ordered[:MOST_FAULTS], rest)
    return tuple(ordered)


def placed(faults: Iterable[Fault], root: Fields | Items) -> list[Fault]:
    """Return the faults with their lines."""
    lookup: dict[int, dict[str, tuple[int, Node]]] = {}
    return [replace(fault, line=_line(root, fault.path, lookup)) for fault in faults]


def _line(root: Fields | Items, path: Sequence[str | int], lookup: dict[int, dict[str, tuple[int, Node]]]) -> int:
    """Return the line of the most specific node on the path; `lookup` caches the keys of nodes."""
    line = root.line
    node: Node = root
    for step in path:
        if isinstance(node, Scalar):
            break
        keys = lookup.get(id(node))
        if keys is None:
            keys = lookup[id(node)] = _keys(node)
        if str(step) not in keys:
            break
        line, node = keys[str(step)]
    return line


def _keys(node: Fields | Items) -> dict[str, tuple[int, Node]]:
    """Return line and value of each key; items of a list are found by number and by text."""
    if isinstance(node, Fields):
        return {key.text: (key.line, value) for key, value in node.entries}
    texts = {item.text: (item.line, item) for item in reversed(node.nodes) if isinstance(item, Scalar)}
    return {**texts, **{str(index): (item.line, item) for index, item in enumerate(node.nodes)}}
