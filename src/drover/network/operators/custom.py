"""Operators that are not SQL: the user's own functions, and synthetic load for experiments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network.operators.base import Derived, Operator, Table, need_time
from drover.network.schema import Column, Schema, known, schema_faults

COST_CLASSES: Final = {  # expected busy seconds per tuple, until it is measured
    "light": 1e-6,
    "medium": 1e-5,
    "heavy": 1e-4,
}
FUNCTION_PATH: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
PRIME: Final = 2**31 - 1
FRAMES: Final = ("polars", "arrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDefined(Operator):
    """Calls a function of the user's on whole frames.

    `function` is `module:name` of a function marked with `drover.function`; it is imported when the network runs,
    never when a file is read. Without state it is `f(frame) -> frame` and may be given the rows in any cut. With state
    it is `f(frame, state) -> (frame, state)`: rows come in order of event time, `state` is bytes, None at first.
    """

    kind: ClassVar[str] = "user"

    input: str
    function: str
    columns: tuple[Column, ...]  # of the output
    time: str | None = None  # event time of the output
    keeps_state: bool = False
    cost: str = "medium"
    frame: str = "polars"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    @property
    def holds_state(self) -> bool:
        """As declared."""
        return self.keeps_state

    @property
    def is_sticky(self) -> bool:
        """A state nobody knows the size of is taken to be large, unless `sticky` says otherwise."""
        return self.sticky if self.sticky is not None else self.keeps_state

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of the declared schema and of the function's path, cost class and frame."""
        yield from schema_faults(Schema(self.columns, self.time))
        if not FUNCTION_PATH.fullmatch(self.function):
            way_out = "Write for example mypackage.scores:score, and mark the function with drover.function."
            yield Fault(("function",), repr(self.function), "a function is named as module:name", way_out)
        for field, value, choices in (("cost", self.cost, COST_CLASSES), ("frame", self.frame, FRAMES)):
            if value not in choices:
                yield Fault((field,), repr(value), f"it must be one of {known(choices)}", "Choose one.")

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the declared schema."""
        faults = tuple(need_time(self.input, inputs[0], ("input",))) if self.keeps_state else ()
        return Derived((Schema(self.columns, self.time),), faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic(Operator):
    """Burns `cost` seconds per tuple and passes `selectivity` tuples for each, for experiments.

    Which rows pass is a hash of event time and `seed`, hence the same on every engine and in every cut: each row goes
    out floor(selectivity) times, and once more if the hash, uniform in [0, 1), is below what is left.
    """

    kind: ClassVar[str] = "synthetic"

    input: str
    cost: float  # busy seconds per input tuple
    selectivity: float = 1.0
    seed: int = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    def copies(self, time: str) -> str:
        """Return the SQL expression, over event-time column `time`, for how often a row goes out.

        Three rounds of arithmetic modulo a prime, on integers below 2^63, mean the same on every engine. One round is
        not enough: then rows that pass one operator of a chain pass the next one too often.
        """
        stamp = f"pmod(unix_micros(`{time}`), {PRIME})"
        first = f"pmod({stamp} * 48271 + {self.seed * 1_103_515_245 % PRIME}, {PRIME})"
        second = f"pmod({first} * {first} + {stamp} * 40692, {PRIME})"
        third = f"pmod({second} * {second} + {first} * 69621, {PRIME})"
        whole = math.floor(self.selectivity)
        return f"{whole} + IF({third} < {round((self.selectivity - whole) * PRIME)}, 1, 0)"

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of numbers out of range."""
        for field, value, most in (("cost", self.cost, 60.0), ("selectivity", self.selectivity, 1000.0)):
            if not (math.isfinite(value) and 0 <= value <= most):
                yield Fault((field,), str(value), f"it must be a number from 0 to {most:g}", "Correct the number.")
        if not 0 <= self.seed < 2**31:
            yield Fault(("seed",), str(self.seed), "a seed is from 0 to 2147483647", "Choose another.")

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the input's schema."""
        return Derived(inputs, tuple(need_time(self.input, inputs[0], ("input",))))
