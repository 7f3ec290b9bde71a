"""State on its way from one resident node to another, as Arrow.

Rule 1: whatever goes wrong, the state is loaded from the log instead. A transfer saves time and decides nothing.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.flight as fl

from drover.flow.lending import LentPart, PartRequest, borrow
from drover.flow.operators import UnitState
from drover.flow.recall import Saved
from drover.spark.resident.wire import NodeAddress

SAVED: Final = b"drover saved"  # key in the metadata of a table: the saved state that its rows equal
NOT_HERE: Final = "drover: this state is not here"
log = logging.getLogger(__name__)

FetchPart = Callable[[NodeAddress, PartRequest], LentPart]


def to_table(lent: LentPart) -> pa.Table:
    """Return a part in the form that travels."""
    # String views would carry the buffers of rows that have expired.
    table = lent.rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.replace_schema_metadata({SAVED: pickle.dumps(lent.saved)})


def from_table(table: pa.Table) -> LentPart:
    """Return the part that a table carries; only nodes of the run have the secret to send one."""
    saved = pickle.loads(table.schema.metadata[SAVED])
    return LentPart(saved, pl.DataFrame(table.replace_schema_metadata(None)))  # Polars takes metadata for text


@dataclass(frozen=True, slots=True)
class StateBorrower:
    """Asks the nodes that ran operators in the last batch for their state."""

    holders: Mapping[str, NodeAddress]  # by operator: those that have moved since
    fetch: FetchPart

    def __call__(self, root: str, operator: str, wanted: Saved) -> tuple[Saved, UnitState] | None:
        """Return the state of an operator as its holder has it; None if nobody is known to have it."""
        holder = self.holders.get(operator)
        return None if holder is None else borrow(root, operator, wanted, lambda part: self._ask(holder, part))

    def _ask(self, holder: NodeAddress, request: PartRequest) -> LentPart | None:
        try:
            return self.fetch(holder, request)
        except (fl.FlightError, pa.ArrowException) as error:
            what = f"{request.part} of {request.operator}"
            log.info("node %s does not give %s, so it is loaded from the log: %s", holder.node, what, error)
            return None
