"""Checks a run file against itself and against its network.

Rule 1: the path of a fault names the field to change. Fields that could not be read are not reported twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from drover.errors import Fault, nearest, nearest_name, shorten
from drover.files import local_folder, same_place
from drover.network.model import Network
from drover.network.parts import Source
from drover.network.schema import known
from drover.runs.formats import REMOTE_RULE, REMOTE_WAY_OUT, SINK_FORMATS, source_format
from drover.runs.model import Input, Output

ONLY_REPLAYS: Mapping[str, object] = {
    "time": None,
    "speed": None,
    "batches": 1,
}  # fields of a replay, and their defaults


def input_faults(given: Input) -> Iterator[Fault]:
    """Yield the faults of an entry of `sources` on its own."""
    if given.shares is not None:
        yield from _shared_faults(given)
        return
    if (given.by is None) != (given.value is None):
        missing, there = ("by", "value") if given.by is None else ("value", "by")
        way_out = f"Add {missing}, or leave {there} out."
        yield Fault(
            (missing,),
            "missing",
            "sources that are read together are distinguished by a value, so `by` and `value` go together",
            way_out,
        )
    if (given.read is None) == (given.replay is None):
        found = "missing" if given.read is None else "given beside replay"
        way_out = "Write read: for a stream, or replay: for a file whose rows come in order of time."
        yield Fault(("read",), found, "a source is either read or replayed", way_out)
        return
    kind = given.read or given.replay
    known_format = source_format(kind)
    if known_format.has_path is True and given.path is None:
        yield Fault(("path",), "missing", f"format {kind} is read from files", "Add path: a file or folder.")
    if known_format.has_path is False and given.path is not None:
        yield Fault(("path",), shorten(given.path), f"format {kind} has no path", "Give the address in options.")
    if known_format.own_columns and given.columns:
        yield Fault(("columns",), "given", f"format {kind} has columns of its own", "Use select to make others.")
    yield from _read_faults(given) if given.read is not None else _replay_faults(given)


def _shared_faults(given: Input) -> Iterator[Fault]:
    if given.value is None:
        yield Fault(
            ("value",),
            "missing",
            "a source that shares rows has a value of its own",
            "Add value: the result of `by` for its rows.",
        )
    for name in (one.name for one in fields(Input) if one.name not in ("shares", "value")):
        if getattr(given, name) != getattr(Input(), name):
            yield Fault(
                (name,), "given", f"the entry of {given.shares} describes how these rows are read", "Leave it out."
            )


def shares_faults(sources: Mapping[str, Input | None]) -> Iterator[Fault]:
    """Yield faults of sources that share rows: the other source must have `by`, and values must differ."""
    taken: dict[tuple[str, str | None], str] = {}
    for name, given in sources.items():
        if given is None or (given.shares is None and given.by is None):
            continue
        # A source with `by` takes part in its own sharing, so its value must differ from those of the others too.
        leader = given.shares or name
        found = sources.get(leader)
        if leader not in sources or (found is not None and found.by is None):
            carriers = [other for other, one in sources.items() if one is not None and one.by is not None]
            way_out = f"Name one that has `by`: {known(carriers)}." if carriers else f"Add by and value to {leader}."
            yield Fault(("sources", name, "shares"), shorten(leader), "there is no such source with `by`", way_out)
            continue
        first = taken.setdefault((leader, given.value), name)
        if first != name and given.value is not None:
            rule = f"{first} has the same value, but a row belongs to one source"
            yield Fault(("sources", name, "value"), shorten(given.value), rule, "Give each its own.")


def _read_faults(given: Input) -> Iterator[Fault]:
    for name, default in ONLY_REPLAYS.items():
        if (found := getattr(given, name)) != default:
            yield Fault(
                (name,), shorten(found), "it is a field of replays only", "Leave it out, or write replay for read."
            )


def _replay_faults(given: Input) -> Iterator[Fault]:
    if given.speed is not None and not given.speed > 0:
        yield Fault(
            ("speed",), str(given.speed), "it must be above 0", "Write for example 60 to replay an hour per minute."
        )
    if given.batches < 1:
        yield Fault(("batches",), str(given.batches), "it must be at least 1", "Write 1 or more.")


def output_faults(given: Output) -> Iterator[Fault]:
    """Yield the faults of a sink on its own."""
    has_path = SINK_FORMATS[given.write].has_path
    if not has_path and given.path is not None:
        yield Fault(("path",), shorten(given.path), f"{given.write} has no path", "Leave it out.")
    if has_path and given.path is None:
        yield Fault(("path",), "missing", f"format {given.write} is in files", "Add path: a folder.")
    if has_path and given.path is not None and local_folder(given.path) is None:
        yield Fault(("path",), shorten(given.path), REMOTE_RULE, REMOTE_WAY_OUT)


def sharing_faults(sinks: Mapping[tuple[str | int, ...], Output]) -> Iterator[Fault]:
    """Yield a fault for each sink that would overwrite the files of another."""
    seen: dict[tuple[str, str], tuple[str | int, ...]] = {}
    for path, sink in sinks.items():
        if sink.path is None:
            continue
        first = seen.setdefault((sink.write, same_place(sink.path)), path)
        if first != path:
            other = ".".join(map(str, first))
            yield Fault(
                (*path, "path"),
                shorten(sink.path),
                f"{other} writes to the same folder",
                "Give each a folder of its own.",
            )


def network_faults(
    network: Network, sources: Mapping[str, Input | None], sinks: Mapping[str, object], line: int
) -> Iterator[Fault]:
    """Yield the faults against the network; an entry of `sources` that could not be read is None."""
    names = [source.name for source in network.sources]
    strangers = [name for name in sources if name not in names]
    yield from (_stranger(("sources", name), "source", names) for name in strangers)
    # A misspelt source is one fault: the source that was probably meant is not reported as missing.
    meant = {nearest_name(name, names) for name in strangers}
    for source in network.sources:
        if source.name not in sources:
            if source.name in meant:
                continue
            way_out = f"Add sources.{source.name}: {{read: ...}} or {{replay: ...}}."
            yield Fault(
                ("sources", source.name), "missing", "every source of the network needs an entry", way_out, line
            )
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
        yield Fault(("time",), "missing", "a replay needs a column that orders its rows", "Name a timestamp column.")
    if given.time is not None and given.time not in wanted:
        way_out = f"{nearest(given.time, wanted)}Known: {known(wanted)}."
        yield Fault(("time",), shorten(given.time), "there is no such column", way_out)
    if given.select:
        yield from _select_faults(source, given)
    elif given.columns and not source_format(given.read).own_columns:
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
            yield Fault(
                ("select", name), "missing", "select must make every column of the source", f"Add {name}: {name}."
            )
