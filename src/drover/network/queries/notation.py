"""Query files: YAML (one query, a list of queries, or several documents) and JSON lines.

Rule 1: a text becomes nodes that know their line numbers; `read.py` makes queries of them.
Rule 2: aliases, repeated keys and deep nesting are not allowed. A YAML file that has them is refused as a whole,
because it is not clear where the next query begins. Of a JSON file, only the faulty line is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from drover import strict_json
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
class QueryEntry:
    """One query of a file, not read yet; if it has faults, the node is None."""

    node: Node | None
    line: int
    faults: tuple[Fault, ...] = ()


def entries_of(text: str, name: str = "") -> list[QueryEntry]:
    """Return one entry per query of a text; the ending of the file name `name` says whether it is JSON or YAML."""
    return list(_json_lines(text)) if _is_json(text, name) else list(_yaml(text))


def _is_json(text: str, name: str) -> bool:
    if name.lower().endswith(JSON_NAMES):
        return True
    first = text.lstrip().partition("\n")[0].rstrip()
    return not name.lower().endswith((".yaml", ".yml")) and first.startswith('{"') and first.endswith("}")


def _yaml(text: str) -> Iterator[QueryEntry]:
    roots, faults = read_documents(text)
    if faults:
        raise FileError(by_line(faults))
    found = [one for root in roots for one in (root.nodes if isinstance(root, Items) else (root,))]
    if not found:
        raise FileError([file_fault("empty", "a query file has a query", "Begin with `name: ...`, or a list.")])
    return (QueryEntry(node, node.line) for node in found)


def _json_lines(text: str) -> Iterator[QueryEntry]:
    """Yield the queries of a text with one JSON object per line; empty lines are skipped."""
    count = 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        count += 1
        if count > MOST_QUERIES:
            rule = f"a file has at most {MOST_QUERIES} queries"
            raise FileError([file_fault("too long", rule, "Split it into several files.", number)])
        yield _json_line(line, number)


def _json_line(line: str, number: int) -> QueryEntry:
    if len(line) > LONGEST_LINE:
        rule = f"a query has at most {LONGEST_LINE} characters"
        return QueryEntry(
            None, number, (Fault(("query",), f"{len(line)} long", rule, "Split it into several.", number),)
        )
    try:
        value = strict_json.loads(line)
    except strict_json.JsonError as error:
        rule = f"a line of JSON is one query ({error})"
        way_out = "Write one object per line, or name the file .yaml if it is YAML."
        return QueryEntry(None, number, (Fault(("query",), shorten(line.strip()), rule, way_out, number),))
    return entry_of(value, number)


def entry_of(value: object, line: int = 1) -> QueryEntry:
    """Return the entry of a query given as JSON values or as a Python dict."""
    try:
        return QueryEntry(_node(value, line, 0), line)
    except ValueError as error:
        way_out = "Use text, numbers, true and false, and lists and mappings of these."
        return QueryEntry(None, line, (Fault(("query",), shorten(value), str(error), way_out, line),))


def _node(value: object, line: int, depth: int) -> Node:
    if isinstance(value, str):
        return _text(value, line)
    # Before numbers, because to Python True is the integer 1.
    if isinstance(value, bool) or value is None:
        return Scalar("" if value is None else str(value).lower(), line)
    if isinstance(value, int | float):
        if not math.isfinite(value):
            raise ValueError("a number must be finite")
        return Scalar(repr(value), line)
    if depth >= DEEPEST:
        raise ValueError(f"a query has at most {DEEPEST} levels")
    if isinstance(value, Mapping):
        return Fields(tuple((_key(key, line), _node(each, line, depth + 1)) for key, each in value.items()), line)
    if isinstance(value, Sequence):
        return Items(tuple(_node(each, line, depth + 1) for each in value), line)
    raise ValueError(f"a value cannot be a {type(value).__name__}")


def _key(key: object, line: int) -> Scalar:
    if not isinstance(key, str):
        raise ValueError("a key must be text")
    return _text(key, line)


def _text(value: str, line: int) -> Scalar:
    if not value.isprintable() and (bad := UNPRINTABLE.search(value)):
        raise ValueError(f"text must be printable, and this has character U+{ord(bad[0]):04X}")
    return Scalar(value, line, True)


def plain_of(node: Node) -> Any:  # Any: JSON
    """Return a node as JSON values that `entry_of` reads back: quoted text stays text, bare words become values."""
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
