"""The `tables` of a run file: the address of each table that is not in the checkpoint.

Rule 1: an address may contain a password. A fault shows the address without it.
Rule 2: a relative path of SQLite is relative to the folder of the run file, as all paths in it are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from drover.errors import Fault, nearest
from drover.flow.tables.address import SQLITE, address_fault, shown_uri, split_address
from drover.network.files.codecs import Decoded, MapOf, Plain, Text
from drover.network.files.document import Node
from drover.network.model import Network
from drover.network.schema import known
from drover.runs.model import TableAddress

RELATIVE: Final = f"{SQLITE}:"  # and no slash behind it


@dataclass(frozen=True, slots=True)
class AddressField:
    """The address of a table."""

    says: str = "the address of a table: sqlite:path/to/file.db, sqlite:///absolute/path.db or postgresql://..."
    stand_in: str = "sqlite:///tables.db"

    def read(self, node: Node) -> Decoded[str]:
        """Return the address."""
        text = Text("the address of a table", "sqlite:plant.db").read(node)
        uri, _, schema = split_address(absolute_uri(text.value, Path("/")))
        fault = None if text.faults else address_fault(uri, schema)
        if fault is None:
            return Decoded(text.value or self.stand_in, text.faults)
        return Decoded(self.stand_in, (Fault((), shown_uri(text.value), *fault, node.line),))

    def write(self, value: str) -> Plain:
        """Return the address."""
        return value


TABLES: Final = MapOf(
    AddressField(),
    "a mapping of tables to their addresses",
    "meters: sqlite:plant.db",
    TableAddress,
    lambda given: (given.table, given.uri),
)


def absolute_uri(uri: str, folder: Path) -> str:
    """Return an address with the path of SQLite made absolute."""
    path = uri.removeprefix(RELATIVE)
    if path == uri or path.startswith("/") or not path:
        return uri
    return f"{SQLITE}://{quote(str(folder.absolute()))}/{path}"


def absolute_addresses(given: Iterable[TableAddress], folder: Path) -> tuple[TableAddress, ...]:
    """Return the addresses with absolute paths."""
    return tuple(replace(one, uri=absolute_uri(one.uri, folder)) for one in given)


def table_faults(network: Network, given: Iterable[TableAddress]) -> Iterator[Fault]:
    """Yield a fault for each address of a table that the network does not declare."""
    names = [table.name for table in network.tables]
    for one in given:
        if one.table not in names:
            way_out = f"{nearest(one.table, names)}Known: {known(names)}." if names else "Leave it out."
            yield Fault(("tables", one.table), "unknown", "the network has no such table", way_out)
