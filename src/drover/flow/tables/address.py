"""Addresses: in which database, and under which name there, a table of the network lives.

Rule 1: an address may hold a password, so it is never saved, and whoever shows one shows `shown`.
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
EMBEDDED: Final = "tables.db"  # in the checkpoint: where tables without an address live
SECRETS: Final = re.compile(r"(?<=:)(?<!:/)[^/:?]*(?=@)|(?<=password=)[^&]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A table in a database: `sqlite:///path/to/file.db` or `postgresql://user@host/database`, as libpq takes it.

    `name` is the table's name there, if it is not the one in the network; `schema` its schema in PostgreSQL, if it is
    not found by the search path.
    """

    uri: str = field(repr=False)
    name: str | None = None
    schema: str | None = None

    def __post_init__(self) -> None:
        """Refuse a URI of another kind of database, and a file that every process would look for elsewhere."""
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
        """Return a message of the database without passwords, in case it repeats the URI."""
        for secret in (self.uri, *SECRETS.findall(self.uri)):
            if secret:
                text = text.replace(secret, "***")
        return text


AnyAddress = str | Address
NAMED: Final = re.compile(r"(?P<uri>.*)#(?:(?P<schema>[^@/#.]*)\.)?(?P<name>[^@/#]+)", re.DOTALL)


def parse_address(text: str) -> Address:
    """Return the address that a URI means; behind a # may stand the table's name there, `name` or `schema.name`."""
    named = NAMED.fullmatch(text)
    if named is None:
        return Address(text)
    schema = named["schema"]
    return Address(named["uri"], unquote(named["name"]), None if schema is None else unquote(schema))


def touched(network: Network) -> dict[str, bool]:
    """Return the tables that operators use, and whether one writes it."""
    found: dict[str, bool] = {}
    for operator in network.operators:
        if operator.table is not None:
            found[operator.table] = found.get(operator.table, False) or not operator.outputs
    return found


def addresses(network: Network, given: Mapping[str, AnyAddress], folder: str | None) -> dict[str, Address]:
    """Return where each table lives that operators use; one without an address lives in a file in `folder`.

    `folder` is None if the checkpoint is on no local disk.
    """
    if strangers := sorted(set(given) - {table.name for table in network.tables}):
        raise DroverError(
            f"there is an address for table {strangers[0]!r}, but the tables of {network.name!r} are "
            f"{known(table.name for table in network.tables)}. Name one of these, or declare it."
        )
    found = {}
    for table in touched(network):
        one = given.get(table)
        if one is None and folder is None:
            raise DroverError(
                f"table {table!r} has no address, and the checkpoint is not on a local disk, where it could live. "
                f"Pass tables={{{table!r}: 'postgresql://...'}}."
            )
        if one is None:
            one = Address(f"sqlite://{folder}/{EMBEDDED}".replace("%", "%25").replace("?", "%3F").replace("#", "%23"))
        found[table] = parse_address(one) if isinstance(one, str) else one
    return found
