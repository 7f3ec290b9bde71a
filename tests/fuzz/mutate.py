"""Small damages to valid inputs: in the text, or in the tree of keys and values that it is.

Rule 1: a case gets one to three damages. With more, a reader stops at the first and the rest is never reached.
Rule 2: a few cases are very large, because limits are only met there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Tree = Any  # Any: JSON
DAMAGES: Final = (1, 1, 1, 2, 2, 3)  # of a case
LARGE_ONE_IN: Final = 2_000  # cases
ODD_TEXTS: Final = (
    "",
    " ",
    "\x00",
    "\n",
    "\r\n",
    "\t",
    "\x1b[31m",
    "\x85",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\udfff",
    "\U0010ffff",
    "é",
    "e\u0301",
    "😀",
    "\u202e",
    "İ",
    "ß",
    "\uff41",
    "-",
    "--",
    "..",
    "../..",
    "/",
    "/dev/zero",
    "C:\\x",
    "file:///x",
    "s3://b/x",
    "a.b",
    "a b",
    "'",
    '"',
    "`",
    "${x}",
    "{{x}}",
    "%s",
    "<b>",
    "a" * 129,
    "~",
    "null",
    "NULL",
    "true",
    "yes",
    "NaN",
    ".inf",
    "0",
    "-0",
    "-1",
    "00",
    "0x10",
    "0b1",
    "1_000",
    "1e400",
    "-1e-400",
    "1e5",
    "9223372036854775808",
    "-9223372036854775809",
    "9" * 400,
    "0.1",
    "10 s",
    "0 s",
    "-1 s",
    "1 h 30 min",
    "9223372036854775807 d",
    "1 us",
    "10s",
    "auto",
    "2 x 3",
    "0 x 0",
    "99999 x 99999",
    "decimal(38,39)",
    "decimal(0,0)",
    "array<int>",
    "latest",
    "drover",
    "query",
    "a = b",
    "left.a",
    "a > 1",
    "(((",
    "count(*)",
)
# As JSON: a list that two cases share would carry the damages of the first into the second.
ODD_VALUES: Final = (
    *("null", "true", "false", "0", "-1", "1", "0.5", "-0.0", "1e308", "1e400", str(2**31), str(2**63), str(10**30)),
    *("[]", "{}", "[[]]", "[null]", '{"": ""}', "[{}]", '["a", "a"]'),
)
SIGNS: Final = ":{}[],&*!|>'\"%@`#-?~\\\n\t ().=<0123456789eE+"


def mutate_text(text: str, chance: random.Random, words: Sequence[str] = ()) -> str:
    """Return a text with a few damages; `words` are put in where they hurt."""
    for _ in range(chance.choice(DAMAGES)):
        text = chance.choice(TEXT_DAMAGES)(text, chance, words)
    return text


def _cut(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.choice((1, 1, 2, 5, 20)) :]


def _end(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    return text[: chance.randrange(len(text) + 1)]


def _put(text: str, chance: random.Random, words: Sequence[str]) -> str:
    start = chance.randrange(len(text) + 1)
    word = chance.choice(words) if words and chance.random() < 0.6 else chance.choice(ODD_TEXTS)
    return text[:start] + word + text[start + chance.randrange(3) :]


def _sign(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + chance.choice(SIGNS) + text[start + chance.randrange(2) :]


def _repeat(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    start = chance.randrange(len(text) + 1)
    piece = text[start : start + chance.choice((1, 3, 10, 40))]
    return text[:start] + piece * chance.choice((2, 2, 3, 9)) + text[start:]


def _carry(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    start = chance.randrange(len(text) + 1)
    end = start + chance.choice((1, 5, 30))
    rest = text[:start] + text[end:]
    place = chance.randrange(len(rest) + 1)
    return rest[:place] + text[start:end] + rest[place:]


def _swap_words(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    found = text.split(" ")
    first = chance.randrange(len(found))
    second = chance.randrange(len(found))
    found[first], found[second] = found[second], found[first]
    return " ".join(found)


def _swap_lines(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    lines = text.split("\n")
    first = chance.randrange(len(lines))
    second = chance.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _indent(text: str, chance: random.Random, _words: Sequence[str]) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    lines[at] = chance.choice((" ", "  ", "\t", "- ", "? ")) + lines[at]
    return "\n".join(lines)


TEXT_DAMAGES: Final[tuple[Callable[[str, random.Random, Sequence[str]], str], ...]] = (
    _cut,
    _end,
    _put,
    _put,
    _sign,
    _sign,
    _repeat,
    _carry,
    _swap_words,
    _swap_lines,
    _indent,
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a corpus, and by key the values that it has there: one of these is often accepted."""

    words: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]  # as JSON


