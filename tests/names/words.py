"""Names that could go wrong: the engine's own words, keywords, and names that no file system or terminal likes.

Rule 1: the engine's words are read from its sources, so a new port, column or key is tried without a change here.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from sqlglot.dialects.spark import Spark

from drover.network.schema import COLUMN_NAME, NAME

SOURCES: Final = Path(__file__).parents[2] / "src" / "drover"
LONGEST: Final = 128  # characters of a name

# Words that meant something to the engine once, or mean something where names are written down.
NOTABLE: Final = (
    *("latest", "routed", "drover", "query", "queries", "node", "part", "port", "member", "panes", "start", "left"),
    *("right", "stream", "reader", "payload", "batch", "source", "reason", "row", "stage", "mark", "case", "x", "len"),
    *("__index__", "__class__", "__init__", "_", "__", "None", "True", "self", "cls", "kind", "name", "columns"),
    *("rowid", "oid", "_rowid_", "main", "temp", "excluded", "con", "nul", "aux", "lock", "literal", "count", "s"),
    *("window_start", "window_end", "window_time", "spark", "default", "metadata", "_metadata", "_corrupt_record"),
    *("index", "value", "timestamp", "key", "topic", "null", "nan", "inf", "constructor", "toString", "dead_letters"),
)
# What NAME does not allow; a space would do for most, but each of these has hurt some program.
REFUSED: Final = (
    *("", " ", "a b", "a ", " a", "a\n", "\ta", "a\x00b", "\x1b[31m", "drover source", "drover.pane", "routed:"),
    *("drover mark", "a.b", ".", "..", "../up", "a/b", "a\\b", "~", "*", "?", "a:b", "a;b", "a,b", "a=b", "a|b"),
    *("'a'", '"a"', "`a`", "a`b", "$a", "${a}", "{a}", "%s", "<a>", "&amp;", "#a", "@a", "-a", "1a", "9", "0"),
    *("é", "e\u0301", "naïve", "ß", "İ", "\uff41", "名", "😀", "\u202ea", "a\u200b", "\ufeffa", "\ud800", "a" * 129),
)
SPOILT_COLUMNS: Final = ("a-b",)  # operators and sources may have a dash


@cache
def engine_words() -> tuple[str, ...]:
    """Return every text in the sources of the engine that could be a name."""
    found = (text for file in sorted(SOURCES.rglob("*.py")) for text in _texts(file))
    return tuple(dict.fromkeys(part for text in found for part in (text, *text.split(".")) if NAME.fullmatch(part)))


def _texts(file: Path) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


@cache
def allowed() -> tuple[str, ...]:
    """Return names that drover allows, for streams, tables, queries and tenants."""
    keywords = [*keyword.kwlist, *(word.lower() for word in Spark.Tokenizer.KEYWORDS), *Spark.Tokenizer.KEYWORDS]
    lengths = ["q", "Z", "L" * LONGEST, "_" * LONGEST]
    words = [*NOTABLE, *engine_words(), *keywords, *lengths, "a-b", "a-", "A-1-b", "select-from"]
    # A table may not begin so, and `test_refusals` tries it.
    return _distinct(word for word in words if NAME.fullmatch(word) and not word.lower().startswith("sqlite_"))


@cache
def allowed_columns() -> tuple[str, ...]:
    """Return names that drover allows for columns."""
    return _distinct(word for word in allowed() if COLUMN_NAME.fullmatch(word))


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
