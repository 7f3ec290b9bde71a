"""User-defined operator: a function of the user, called on whole frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network.durations import Micros
from drover.network.files import codecs
from drover.network.files.field import FALSE, INPUT, NONE, Default, Field
from drover.network.operators.base import Derived, Operator, Table, need_time, span_fault
from drover.network.operators.kind import DeclaredLoad, OperatorKind
from drover.network.schema import Column, Schema, known, schema_faults
from drover.network.types import BIGINT, STRING, TIMESTAMP

COST_CLASSES: Final = {  # expected busy seconds per tuple, until it is measured
    "light": 1e-6,
    "medium": 1e-5,
    "heavy": 1e-4,
}
FUNCTION_PATH: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
FRAMES: Final = ("polars", "arrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDefined(Operator):
    """Calls a function of the user on whole frames.

    `function` is `module:name` of a function marked with `drover.function`. It is imported when the network runs, never
    when a file is read. Without state it is `f(frame) -> frame`, and the rows may be cut into frames in any way. With
    state it is `f(frame, state) -> (frame, state)`: rows come in order of event time; `state` is bytes, None at first.
    """

    kind: ClassVar[str] = "user"

    input: str
    function: str
    columns: tuple[Column, ...]  # of the output
    time: str | None = None  # event time of the output
    keeps_state: bool = False
    cost: str = "medium"
    frame: str = "polars"
    timeout: Micros | None = None  # of a call

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    @property
    def holds_state(self) -> bool:
        """As declared."""
        return self.keeps_state

    @property
    def calls_user_code(self) -> bool:
        """It does."""
        return True

    @property
    def is_sticky(self) -> bool:
        """A state of unknown size is assumed to be large, unless `sticky` says otherwise."""
        return self.sticky if self.sticky is not None else self.keeps_state

    def without_tuning(self) -> Operator:
        """Return it without names and without its expected cost."""
        return replace(self, name="", was=None, sticky=None, cost="medium")

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of the declared schema and of the function's path, cost class and frame."""
        yield from schema_faults(Schema(self.columns, self.time))
        if not FUNCTION_PATH.fullmatch(self.function):
            way_out = "Write for example mypackage.scores:score, and mark the function with drover.function."
            yield Fault(("function",), repr(self.function), "a function is named as module:name", way_out)
        for field, value, choices in (("cost", self.cost, COST_CLASSES), ("frame", self.frame, FRAMES)):
            if value not in choices:
                yield Fault((field,), repr(value), f"it must be one of {known(choices)}", "Choose one.")
        if self.timeout is not None and self.timeout <= 0:
            yield span_fault("timeout", self.timeout, "it must be above 0", "Write for example 5 s, or leave it out.")

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the declared schema."""
        faults = tuple(need_time(self.input, inputs[0], ("input",))) if self.keeps_state else ()
        return Derived((Schema(self.columns, self.time),), faults)


USER: Final = OperatorKind(
    model=UserDefined,
    fields=(
        INPUT,
        Field("function", codecs.FUNCTION, "the function to call, marked with drover.function", hides=False),
        Field("columns", codecs.COLUMNS, "columns of what it returns"),
        Field("time", codecs.COLUMN, "the column of what it returns that holds event time", NONE),
        Field("keeps_state", codecs.TRUTH, "whether it takes and returns a state", FALSE, hides=False),
        Field("cost", codecs.COST, "what it is expected to cost, until it is measured", Default("medium"), hides=False),
        Field("frame", codecs.FRAME, "what it is given and returns", Default("polars"), hides=False),
        Field(
            "timeout", codecs.LENGTH, "how long a call may take; a longer one counts as a failure", NONE, hides=False
        ),
    ),
    summary=lambda operator: operator.function,
    samples=(
        UserDefined(
            name="doubled",
            input="events",
            function="drover.network.samples:double",
            columns=(Column("ts", TIMESTAMP), Column("key", STRING), Column("amount", BIGINT)),
            time="ts",
        ),
    ),
    declared=lambda operator: DeclaredLoad(cost=COST_CLASSES[operator.cost]),
    row_wise=True,
)
