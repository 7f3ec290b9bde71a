"""Addresses of tables: the database that has a table of the network, and the table's name there.

Rule 1: an address may contain a password. It is never saved, and messages use `shown`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from drover.errors import DroverError, shorten
from drover.network.model import Network
from drover.network.schema import known

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
SCHEMES: Final[Mapping[str, str]] = {SQLITE: SQLITE, POSTGRESQL: POSTGRESQL, "postgres": POSTGRESQL}
EMBEDDED: Final = "tables.db"  # in the checkpoint, for tables without an address
SECRETS: Final = re.compile(r"(?<=:)(?<!:/)[^/:?]*(?=@)|(?<=password=)[^&]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A table in a database: `sqlite:///path/to/file.db` or `postgresql://user@host/database`, a URI of libpq.

    `name` is the table's name in the database, if it differs from the one in the network. `schema` is its schema in
    PostgreSQL, if the search path does not find it.
    """

    uri: str = field(repr=False)
    name: str | None = None
    schema: str | None = None

    def __post_init__(self) -> None:
        """Refuse other kinds of databases, and relative paths, which every process would resolve differently."""
        scheme = self.uri.partition(":")[0]
        if scheme not in SCHEMES:
            raise DroverError(
                f"the address of a table is {self.shown}, but must start with {' or '.join(f'{s}://' for s in SCHEMES)}"
                ". Write for example sqlite:///path/to/file.db."
            )
        if self.database == SQLITE and (urlsplit(self.uri).netloc or not self.path.strip("/")):
            raise DroverError(
                f"the address of a table is {self.shown}, but SQLite needs the absolute path of a file. "
                "Write three slashes before the first folder: sqlite:///path/to/file.db."
            )
        if self.database == SQLITE and self.schema is not None:
            raise DroverError(f"schema is {self.schema!r}, but SQLite has no schemas. Leave it out.")

    @property
    def database(self) -> str:
        """The kind of database."""
        return SCHEMES[self.uri.partition(":")[0]]

    @property
    def path(self) -> str:
        """The file of a SQLite database."""
        return "/" + unquote(urlsplit(self.uri).path).lstrip("/")

    @property
    def shown(self) -> str:
        """The URI without passwords."""
        return shorten(SECRETS.sub("***", self.uri))

    def hide(self, text: str) -> str:
        """Return a message of the database without passwords; it may repeat the URI."""
        for secret in (self.uri, *SECRETS.findall(self.uri)):
            if secret:
                text = text.replace(secret, "***")
        return text


AnyAddress = str | Address
NAMED: Final = re.compile(r"(?P<uri>.*)#(?:(?P<schema>[^@/#.]*)\.)?(?P<name>[^@/#]+)", re.DOTALL)


def parse_address(text: str) -> Address:
    """Return the address of a URI, which may end in `#name` or `#schema.name`, the table's name in the database."""
    named = NAMED.fullmatch(text)
    if named is None:
        return Address(text)
    schema = named["schema"]
    return Address(named["uri"], unquote(named["name"]), None if schema is None else unquote(schema))


def touched(network: Network) -> dict[str, bool]:
    """Return the tables that operators use, and whether any operator writes it."""
    found: dict[str, bool] = {}
    for operator in network.operators:
        if operator.table is not None:
            found[operator.table] = found.get(operator.table, False) or not operator.outputs
    return found


def addresses(network: Network, given: Mapping[str, AnyAddress], folder: str | None) -> dict[str, Address]:
    """Return the address of each table that operators use; the default is a SQLite file in `folder`.

    `folder` is None if the checkpoint is not on a local disk.
    """
    if unknown := sorted(set(given) - {table.name for table in network.tables}):
        raise DroverError(
            f"there is an address for table {unknown[0]!r}, but the tables of {network.name!r} are "
            f"{known(table.name for table in network.tables)}. Name one of these, or declare it."
        )
    found = {}
    for table in touched(network):
        one = given.get(table)
        if one is None and folder is None:
            raise DroverError(
                f"table {table!r} has no address, and the checkpoint is not on a local disk that could hold it. "
                f"Pass tables={{{table!r}: 'postgresql://...'}}."
            )
        if one is None:
            one = Address(f"sqlite://{folder}/{EMBEDDED}".replace("%", "%25").replace("?", "%3F").replace("#", "%23"))
        found[table] = parse_address(one) if isinstance(one, str) else one
    return found
