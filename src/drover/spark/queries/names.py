"""Names that are taken, and how many queries each tenant has: as of now, whatever waits for a batch included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from drover.errors import DroverError, nearest, shorten

MOST_TOLD = 5  # names in an error


@dataclass(frozen=True, slots=True)
class Known:
    """Who has a name."""

    number: int
    tenant: str


@dataclass(slots=True)
class Names:
    """Queries by name, and their number by tenant."""

    by_name: dict[str, Known] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Iterable[tuple[str, int, str]]) -> None:
        """Take in queries: name, number, tenant."""
        for name, number, tenant in rows:
            self.by_name[name] = Known(number, tenant)
            self.counts[tenant] += 1

    def remove(self, names: Iterable[str]) -> None:
        """Let queries go."""
        for name in names:
            self.counts[self.by_name.pop(name).tenant] -= 1

    def number_of(self, name: str) -> int:
        """Return the number of a query; DroverError if there is none of that name."""
        if name not in self.by_name:
            raise DroverError(f"there is no query {shorten(name)}. {nearest(name, self.by_name)}See drover queries.")
        return self.by_name[name].number

    def choose(self, names: Sequence[str], tenant: str | None, *, every: bool) -> list[str]:
        """Return which queries are meant: those named, or every one; of one tenant, if it is given.

        DroverError if one that is named is not there, or is another tenant's.
        """
        if every == bool(names):
            raise DroverError("either name the queries to drop or ask for all of them. Name some, or give --all.")
        if every:
            return [name for name, known in self.by_name.items() if tenant in (None, known.tenant)]
        absent = [name for name in dict.fromkeys(names) if name not in self.by_name]
        if absent:
            told = ", ".join(map(shorten, absent[:MOST_TOLD])) + (", ..." if len(absent) > MOST_TOLD else "")
            hint = nearest(absent[0], self.by_name)
            raise DroverError(f"there is no query {told}, so nothing is dropped. {hint}See drover queries.")
        foreign = [name for name in names if tenant not in (None, self.by_name[name].tenant)]
        if foreign:
            of = self.by_name[foreign[0]].tenant
            raise DroverError(
                f"query {shorten(foreign[0])} is of tenant {shorten(of)}, not {shorten(tenant)}. "
                "Nothing is dropped; leave it out, or name its tenant."
            )
        return list(dict.fromkeys(names))
