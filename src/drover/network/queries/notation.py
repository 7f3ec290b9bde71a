"""Texts with many queries: YAML (one query, a list of them, or several documents) and JSON lines.

Rule 1: a text becomes nodes that know their lines; what a query means is for `read.py`.
Rule 2: the notation is bounded and says everything once: no aliases, no key twice, no depth without end. YAML that
breaks this is refused as a whole, because nobody can tell where the next query begins; a line of JSON only itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from drover.errors import Fault, FileError, shorten
from drover.network.files.document import (
    DEEPEST,
    UNPRINTABLE,
    Fields,
    Items,
    Node,
    Scalar,
    file_fault,
    read_documents,
)
from drover.network.files.lines import by_line

LONGEST_LINE: Final = 64 * 1024  # characters of one query in JSON
MOST_QUERIES: Final = 1_000_000  # in one text
JSON_NAMES: Final = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands where a query should be; with faults, the node is None."""

    node: Node | None
    line: int
    faults: tuple[Fault, ...] = ()


def entries_of(text: str, name: str = "") -> list[Entry]:
    """Return what a text holds, one entry per query; `name` is that of its file, whose ending tells JSON from YAML."""
    return list(_json_lines(text)) if _is_json(text, name) else list(_yaml(text))


def _is_json(text: str, name: str) -> bool:
    if name.lower().endswith(JSON_NAMES):
        return True
    first = text.lstrip().partition("\n")[0].rstrip()
    return not name.lower().endswith((".yaml", ".yml")) and first.startswith('{"') and first.endswith("}")


def _yaml(text: str) -> Iterator[Entry]:
    roots, faults = read_documents(text)
    if faults:
        raise FileError(by_line(faults))
    found = [one for root in roots for one in (root.nodes if isinstance(root, Items) else (root,))]
    if not found:
        raise FileError([file_fault("empty", "a query file has a query", "Begin with `name: ...`, or a list.")])
    return (Entry(node, node.line) for node in found)


def _json_lines(text: str) -> Iterator[Entry]:
    """Yield the queries of a text with one JSON object per line; empty lines are passed over."""
    count = 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        count += 1
        if count > MOST_QUERIES:
            rule = f"a file has at most {MOST_QUERIES} queries"
            raise FileError([file_fault("too long", rule, "Split it into several files.", number)])
        yield _json_line(line, number)


def _json_line(line: str, number: int) -> Entry:
    if len(line) > LONGEST_LINE:
        rule = f"a query has at most {LONGEST_LINE} characters"
        return Entry(None, number, (Fault(("query",), f"{len(line)} long", rule, "Split it into several.", number),))
    try:
        value = json.loads(line, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        rule = f"a line of JSON is one query ({_said(error)})"
        way_out = "Write one object per line, or name the file .yaml if it is YAML."
        return Entry(None, number, (Fault(("query",), shorten(line.strip()), rule, way_out, number),))
    return entry_of(value, number)


def _said(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {shorten(next(n for n in names if names.count(n) > 1))} is there twice")
    return found


def _no_constant(word: str) -> object:
    raise ValueError(f"{word} is no number of JSON")


def entry_of(value: object, line: int = 1) -> Entry:
    """Return a query that came as JSON values or as a dict of Python's."""
    try:
        return Entry(_node(value, line, 0), line)
    except ValueError as error:
        way_out = "Give texts, numbers, truth values, lists and mappings of these."
        return Entry(None, line, (Fault(("query",), shorten(value), str(error), way_out, line),))


def _node(value: object, line: int, depth: int) -> Node:
    if isinstance(value, str):
        return _text(value, line)
    if isinstance(value, bool) or value is None:
        return Scalar("" if value is None else str(value).lower(), line)
    if isinstance(value, int | float):
        if not math.isfinite(value):
            raise ValueError("a number is finite")
        return Scalar(repr(value), line)
    if depth >= DEEPEST:
        raise ValueError(f"a query has at most {DEEPEST} levels")
    if isinstance(value, Mapping):
        return Fields(tuple((_key(key, line), _node(each, line, depth + 1)) for key, each in value.items()), line)
    if isinstance(value, Sequence):
        return Items(tuple(_node(each, line, depth + 1) for each in value), line)
    raise ValueError(f"a value is no {type(value).__name__}")


def _key(key: object, line: int) -> Scalar:
    if not isinstance(key, str):
        raise ValueError("a key is a text")
    return _text(key, line)


def _text(value: str, line: int) -> Scalar:
    if not value.isprintable() and (bad := UNPRINTABLE.search(value)):
        raise ValueError(f"a text is printable, and one holds character U+{ord(bad[0]):04X}")
    return Scalar(value, line, True)


def plain_of(node: Node) -> Any:  # Any: JSON
    """Return a node as JSON values that `entry_of` reads back: texts stay texts, bare words become what they mean."""
    match node:
        case Fields(entries):
            return {key.text: plain_of(value) for key, value in entries}
        case Items(nodes):
            return [plain_of(item) for item in nodes]
        case Scalar("", quoted=False):
            return None
        case Scalar(text, quoted=False) if text.lower() in ("true", "false"):
            return text.lower() == "true"
    return node.text
