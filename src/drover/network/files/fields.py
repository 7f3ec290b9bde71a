"""The fields of a network file, by section and by kind of operator, and the reference page made from them.

Rule 1: the fields of a kind are part of its record in `drover.network.operators`. Rule 2: fields are listed in the
order in which a file shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from drover.network.files import codecs
from drover.network.files.field import NONE, STICKY, WAS, Default, Field, table_lines
from drover.network.operators import OPERATORS

VERSION: Final = "1"  # of the format

SOURCE: Final = (
    Field("columns", codecs.COLUMNS, "its columns, in order"),
    Field("time", codecs.COLUMN, "the timestamp column that holds event time; windows need it", NONE),
    Field("lateness", codecs.LENGTH, "how late rows may be", Default(0), hides=False),
)
TABLE: Final = (
    Field("columns", codecs.COLUMNS, "its columns, in order"),
    Field("key", codecs.COLUMN_NAMES, "the columns that identify a row"),
)
KINDS: Final[Mapping[str, tuple[Field, ...]]] = {name: (*kind.fields, STICKY, WAS) for name, kind in OPERATORS.items()}
KIND: Final = "kind"

NETWORK: Final[Mapping[str, str]] = {
    "drover": f"version of this format, {VERSION}; required",
    "name": "name of the network; required",
    "sources": "streams that enter the network: a mapping of names to their fields; required",
    "tables": "relational tables that operators read or write: a mapping of names to their fields",
    "operators": "operators: a mapping of names to their fields; each makes the stream of its name",
    "outputs": "list of the streams that leave the network",
}


def reference() -> str:
    """Return docs/reference/network-file.md: every field there is."""
    return "\n".join(_reference_lines())


def _reference_lines() -> Iterator[str]:
    yield "# Network files"
    yield ""
    yield "<!-- Made by drover.network.files.fields.reference; tests/network/files/test_fields.py says how. -->"
    yield ""
    yield "A network file is YAML without anchors, aliases and tags. `drover check FILE` lists all its faults."
    yield "Where a list is expected, one item may stand without brackets. A length of time is a whole number and a unit"
    yield "(d, h, min, s, ms, us): `10 s`, `1 h 30 min`. Expressions are SQL; quote one that holds `: ` or ` #`."
    yield ""
    yield "| field | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in NETWORK.items())
    sections = {"A source": SOURCE, "A table": TABLE}
    sections |= {f"An operator of kind `{kind}`": fields for kind, fields in KINDS.items()}
    for title, fields in sections.items():
        yield from table_lines(title, fields)
    yield ""
