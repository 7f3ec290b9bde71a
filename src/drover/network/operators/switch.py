"""Switch: each row goes to the first case whose predicate is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network.columns import Named
from drover.network.files import codecs
from drover.network.files.field import INPUT, NONE, Field
from drover.network.operators.base import Derived, Operator, Table, columns_of, demand_boolean, parsed
from drover.network.operators.kind import OperatorKind
from drover.network.operators.sharing import QuerySharing
from drover.network.schema import COLUMN_NAME, Schema

CASE_RULE: Final = "a case is named like a column: letters, digits and _, up to 128 of them, no digit first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Operator):
    """Sends each row to the first case whose predicate is true, else to `rest` if there is one.

    Case `c` of switch `s` is stream `s.c`. The first match wins, so the outputs never overlap.
    """

    kind: ClassVar[str] = "switch"

    input: str
    cases: tuple[Named, ...]  # name of the case, predicate
    rest: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    @property
    def branches(self) -> tuple[str, ...]:
        """Names of the cases, and of the rest if there is one."""
        return (*(case.name for case in self.cases), *((self.rest,) if self.rest is not None else ()))

    @property
    def outputs(self) -> tuple[str, ...]:
        """One stream per branch; a switch without cases is faulty and has none."""
        return tuple(f"{self.name}.{branch}" for branch in self.branches)

    def output_field(self, stream: str) -> tuple[str, ...]:
        """Return the path of the case that an output belongs to."""
        branch = stream.removeprefix(f"{self.name}.")
        return ("rest",) if branch == self.rest else ("cases", branch)

    def own_faults(self) -> Iterator[Fault]:
        """Yield a fault if there is no case, and for branch names that are malformed or repeated."""
        if not self.cases:
            yield Fault(("cases",), "empty", "a switch has at least one case", "Add a case: a name and a predicate.")
        seen: set[str] = set()
        for index, name in enumerate(self.branches):
            path = ("cases", name) if index < len(self.cases) else ("rest",)
            if not COLUMN_NAME.fullmatch(name):
                yield Fault(path, repr(name), CASE_RULE, "Rename the case.")
            if name.lower() in seen:
                way_out = "Rename one of the two; upper and lower case do not count."
                yield Fault(path, repr(name), "the switch already has a case of that name", way_out)
            seen.add(name.lower())

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return those that its predicates use or a reader wants."""
        return (wanted | columns_of((case.expression for case in self.cases), inputs[0]),)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the input's schema once per branch."""
        faults: list[Fault] = []
        for case in self.cases:
            field = ("cases", case.name)
            demand_boolean(parsed(case.expression, inputs[0].types, field, faults), case.expression, field, faults)
        return Derived(inputs * len(self.branches), tuple(faults))


def _case_lines(switch: Switch) -> tuple[str, ...]:
    cases = (f"{case.name}: {case.expression}" for case in switch.cases)
    return (*cases, *((f"{switch.rest}: the rest",) if switch.rest is not None else ()))


def _with_numbered_branches(switch: Switch) -> Switch:
    cases = tuple(Named(f"b{index}", case.expression) for index, case in enumerate(switch.cases))
    return replace(switch, cases=cases, rest=None if switch.rest is None else f"b{len(cases)}")


SWITCH: Final = OperatorKind(
    model=Switch,
    fields=(
        INPUT,
        Field("cases", codecs.CASES, "case `c` of switch `s` is stream `s.c`; the first that is true gets the row"),
        Field("rest", codecs.NAME, "name of the case for all other rows; left out, they are dropped", NONE),
    ),
    summary=lambda operator: "; ".join(f"{case.name}: {case.expression}" for case in operator.cases),
    lines=_case_lines,
    samples=(
        Switch(
            name="by_size",
            input="events",
            cases=(Named("large", "amount > 10"), Named("medium", "amount > 5")),
            rest="others",
        ),
    ),
    expressions=("cases",),
    row_wise=True,
    sharing=QuerySharing(with_numbered_branches=_with_numbered_branches),
)
