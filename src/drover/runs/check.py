"""What a run file says against itself and against its network.

Rule 1: a fault has the path of what the person must change; faults of what could not be read are not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from drover.errors import Fault, nearest, nearest_name, shorten
from drover.network.model import Network
from drover.network.parts import Source
from drover.network.schema import known
from drover.runs.model import CONSOLE, FILES, PLACELESS, Input, Output

ONLY_REPLAYS: Mapping[str, object] = {"time": None, "speed": None, "batches": 1}  # and what they are when left out


def input_faults(given: Input) -> Iterator[Fault]:
    """Yield what is wrong with an entry of `sources` by itself."""
    if given.shares is not None:
        yield from _shared_faults(given)
        return
    if (given.by is None) != (given.value is None):
        missing, there = ("by", "value") if given.by is None else ("value", "by")
        way_out = f"Add {missing}, or leave {there} out."
        yield Fault((missing,), "missing", "sources that are read together are told apart by a value", way_out)
    if (given.read is None) == (given.replay is None):
        found = "missing" if given.read is None else "given beside replay"
        way_out = "Write read: for a stream, or replay: for a file whose rows are to come in order of time."
        yield Fault(("read",), found, "a source is either read or replayed", way_out)
        return
    kind = given.read or given.replay
    if kind in FILES and given.path is None:
        yield Fault(("path",), "missing", f"format {kind} is in files", "Add path: a file or folder.")
    if kind in PLACELESS and given.path is not None:
        yield Fault(("path",), shorten(given.path), f"format {kind} has no path", "Say where in options.")
    if kind in PLACELESS and given.columns:
        yield Fault(("columns",), "given", f"format {kind} has columns of its own", "Use select to make others.")
    yield from _read_faults(given) if given.read is not None else _replay_faults(given)


def _shared_faults(given: Input) -> Iterator[Fault]:
    if given.value is None:
        yield Fault(("value",), "missing", "a source that shares has a value of its own", "Add value: what `by` gives.")
    for name in (one.name for one in fields(Input) if one.name not in ("shares", "value")):
        if getattr(given, name) != getattr(Input(), name):
            yield Fault((name,), "given", f"{given.shares} says how its rows are read", "Leave it out.")


def shares_faults(sources: Mapping[str, Input | None]) -> Iterator[Fault]:
    """Yield sources that share the rows of one that does not carry several, and values that two have."""
    taken: dict[tuple[str, str | None], str] = {}
    for name, given in sources.items():
        if given is None or (given.shares is None and given.by is None):
            continue
        leader = given.shares or name
        found = sources.get(leader)
        if leader not in sources or (found is not None and found.by is None):
            carriers = [other for other, one in sources.items() if one is not None and one.by is not None]
            way_out = f"Name one that has `by`: {known(carriers)}." if carriers else f"Add by and value to {leader}."
            yield Fault(("sources", name, "shares"), shorten(leader), "no such source carries several", way_out)
            continue
        first = taken.setdefault((leader, given.value), name)
        if first != name and given.value is not None:
            rule = f"{first} has it too, but a row belongs to one source"
            yield Fault(("sources", name, "value"), shorten(given.value), rule, "Give each its own.")


def _read_faults(given: Input) -> Iterator[Fault]:
    for name, default in ONLY_REPLAYS.items():
        if (found := getattr(given, name)) != default:
            yield Fault((name,), shorten(found), "only a replay has it", "Leave it out, or write replay for read.")


def _replay_faults(given: Input) -> Iterator[Fault]:
    if given.speed is not None and not given.speed > 0:
        yield Fault(("speed",), str(given.speed), "it is above 0", "Write 60 for an hour per minute.")
    if given.batches < 1:
        yield Fault(("batches",), str(given.batches), "there is at least one batch", "Write 1 or more.")


def output_faults(given: Output) -> Iterator[Fault]:
    """Yield what is wrong with a sink by itself."""
    if given.write == CONSOLE and given.path is not None:
        yield Fault(("path",), shorten(given.path), "console has no path", "Leave it out.")
    if given.write != CONSOLE and given.path is None:
        yield Fault(("path",), "missing", f"format {given.write} is in files", "Add path: a folder.")


def sharing_faults(sinks: Mapping[tuple[str | int, ...], Output]) -> Iterator[Fault]:
    """Yield sinks that would write over each other's files."""
    seen: dict[tuple[str, str], tuple[str | int, ...]] = {}
    for path, sink in sinks.items():
        if sink.path is None:
            continue
        first = seen.setdefault((sink.write, sink.path.rstrip("/")), path)
        if first != path:
            other = ".".join(map(str, first))
            yield Fault((*path, "path"), shorten(sink.path), f"{other} writes there too", "Give each a folder.")


def network_faults(
    network: Network, sources: Mapping[str, Input | None], sinks: Mapping[str, object], line: int
) -> Iterator[Fault]:
    """Yield what does not fit the network; an entry of `sources` that could not be read is None."""
    names = [source.name for source in network.sources]
    strangers = [name for name in sources if name not in names]
    yield from (_stranger(("sources", name), "source", names) for name in strangers)
    meant = {nearest_name(name, names) for name in strangers}
    for source in network.sources:
        if source.name not in sources:
            if source.name in meant:
                continue
            way_out = f"Add sources.{source.name}: {{read: ...}} or {{replay: ...}}."
            yield Fault(("sources", source.name), "missing", "every source of the network is read", way_out, line)
        elif (given := sources[source.name]) is not None:
            yield from (fault.under("sources", source.name) for fault in _column_faults(source, given))
    for name in sinks:
        if name not in network.outputs:
            yield _stranger(("sinks", name), "output", network.outputs)


def _stranger(path: tuple[str, str], what: str, names: list[str] | tuple[str, ...]) -> Fault:
    way_out = f"{nearest(path[-1], names)}Known: {known(names)}."
    return Fault(path, "unknown", f"the network has no such {what}", way_out)


def _column_faults(source: Source, given: Input) -> Iterator[Fault]:
    wanted = source.schema.types
    if given.shares is not None:
        return
    if given.replay is not None and given.time is None and source.time is None:
        yield Fault(("time",), "missing", "a replay needs the order of its rows", "Name a timestamp column.")
    if given.time is not None and given.time not in wanted:
        way_out = f"{nearest(given.time, wanted)}Known: {known(wanted)}."
        yield Fault(("time",), shorten(given.time), "there is no such column", way_out)
    if given.select:
        yield from _select_faults(source, given)
    elif given.columns and given.read not in PLACELESS:
        found = {column.name: column.type for column in given.columns}
        for name, kind in wanted.items():
            if found.get(name) != kind:
                value = str(found[name]) if name in found else "missing"
                way_out = f"Add {name}: {kind}, or make it by select."
                yield Fault(("columns", name), value, f"source {source.name} has {name} {kind}", way_out)


def _select_faults(source: Source, given: Input) -> Iterator[Fault]:
    wanted = source.schema.types
    made = {named.name: named for named in given.select}
    strangers = [name for name in made if name not in wanted]
    for name in strangers:
        way_out = f"{nearest(name, wanted)}Known: {known(wanted)}."
        yield Fault(("select", name), "unknown", f"source {source.name} has no such column", way_out)
    meant = {nearest_name(name, wanted) for name in strangers}
    for name in wanted:
        if name not in made and name not in meant:
            yield Fault(("select", name), "missing", "select makes every column", f"Add {name}: {name}.")