NO_WORDS: Final = Vocabulary((), {})


def mutate_tree(plain: str, chance: random.Random, known: Vocabulary = NO_WORDS) -> str:
    """Return a JSON text with a few values or keys changed. JSON is YAML, too."""
    root: Tree = {"root": json.loads(plain)}
    for _ in range(chance.choice(DAMAGES)):
        _change_node(root, chance, known)
    return json.dumps(root["root"], ensure_ascii=chance.random() < 0.5)


def _odd(chance: random.Random, known: Vocabulary) -> Tree:
    roll = chance.random()
    if known.words and roll < 0.5:
        return chance.choice(known.words)
    return chance.choice(ODD_TEXTS) if roll < 0.8 else json.loads(chance.choice(ODD_VALUES))


def _change_node(root: Tree, chance: random.Random, known: Vocabulary) -> None:
    """Walk down from the root, and change the value or the key where the walk ends."""
    parent: Tree = root
    key: Tree = "root"
    while isinstance(parent[key], dict | list) and parent[key] and chance.random() < 0.85:
        parent = parent[key]
        key = chance.choice(list(parent)) if isinstance(parent, dict) else chance.randrange(len(parent))
    value = parent[key]
    if chance.random() < 0.4 and key in known.values:
        parent[key] = json.loads(chance.choice(known.values[key]))
    elif isinstance(parent, dict) and parent is not root and chance.random() < 0.4:
        _change_key(parent, key, chance, known)
    elif isinstance(value, str) and chance.random() < 0.3:
        parent[key] = mutate_text(value, chance, known.words)
    else:
        parent[key] = chance.choice(([value], [value, value], {str(_odd(chance, known)): value}, _odd(chance, known)))


def _change_key(parent: Tree, key: str, chance: random.Random, known: Vocabulary) -> None:
    what = chance.randrange(3)
    if what == 0:
        del parent[key]
    elif what == 1:
        parent[str(_odd(chance, known))] = parent.pop(key)
    else:
        # Shared, not copied: a later damage in it shows in both places.
        parent[str(_odd(chance, known))] = parent[key]


def large(chance: random.Random, texts: Sequence[str]) -> str:
    """Return a large text: a valid one repeated, one of its lines repeated, or brackets without end."""
    text = chance.choice(texts)
    kind = chance.randrange(5)
    if kind == 0:
        return text * (200_000 // (len(text) + 1))
    if kind == 1:
        line = chance.choice(text.split("\n")) + "\n"
        return text + line * (200_000 // (len(line) + 1))
    if kind == 2:
        return chance.choice(("[", "{a: ", "- ", "(", "a(", '{"a":', "not ", "? ")) * chance.choice((50, 2_000, 60_000))
    if kind == 3:
        at = chance.randrange(len(text) + 1)
        return text[:at] + chance.choice(("a", "é", "9", " ", "\n", ", a", "'")) * 100_000 + text[at:]
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    name, colon, rest = lines[at].partition(":")
    copies = [f"{name}{number}{colon}{rest}" for number in range(3_000)]
    return "\n".join([*lines[:at], *copies, *lines[at:]])
