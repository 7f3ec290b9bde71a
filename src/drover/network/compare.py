"""What becomes of a checkpoint's state if another form of its network continues there.

Rule 1: pure functions of two networks; nothing here reads a file or knows a checkpoint.
Rule 2: state follows its operator, by name or by `was`. An operator keeps its state only if its definition, the columns
that its state depends on, and its watermark's sources allow it. Otherwise it starts anew.
Rule 3: rows computed before and after the change meet in the state of operators further down. If rows are lost there,
because an operator starts anew, that is the user's decision. If the rows only follow another rule, it is told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from drover.errors import shorten
from drover.network.files.field import Field
from drover.network.files.fields import KINDS, SOURCE, TABLE
from drover.network.files.network_file import plain_fields
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.parts import Source
from drover.network.rewrite import with_inputs

SHOWN: Final = 3  # changed fields that a reason names


class Fate(StrEnum):
    """What happens to a part of a network in a checkpoint."""

    KEEPS = "unchanged"  # with its state, if it has any
    RENAMED = "renamed"  # keeps its state under the new name
    CHANGES = "changed"  # without state to lose
    MIXES = "mixes"  # unchanged, but its state gets rows from before and after the change
    ANEW = "starts anew"  # its state is dropped
    NEW = "new"
    GONE = "gone"
    REFUSED = "refused"  # cannot be continued


@dataclass(frozen=True, slots=True)
class PartComparison:
    """What happens to one source, table, operator or output; `needs_consent` if the user has to allow it."""

    section: str  # of a network file: sources, tables, operators or outputs
    name: str
    fate: Fate
    reason: str = ""
    was: str | None = None  # its name in the checkpoint, if that is another
    needs_consent: bool = False

    @property
    def text(self) -> str:
        """The comparison in one line."""
        renamed = f" (was {self.was})" if self.was is not None else ""
        return f"{self.section}.{self.name}{renamed}: {self.fate}{f': {self.reason}' if self.reason else ''}"


@dataclass(frozen=True, slots=True)
class NetworkComparison:
    """Every part of both networks, and what happens to it."""

    parts: tuple[PartComparison, ...]
    renamed: Mapping[str, str]  # new name of an operator by its old one
    dropped: frozenset[str]  # operators, by their name in the checkpoint, whose state is dropped

    @property
    def changes(self) -> tuple[PartComparison, ...]:
        """The parts that do not stay exactly as they are."""
        return tuple(part for part in self.parts if part.fate is not Fate.KEEPS)

    @property
    def refused(self) -> tuple[PartComparison, ...]:
        """The parts that make the checkpoint unusable."""
        return tuple(part for part in self.parts if part.fate is Fate.REFUSED)

    @property
    def only_adds(self) -> bool:
        """Whether every operator of before runs as before or is gone without state: a begun batch may be repeated."""
        harmless = (Fate.KEEPS, Fate.NEW, Fate.GONE)
        return not self.dropped and all(part.fate in harmless for part in self.parts)

    @property
    def gone(self) -> frozenset[str]:
        """The operators of the checkpoint that the new network does not have."""
        return frozenset(part.name for part in self.parts if (part.section, part.fate) == ("operators", Fate.GONE))

    def undecided(self, allowed: bool | Collection[str]) -> tuple[PartComparison, ...]:
        """Return the parts that need consent and do not have it: `allowed` names them, or is True for all."""
        if allowed is True:
            return ()
        named = set() if allowed is False else set(allowed)
        return tuple(part for part in self.parts if part.needs_consent and part.name not in named)


def compare(before: Network, after: Network, saved: Collection[str] = ()) -> NetworkComparison:
    """Compare the network of a checkpoint with one that is to continue there.

    `saved` names operators that have rows in the checkpoint although their kind keeps no state, such as held input.
    """
    return _NetworkPair(before, after, frozenset(saved)).compare()


def matches(before: Network, after: Network) -> dict[str, str]:
    """Return the operators that are the same in both networks, new name by old name.

    A `was` counts once: a checkpoint that already has the operator under both names as now ignores it.
    """
    old = {operator.name: operator for operator in before.operators}
    found: dict[str, str] = {}
    for operator in after.operators:
        done = operator.name in old and old[operator.name].was == operator.was
        if operator.was in old and not done:
            found[str(operator.was)] = operator.name
    taken = set(found.values())
    for operator in after.operators:
        if operator.name in old and operator.name not in found and operator.name not in taken:
            found[operator.name] = operator.name
    return found


class _NetworkPair:
    """Both networks, and what one comparison of them computes once."""

    def __init__(self, before: Network, after: Network, saved: frozenset[str]) -> None:
        self.before = before
        self.after = after
        self.saved = saved
        self.new_of = matches(before, after)
        self.old_of = {new: old for old, new in self.new_of.items()}
        self.old = {operator.name: operator for operator in before.operators}
        self.new = {operator.name: operator for operator in after.operators}
        self.streams = dict(self._streams())
        self.roots = (_timed_roots(before), _timed_roots(after))

    def _streams(self) -> Iterator[tuple[str, str]]:
        """Yield the name now of every stream whose operator was renamed."""
        for old, new in self.new_of.items():
            if old != new:
                for stream in self.old[old].outputs:
                    yield stream, new + stream.removeprefix(old)

    def compare(self) -> NetworkComparison:
        sources = list(self._sources())
        operators = {operator.name: self._operator(operator) for operator in self.after.operators}
        anew = {name for name, part in operators.items() if part.fate is Fate.ANEW}
        changed = {part.name for part in sources if part.fate is Fate.CHANGES}
        changed |= {name for name, part in operators.items() if part.fate is Fate.CHANGES}
        lost, touched = (_reached(self.after, causes) for causes in (anew, changed))
        for name, part in operators.items():
            if part.fate in (Fate.KEEPS, Fate.RENAMED) and self.new[name].holds_state:
                operators[name] = _mixed(part, lost.get(name), touched.get(name))
        gone = list(self._gone())
        tables = [_mixed(part, *(found.get(_table(part.name)) for found in (lost, touched))) for part in self._tables()]
        dropped = {self.old_of[name] for name in anew} | {part.name for part in gone if part.needs_consent}
        renamed = {old: new for old, new in self.new_of.items() if old != new}
        parts = (*sources, *tables, *operators.values(), *gone, *self._outputs())
        return NetworkComparison(parts, renamed, frozenset(dropped))

    def _operator(self, operator: Operator) -> PartComparison:
        name = operator.name
        if name not in self.old_of:
            return PartComparison("operators", name, Fate.NEW)
        before = self.old[self.old_of[name]]
        was = before.name if before.name != name else None
        had_state = before.holds_state or before.name in self.saved
        renamed = with_inputs(before, [self.streams.get(stream, stream) for stream in before.inputs])
        same = renamed.without_tuning() == operator.without_tuning()
        reason = "" if same else _differences(renamed, operator, KINDS[before.kind])
        if not same and not (had_state and operator.holds_state):
            # A kind without state keeps held rows, if their columns are still the same.
            loses = before.holds_state or (had_state and not self._fits(before, operator))
            fate = Fate.ANEW if loses else Fate.CHANGES
            return PartComparison("operators", name, fate, reason, was, loses)
        if had_state and not reason:
            reason = self._obstacle(before, operator)
        if reason:
            return PartComparison("operators", name, Fate.ANEW, reason, was, needs_consent=True)
        return PartComparison("operators", name, Fate.KEEPS if was is None else Fate.RENAMED, "", was)

    def _obstacle(self, before: Operator, after: Operator) -> str:
        """Return why an operator cannot use its state although it is defined as before; empty if it can."""
        if not self._fits(before, after):
            return "the columns that its state depends on have changed"
        old, new = (
            frozenset[str]().union(*(roots[stream] for stream in operator.inputs))
            for roots, operator in zip(self.roots, (before, after), strict=True)
        )
        if gained := sorted(new - old):
            return f"its rows now also come from source {gained[0]}, so its watermark could go back"
        return ""

    def _fits(self, before: Operator, after: Operator) -> bool:
        """Return whether both read the same columns, as far as saved rows depend on them."""
        if before.kind != after.kind or len(before.inputs) != len(after.inputs):
            return False
        old, new = (
            operator.columns_in_state(tuple(network.streams[stream] for stream in operator.inputs))
            for network, operator in ((self.before, before), (self.after, after))
        )
        return old == new

    def _gone(self) -> Iterator[PartComparison]:
        for operator in self.before.operators:
            if operator.name not in self.new_of:
                loses = operator.holds_state or operator.name in self.saved
                hint = "its state is dropped; if it has another name now, write was at that operator" if loses else ""
                yield PartComparison("operators", operator.name, Fate.GONE, hint, None, loses)

    def _sources(self) -> Iterator[PartComparison]:
        old = {source.name: source for source in self.before.sources}
        names = [source.name for source in self.after.sources]
        for source in self.after.sources:
            if source.name not in old:
                yield _refused(source.name, "it is new, and Spark's checkpoint knows sources by number and order")
            elif list(old) != names and sorted(old) == sorted(names):
                now, earlier = (places.index(source.name) + 1 for places in (names, list(old)))
                if now != earlier:
                    reason = f"it is number {now} and was number {earlier}; Spark's checkpoint knows sources by order"
                    yield _refused(source.name, reason)
                    continue
                yield _source(old[source.name], source)
            else:
                yield _source(old[source.name], source)
        for name in old:
            if name not in names:
                yield _refused(name, "it is gone, and Spark's checkpoint knows sources by number and order")

    def _tables(self) -> Iterator[PartComparison]:
        old = {table.name: table for table in self.before.tables}
        for table in self.after.tables:
            if table.name not in old:
                yield PartComparison("tables", table.name, Fate.NEW)
            elif table == old[table.name]:
                yield PartComparison("tables", table.name, Fate.KEEPS)
            else:
                reason = f"{_differences(old[table.name], table, TABLE)}; alter it in its database first"
                yield PartComparison("tables", table.name, Fate.CHANGES, reason, None, needs_consent=True)
        for name in old.keys() - {table.name for table in self.after.tables}:
            yield PartComparison("tables", name, Fate.GONE, "its rows stay in its database")

    def _outputs(self) -> Iterator[PartComparison]:
        old = {self.streams.get(stream, stream): stream for stream in self.before.outputs}
        for stream in self.after.outputs:
            was = old.get(stream)
            if was is None:
                yield PartComparison("outputs", stream, Fate.NEW)
            elif self.before.streams[was] != self.after.streams[stream]:
                reason = f"columns are {self.after.streams[stream]}, were {self.before.streams[was]}"
                yield PartComparison("outputs", stream, Fate.CHANGES, reason, was if was != stream else None)
            else:
                fate = Fate.KEEPS if was == stream else Fate.RENAMED
                yield PartComparison("outputs", stream, fate, "", was if was != stream else None)
        for stream in old.keys() - set(self.after.outputs):
            yield PartComparison("outputs", old[stream], Fate.GONE)


def _refused(name: str, reason: str) -> PartComparison:
    return PartComparison("sources", name, Fate.REFUSED, reason)


def _source(before: Source, after: Source) -> PartComparison:
    if before == after:
        return PartComparison("sources", after.name, Fate.KEEPS)
    reason = _differences(before, after, SOURCE)
    if before.time != after.time or before.lateness != after.lateness:
        reason += "; its watermark does not go back"
    return PartComparison("sources", after.name, Fate.CHANGES, reason, None, before.time != after.time)


def _mixed(part: PartComparison, lost: str | None, touched: str | None) -> PartComparison:
    """Return a part that keeps its state, with what reaches it: rows of an operator that starts anew, or changed."""
    if part.fate not in (Fate.KEEPS, Fate.RENAMED) or (lost is None and touched is None):
        return part
    if lost is not None:
        reason = f"keeps its state, but {lost} before it starts anew, so results miss rows"
    else:
        reason = f"keeps its state; rows from now on follow the new form of {touched}"
    return PartComparison(part.section, part.name, Fate.MIXES, reason, part.was, lost is not None)


def _table(name: str) -> str:
    """Return the word for a table where streams, operators and tables are in one set; no name has a colon."""
    return f"table:{name}"


def _reached(network: Network, causes: Iterable[str]) -> dict[str, str]:
    """Return all operators and tables that rows of the causes (sources, operators) reach, each with one of these."""
    found: dict[str, str] = {}
    queue = deque((cause, cause) for cause in sorted(causes))
    readers: dict[str, list[str]] = {}
    operators = {operator.name: operator for operator in network.operators}
    for operator in network.operators:
        if operator.table is not None and not operator.writes_table:
            readers.setdefault(operator.table, []).append(operator.name)
    while queue:
        name, cause = queue.popleft()
        maker = operators.get(name)  # None: a source
        streams = (name,) if maker is None else maker.outputs
        after = [reader.name for stream in streams for reader in network.readers.get(stream, ())]
        if maker is not None and maker.table is not None and maker.writes_table:
            found.setdefault(_table(maker.table), cause)
            after += readers.get(maker.table, [])
        for reader in after:
            if reader not in found:
                found[reader] = cause
                queue.append((reader, cause))
    return found


def _timed_roots(network: Network) -> dict[str, frozenset[str]]:
    """Return, for every stream, the sources that determine its watermark."""
    timed = {source.name for source in network.sources if source.time is not None}
    return {stream: roots & timed for stream, roots in network.roots().items()}


def _differences(before: Any, after: Any, fields: tuple[Field, ...]) -> str:  # Any: a source, a table or an operator
    """Return the changed fields in words."""
    if isinstance(after, Operator) and before.kind != after.kind:
        return f"kind is {after.kind}, was {before.kind}"
    old, new = (plain_fields(part, fields) for part in (before, after))
    changed = [field.name for field in fields if old.get(field.name) != new.get(field.name)]
    listed = [name for name in changed if not isinstance(after, Operator) or name not in ("sticky", "was")]
    words = [f"{name} is {_shown(new.get(name))}, was {_shown(old.get(name))}" for name in listed[:SHOWN]]
    return "; ".join([*words, *(["..."] if len(listed) > SHOWN else [])])


def _shown(value: object) -> str:
    return "left out" if value is None else shorten(value if isinstance(value, str) else str(value))
