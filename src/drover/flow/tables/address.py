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
# A password ends at the last @: one that is not escaped may contain any character.
SECRETS: Final = re.compile(r"(?P<before>://[^:/?@]*:|password=)(?P<secret>.*(?=@)|(?<==)[^&#]*)", re.DOTALL)
SQLITE_WAY_OUT: Final = "Write three slashes before the first folder: sqlite:///path/to/file.db."


def address_fault(uri: str, schema: str | None = None) -> tuple[str, str] | None:
    """Return the rule that an address breaks and the way out; None if it is sound.

    Relative paths are refused, because every process would resolve them differently.
    """
    scheme = uri.partition(":")[0]
    if scheme not in SCHEMES:
        schemes = " or ".join(f"{one}://" for one in SCHEMES)
        return f"must start with {schemes}", "Write for example sqlite:///path/to/file.db."
    if SCHEMES[scheme] != SQLITE:
        return None
    parts = urlsplit(uri)
    if parts.netloc or not parts.path.startswith("/") or not parts.path.strip("/"):
        return "SQLite needs the absolute path of a file", SQLITE_WAY_OUT
    return None if schema is None else (f"SQLite has no schemas, such as {schema!r}", "Leave it out.")


def shown_uri(uri: str) -> str:
    """Return a URI without passwords, as an error shows it."""
    return shorten(SECRETS.sub(r"\g<before>***", uri))


@dataclass(frozen=True, slots=True)
class Address:
    """A table in a database: `sqlite:///path/to/file.db` or `postgresql://user@host/database`, a URI of libpq.

    `name` is the table's name in the database, if it differs from the one in the network. `schema` is its schema in
    PostgreSQL, if the search path does not find it.
    """

    uri: str = field(repr=False)
    name: str | None = None
    schema: str | None = None
    internal: bool = False  # whether the database is the checkpoint's own file, `tables.db`

    def __post_init__(self) -> None:
        """Refuse an address that no process could use."""
        if fault := address_fault(self.uri, self.schema):
            raise DroverError(f"the address of a table is {self.shown}, but {fault[0]}. {fault[1]}")

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
        return shown_uri(self.uri)

    def hide(self, text: str) -> str:
        """Return a message of the database without passwords; it may repeat the URI."""
        for secret in (self.uri, *(found["secret"] for found in SECRETS.finditer(self.uri))):
            for form in {secret, unquote(secret)} - {""}:
                text = text.replace(form, "***")
        return text


AnyAddress = str | Address
NAMED: Final = re.compile(r"(?P<uri>.*)#(?:(?P<schema>[^@/#.]*)\.)?(?P<name>[^@/#]+)", re.DOTALL)


def split_address(text: str) -> tuple[str, str | None, str | None]:
    """Return the parts of an address in one text: the URI, and the name and schema of the table after `#`, if given."""
    named = NAMED.fullmatch(text)
    if named is None:
        return text, None, None
    return named["uri"], unquote(named["name"]), None if named["schema"] is None else unquote(named["schema"])


def parse_address(text: str) -> Address:
    """Return the address of a URI, which may end in `#name` or `#schema.name`, the table's name in the database."""
    return Address(*split_address(text))


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
                f"Say where it is: tables: {{{table}: 'postgresql://...'}}."
            )
        if one is None:
            uri = f"sqlite://{folder}/{EMBEDDED}".replace("%", "%25").replace("?", "%3F").replace("#", "%23")
            one = Address(uri, internal=True)
        found[table] = parse_address(one) if isinstance(one, str) else one
    return found
