"""Plain data as readable YAML.

Rule 1: any YAML reader that keeps scalars as text reads back the same data. Rule 2: a list or mapping is on one line if
it fits, else it has a line per entry. Quotes are used only where needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from drover.network.files.codecs import Plain

WIDTH: Final = 100
# No indicator at the start, and nothing inside that ends a plain scalar or a line.
PLAIN: Final = re.compile(r"(?![-?:] |---|\.\.\.|[-?:,\[\]{}#&*!|>'\"%@`~=<])\S(.*\S)?")
# A question mark ends one only in PyYAML's own scanner, and there only between brackets.
ENDS_PLAIN: Final = re.compile(r": | #|:$|^[-:]$|[\[\]{},?]")
ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def emit(data: Mapping[str, Plain]) -> str:
    """Return a mapping as a YAML document; a blank line precedes each list or mapping in it."""
    lines: list[str] = []
    for key, value in data.items():
        if isinstance(value, dict) and value:
            lines += ["", f"{quote(key)}:", *_block(value, "  ")]
        else:
            lines += [*([] if isinstance(value, str) else [""]), *_block({key: value}, "")]
    return "\n".join(lines) + "\n"


def _block(data: Mapping[str, Plain], indent: str) -> Iterator[str]:
    for key, value in data.items():
        line = f"{indent}{quote(key)}: {flow(value)}"
        if isinstance(value, str) or not value or len(line) <= WIDTH:
            yield line
        elif isinstance(value, dict):
            yield f"{indent}{quote(key)}:"
            yield from _block(value, indent + "  ")
        else:
            yield f"{indent}{quote(key)}:"
            yield from (f"{indent}  - {flow(item)}" for item in value)


def flow(value: Plain) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    return f"{{{', '.join(f'{quote(key)}: {flow(item)}' for key, item in value.items())}}}"


def quote(text: str) -> str:
    r"""Return a text as a YAML scalar: bare if that is safe anywhere, else in quotes.

    >>> [quote(text) for text in ("a > 1", "x = 'a'", "it's: 5", "", "[1]")]
    ['a > 1', "x = 'a'", '"it\'s: 5"', '""', '"[1]"']
    """
    if PLAIN.fullmatch(text) and text.isprintable() and not ENDS_PLAIN.search(text):
        return text
    if ("\\" in text or '"' in text) and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
