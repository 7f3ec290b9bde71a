"""The families of a place in a batch: their state, their results, what they cost, and whom to park.

Rule 1: a family that fails by its own fault fails as members, not as a whole; whatever else fails, fails the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
import pyarrow as pa

from drover.flow.families.blame import culprits
from drover.flow.families.crew import Crew, Ints
from drover.flow.families.herded import RESULTS, Herded, Parked, Tally
from drover.flow.families.keeper import Keeper
from drover.flow.families.members import MEMBER
from drover.flow.families.moves import dismiss, rows_of, unit_name, welcome
from drover.flow.families.run import Ran, RunFamily, Streams, with_names
from drover.flow.families.widen import Memo
from drover.flow.operators import Clock, UnitState
from drover.flow.state.segments import Key


class HerdRun:
    """Runs families at a place, one after the other, and gathers what comes of it.

    `live` finds the state that the batch starts from, by unit, and `saved` loads any unit's from the checkpoint.
    """

    def __init__(
        self,
        keeper: Keeper,
        root: str,
        node: int,
        live: Callable[[str], UnitState],
        saved: Callable[[str], UnitState],
        cpu: Callable[[], float],
    ) -> None:
        self.keeper = keeper
        self.root = root
        self.node = node
        self.live = live
        self.saved = saved
        self.cpu = cpu
        self.states: dict[str, UnitState] = {}
        self.rewritten: set[Key] = set()
        self.tallies: list[Tally] = []
        self.parked: list[Parked] = []
        self._results: dict[str, list[pl.DataFrame]] = {}
        self._memo: Memo = {}

    def results(self) -> dict[str, pl.DataFrame]:
        """Return the rows that go to the driver, by port."""
        return {port: pl.concat(pieces) for port, pieces in self._results.items()}

    def run(self, herded: Herded, families: Iterable[str], streams: Streams) -> None:
        """Run families on the streams of the place."""
        for family in families:
            started = self.cpu()
            runner = self.keeper.family(herded, family)
            crew = self.keeper.crew(self.root, herded, family, self.node)
            units = [unit_name(family, step.operator.name, self.node) for step in runner.shape.steps]
            states = [
                self.live(unit) if step.operator.holds_state else UnitState()
                for unit, step in zip(units, runner.shape.steps, strict=True)
            ]
            sources = herded.arrivals.get((family, self.node), ())
            crew, ran = self._run_one(runner, crew, streams, states, sources, herded.clocks[family])
            self.states |= {
                unit: state
                for unit, state, step in zip(units, states, runner.shape.steps, strict=True)
                if step.operator.holds_state
            }
            if ran.rows.height:
                self._results.setdefault(f"{RESULTS}{runner.shape.table}", []).append(with_names(ran, crew))
            busy = self.cpu() - started
            self.tallies.append(_tally(family, self.node, crew, ran, states, busy, whole=herded.tallies))

    def _run_one(
        self,
        runner: RunFamily,
        crew: Crew,
        streams: Streams,
        states: list[UnitState],
        sources: tuple[int, ...],
        clocks: tuple[Clock, ...],
    ) -> tuple[Crew, Ran]:
        """Run a family, without the members that fail; return those who have run, and what they gave."""
        self._prepare(runner, crew, states, sources)
        try:
            return crew, runner.run(streams, crew, states, clocks, self._memo)
        except pl.exceptions.PolarsError:
            for state in states:
                state.restore()
        self._prepare(runner, crew, states, sources)

        def fails(positions: Ints) -> str | None:
            some = crew.take(positions)
            copies = [UnitState(dict(state.parts), dict(state.bounds)) for state in states]
            for copy in copies:
                list(dismiss(copy, some))
            try:
                runner.run(streams, some, copies, clocks)
            except pl.exceptions.PolarsError as error:
                return f"{type(error).__name__}: {error}"
            return None

        guilty = culprits(len(crew), fails)
        self.parked += (
            Parked(runner.shape.id, int(crew.numbers[position]), reason) for position, reason in guilty.items()
        )
        others = crew.take(np.setdiff1d(np.arange(len(crew)), np.array(list(guilty), dtype=np.int64)))
        self._prepare(runner, others, states, ())
        return others, runner.run(streams, others, states, clocks)

    def _prepare(self, runner: RunFamily, crew: Crew, states: list[UnitState], sources: tuple[int, ...]) -> None:
        """Let go who has left, and take in who has come."""
        for step, state in zip(runner.shape.steps, states, strict=True):
            if step.operator.holds_state:
                unit = unit_name(runner.shape.id, step.operator.name, self.node)
                self.rewritten |= {(unit, part) for part in dismiss(state, crew)}
                for node in sources:
                    welcome(state, self.saved(unit_name(runner.shape.id, step.operator.name, node)), crew)


def _tally(family: str, node: int, crew: Crew, ran: Ran, states: list[UnitState], busy: float, *, whole: bool) -> Tally:
    size = sum(state.bytes() for state in states)
    table = None
    if whole:
        state_rows, state_bytes = np.zeros(len(crew), np.int64), np.zeros(len(crew), np.int64)
        for state in states:
            rows, taken = rows_of(state, crew)
            state_rows += rows
            state_bytes += taken
        shares = ran.rows_in + 1
        columns = {
            MEMBER: crew.numbers,
            "rows_in": ran.rows_in,
            "rows_out": np.bincount(ran.positions, minlength=len(crew)),
            "state_rows": state_rows,
            "state_bytes": state_bytes,
            "busy": busy * shares / max(shares.sum(), 1),
        }
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
    return Tally(family, node, int(ran.rows_in.sum()), ran.rows.height, size, busy, table)
