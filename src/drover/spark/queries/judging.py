"""Now and then a look at what queries take: tenants are held to their limits, the herd learns rates, and it is kept."""

from __future__ import annotations

import logging
from typing import Final

import polars as pl

from drover.control.tenants import too_heavy
from drover.flow.book.figures import Figures, write_figures
from drover.flow.families.members import CONSTANT, MEMBER
from drover.flow.state.storage import open_root
from drover.spark.queries.clerk import Clerk
from drover.spark.queries.families import Families, Topic
from drover.spark.queries.standing import WINDOW, Standing

RATE: Final = 0.01  # rows per second that a topic is taken to have at least: one without rows may have some tomorrow
log = logging.getLogger(__name__)
EVERY: Final = WINDOW  # batches from one look to the next: each is judged once


class Inspector:
    """Judges tenants by measured figures, and keeps these."""

    def __init__(self, clerk: Clerk, standing: Standing) -> None:
        self._clerk, self._standing = clerk, standing
        self._kept: int | None = None  # the batch of the figures that were written last

    def look(self, batch: int) -> None:
        """Park what is over a tenant's limits, tell the herd what was measured, and keep it; every so many batches."""
        if batch % EVERY:
            return
        figures = self._standing.figures()
        replication = self._clerk.measure(topic_rates(self._clerk.families, figures))
        if self._clerk.limits:
            self._judge(figures)
        self._keep(self._standing.told(figures, replication))

    def keep(self) -> None:
        """Write down what was measured last, for whoever looks at the checkpoint of a run that has ended."""
        self._keep(self._standing.told(self._standing.figures(), self._clerk.measure({})))

    def _keep(self, told: Figures | None) -> None:
        if told is not None and told.batch != self._kept:
            write_figures(*open_root(self._clerk.root), told)
            self._kept = told.batch

    def _judge(self, rates: pl.DataFrame) -> None:
        live = self._clerk.book.live.select("number", "tenant")
        figures = rates.join(live, on="number")
        measured = figures.select("number", "tenant", "busy", pl.col("state_bytes").alias("state"))
        parked = dict(too_heavy(measured, self._clerk.limits).iter_rows())
        if parked:
            log.warning("%s queries are parked: %s", len(parked), next(iter(parked.values())))
            self._clerk.park(parked)


def topic_rates(families: Families, figures: pl.DataFrame) -> dict[Topic, float]:
    """Return the measured rate of every topic that a query looks rows up by, in rows per second.

    What a query of one stream lets through by its key are the rows of its topic, all of them.
    """
    rates: dict[Topic, float] = {}
    for family in families.by_id.values():
        if len(family.shape.reads) != 1 or (key := family.shape.key_of(family.shape.reads[0])) is None:
            continue
        value = f"{CONSTANT}{key.constant}"
        rows = pl.DataFrame(family.table.select([MEMBER, value])).join(figures, left_on=MEMBER, right_on="number")
        for found, rate in rows.group_by(value, maintain_order=True).agg(pl.col("rows_in").max()).iter_rows():
            topic = (family.shape.reads[0], key.column, found)
            rates[topic] = max(rate, RATE, rates.get(topic, 0.0))
    return rates
