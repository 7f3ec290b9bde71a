"""The names of all accepted queries and the number of queries per tenant, including those that wait for a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from drover.errors import DroverError, nearest, shorten

MOST_LISTED: Final = 5  # names in an error


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """The number and the tenant of the query that has a name."""

    number: int
    tenant: str


@dataclass(slots=True)
class QueryNames:
    """Queries by name, and their count by tenant."""

    by_name: dict[str, NamedQuery] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Iterable[tuple[str, int, str]]) -> None:
        """Add queries, given as name, number and tenant."""
        for name, number, tenant in rows:
            self.by_name[name] = NamedQuery(number, tenant)
            self.counts[tenant] += 1

    def remove(self, names: Iterable[str]) -> None:
        """Remove queries, so that their names are free again."""
        for name in names:
            self.counts[self.by_name.pop(name).tenant] -= 1

    def number_of(self, name: str) -> int:
        """Return the number of a query; DroverError if no query has that name."""
        if name not in self.by_name:
            raise DroverError(f"there is no query {shorten(name)}. {nearest(name, self.by_name)}See drover queries.")
        return self.by_name[name].number

    def select(self, names: Sequence[str], tenant: str | None, *, every: bool) -> list[str]:
        """Return the named queries, or with `every` all queries; with `tenant`, those of one tenant only.

        DroverError if a named query does not exist or belongs to another tenant.
        """
        if every == bool(names):
            raise DroverError("either name the queries to drop or ask for all of them. Name some, or give --all.")
        if every:
            return [name for name, query in self.by_name.items() if tenant in (None, query.tenant)]
        # All or none: a typing error must not leave a request half done.
        unknown = [name for name in dict.fromkeys(names) if name not in self.by_name]
        if unknown:
            shown = ", ".join(map(shorten, unknown[:MOST_LISTED])) + (", ..." if len(unknown) > MOST_LISTED else "")
            hint = nearest(unknown[0], self.by_name)
            raise DroverError(f"there is no query {shown}, so nothing is dropped. {hint}See drover queries.")
        foreign = [name for name in names if tenant not in (None, self.by_name[name].tenant)]
        if foreign:
            owner = self.by_name[foreign[0]].tenant
            raise DroverError(
                f"query {shorten(foreign[0])} belongs to tenant {shorten(owner)}, not {shorten(tenant)}, so nothing "
                "is dropped. Leave it out, or name its tenant."
            )
        return list(dict.fromkeys(names))
