"""A driver in one process whose operators fail, hold their input, and are resumed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from numpy.random import Generator

from drover.flow.parking import (
    ParkedOperator,
    Parking,
    begin_parking,
    details_to_json,
    newly_parked,
    parked_from_json,
)
from drover.flow.watermarks import operator_watermarks
from drover.network.functions import path_of
from drover.network.model import Network
from drover.network.operators import UserDefined
from drover.network.rewrite import with_inputs
from drover.placement.plan import Plan
from tests import user_functions
from tests.flow.harness import Batch
from tests.flow.stored import Computed, StoredHarness


@dataclass(slots=True)
class HoldingHarness(StoredHarness):
    """Runs a batch again with what failed in it parked, as the driver does."""

    resumed: tuple[str, ...] = ()  # operators that run again with the next batch
    begun: Parking = field(default_factory=Parking)

    @property
    def parked(self) -> dict[str, ParkedOperator]:
        notes = self.checkpoint.notes
        return parked_from_json(notes.get("parked", {}), notes.get("parking", {}))

    def run(self, batch: Batch, plan: Plan) -> None:
        self.begun = begin_parking(self.parked, self.resumed, {})
        while failed := self._failures(batch, plan):
            watermarks = operator_watermarks(self.network, self._progress(), self.begun.caps())
            parked = newly_parked(failed, watermarks, self.checkpoint.batch + 1, holds=True, at=0.0)
            self.begun = self.begun.park(parked)
        StoredHarness.run(self, batch, plan)
        self.resumed = ()

    def _failures(self, batch: Batch, plan: Plan) -> dict[str, str]:
        reports = self._compute(batch, plan).reports
        return {failure.operator: failure.reason for report in reports for failure in report.failures}

    def _parking(self) -> Parking:
        return self.begun

    def _notes(self, computed: Computed) -> dict[str, Any]:
        parked = self.begun.after([held for report in computed.reports for held in report.held])
        return {"parked": {name: one.reason for name, one in parked.items()}, "parking": details_to_json(parked)}


FUNCTIONS = (user_functions.brittle, user_functions.tired, user_functions.brittle_in_order)


def with_brittle_functions(network: Network, rng: Generator, most: int = 3) -> Network:
    """Return the network with functions that may fail in some of its streams; they return their rows unchanged."""
    for function in FUNCTIONS[: int(rng.integers(1, most + 1))]:
        timed = [name for name, schema in network.streams.items() if schema.time is not None]
        stream = timed[int(rng.integers(len(timed)))]
        added = UserDefined(
            name=f"via_{function.__name__}",
            input=stream,
            function=path_of(function),
            columns=network.streams[stream].columns,
            time=network.streams[stream].time,
            keeps_state=function is user_functions.brittle_in_order,
        )
        moved = {one.name for one in network.readers[stream] if rng.random() < 0.7}
        operators = [
            with_inputs(one, [added.name if name == stream else name for name in one.inputs])
            if one.name in moved
            else one
            for one in network.operators
        ]
        outputs = (*network.outputs, added.name)
        network = Network(network.name, network.sources, (*operators, added), outputs)
    return network


def break_functions(names: Collection[str]) -> None:
    user_functions.BROKEN.clear()
    user_functions.BROKEN.update(names)
