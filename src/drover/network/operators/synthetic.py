"""Synthetic operator: load of known cost and selectivity, for experiments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network.files import codecs
from drover.network.files.field import INPUT, Default, Field
from drover.network.operators.base import Derived, Operator, Table, need_time
from drover.network.operators.kind import DeclaredLoad, OperatorKind
from drover.network.schema import Schema

PRIME: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic(Operator):
    """Burns `cost` seconds per row, waits `wait` seconds, and emits `selectivity` rows for each, for experiments.

    While it waits, it occupies its node but no core, as a call to a model server does.

    A hash of event time and `seed` decides which rows pass, so that every engine and every cut into batches gives the
    same rows. A row is emitted floor(selectivity) times, and once more if its hash, uniform in [0, 1), is below the
    remaining fraction.
    """

    kind: ClassVar[str] = "synthetic"

    input: str
    cost: float  # seconds per row in that use a core
    selectivity: float = 1.0
    seed: int = 0
    wait: float = 0.0  # seconds per row in that use none

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    def copies(self, time: str) -> str:
        """Return the SQL expression, over event-time column `time`, for how often a row is emitted.

        Arithmetic modulo a prime, on integers below 2^63, gives the same result on every engine. It takes three rounds:
        with one, rows that pass one operator of a chain pass the next one too often.
        """
        stamp = f"pmod(unix_micros(`{time}`), {PRIME})"
        first = f"pmod({stamp} * 48271 + {self.seed * 1_103_515_245 % PRIME}, {PRIME})"
        second = f"pmod({first} * {first} + {stamp} * 40692, {PRIME})"
        third = f"pmod({second} * {second} + {first} * 69621, {PRIME})"
        whole = math.floor(self.selectivity)
        return f"{whole} + IF({third} < {round((self.selectivity - whole) * PRIME)}, 1, 0)"

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of numbers out of range."""
        limits = (("cost", self.cost, 60.0), ("selectivity", self.selectivity, 1000.0), ("wait", self.wait, 60.0))
        for field, value, most in limits:
            if not (math.isfinite(value) and 0 <= value <= most):
                yield Fault((field,), str(value), f"it must be a number from 0 to {most:g}", "Correct the number.")
        if not 0 <= self.seed < 2**31:
            yield Fault(("seed",), str(self.seed), "a seed is from 0 to 2147483647", "Choose another.")

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return the event time, which decides what passes, and those that a reader wants."""
        return (wanted | {inputs[0].time or ""},)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the input's schema."""
        return Derived(inputs, tuple(need_time(self.input, inputs[0], ("input",))))


def _summary(operator: Synthetic) -> str:
    waits = f" and {operator.wait:g} s of waiting" if operator.wait else ""
    return f"{operator.cost:g} s{waits} per row, {operator.selectivity:g} rows for each"


SYNTHETIC: Final = OperatorKind(
    model=Synthetic,
    fields=(
        INPUT,
        Field("cost", codecs.SECONDS, "seconds per row in which it uses a core", hides=False),
        Field("selectivity", codecs.RATIO, "rows out for each row in", Default(1.0), hides=False),
        Field("seed", codecs.SEED, "of the choice which rows pass", Default(0), hides=False),
        Field(
            "wait",
            codecs.SECONDS,
            "seconds per row in which it occupies its node but no core",
            Default(0.0),
            hides=False,
        ),
    ),
    summary=_summary,
    samples=(
        Synthetic(name="load", input="events", cost=1e-6, selectivity=1.5, seed=3),
        Synthetic(name="load", input="events", cost=0.0, wait=1e-6),
    ),
    declared=lambda operator: DeclaredLoad(operator.cost + operator.wait, operator.selectivity),
    row_wise=True,
)
