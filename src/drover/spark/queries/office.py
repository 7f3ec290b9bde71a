"""The office of a run: the clerk and the figures together, for the handle, the endpoint and the driver."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from drover.errors import DroverError
from drover.flow.families.herded import Tally
from drover.spark.queries.clerk import Clerk, Given, Receipt
from drover.spark.queries.judging import Inspector
from drover.spark.queries.listing import listing
from drover.spark.queries.refining import Refiner
from drover.spark.queries.standing import Standing
from drover.spark.routes import Answer, Fields, Request

if TYPE_CHECKING:  # it needs Spark, for which who asks a stopped run need not wait
    from drover.spark.sinks import Sink

log = logging.getLogger(__name__)
MOST_TOLD: Final = 1_000  # refusals in one answer
LARGEST: Final = 64 * 2**20  # bytes of queries in one request


class Office:
    """Serves those who have queries; `sink` is where results go, and `refine` the share that may move per hour."""

    def __init__(
        self, clerk: Clerk, *, sink: Sink | None = None, refine: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.clerk, self.sink, self.standing = clerk, sink, Standing()
        self.refiner = Refiner(clerk, refine)
        self._inspector = Inspector(clerk, self.standing)
        self._clock, self._last = clock, clock()
        clerk.weight_of = self._weight_of
        self._weights: Mapping[str, float] = {}

    def submit(self, given: Iterable[Given], *, atomic: bool = False) -> Receipt:
        """Take queries in, if there is where their results can go."""
        if self.sink is None:
            raise DroverError(
                "the run has no sink for results of queries, so it takes none. Start it with queries: in its run file, "
                "or drover.run(..., queries=SINK)."
            )
        self._weights = self.standing.weights()
        return self.clerk.submit(given, atomic=atomic)

    def drop(self, names: Sequence[str] = (), *, tenant: str | None = None, every: bool = False) -> tuple[str, ...]:
        """Take queries out."""
        return self.clerk.drop(names, tenant=tenant, every=every)

    def move(self, name: str, node: int) -> None:
        """Let a query go on on another node."""
        self.clerk.move(name, node)

    def table(self, tenant: str | None = None) -> pl.DataFrame:
        """Return one row per query."""
        waiting, book = self.clerk.waiting, self.clerk.book
        return listing(book.members, waiting, self.standing.figures(), self.standing.lag, tenant)

    def name_of(self, number: int) -> str:
        """Return the name of a query that has run."""
        found = self.clerk.book.members.filter(pl.col("number") == number)["name"]
        return str(found[0]) if len(found) else f"query number {number}"

    def close(self) -> None:
        """Serve no more; what was measured last stays in the checkpoint."""
        self.clerk.close()
        try:
            self._inspector.keep()
        except DroverError as error:  # nothing depends on it, and the run is to end as it would
            log.warning("what was measured of queries last is not kept: %s", error)

    def settle(self, batch: int, lag: float, tallies: Iterable[Tally], sent: Mapping[str, int]) -> None:
        """Take in what a committed batch measured (`sent`: bytes, by source), and judge tenants by it."""
        now = self._clock()
        seconds, self._last = now - self._last, now
        self.standing.take(seconds, lag, tallies, batch=batch, sent=sent)
        try:
            self._inspector.look(batch)
        except Exception:  # who judges wrongly must not stop what runs
            log.exception("queries could not be judged by what batch %s measured", batch)
        self.refiner.look(batch, seconds)

    def _weight_of(self, family: str) -> float:
        return self._weights.get(family, 1.0)


def _submit(office: Office, fields: Fields) -> Answer:
    receipt = office.submit(fields["queries"], atomic=fields.get("atomic", False))
    return {
        "accepted": len(receipt.accepted),
        "refused": len(receipt.refused),
        "refusals": [refusal.json() for refusal in receipt.refused[:MOST_TOLD]],
    }


def _drop(office: Office, fields: Fields) -> Answer:
    names = [str(name) for name in fields.get("names", [])]
    dropped = office.drop(names, tenant=fields.get("tenant"), every=fields.get("all", False))
    return {"dropped": len(dropped)}


def _queries(office: Office, fields: Fields) -> Answer:
    return told(office.table(fields.get("tenant")))


def told(rows: pl.DataFrame) -> dict[str, Any]:  # Any: JSON
    """Return a listing as JSON."""
    return {"queries": rows.to_dicts()}


ERRANDS: Final[Mapping[str, Request[Office]]] = {
    "submit": Request(_submit, changes=True, largest=LARGEST, needs={"queries": list}, takes={"atomic": bool}),
    "drop": Request(_drop, changes=True, largest=LARGEST, takes={"names": list, "tenant": str, "all": bool}),
    "queries": Request(_queries, takes={"tenant": str}),
}
