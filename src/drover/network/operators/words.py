"""Parts of summaries that several kinds share."""

from __future__ import annotations

from collections.abc import Iterable

from drover.network.columns import Named


def computed(columns: Iterable[Named]) -> str:
    """Return computed columns in a few words; one that only keeps its name is not repeated."""
    return ", ".join(
        named.name if named.expression.strip().strip("`") == named.name else f"{named.name} = {named.expression}"
        for named in columns
    )
