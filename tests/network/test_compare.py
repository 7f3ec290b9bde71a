"""What another form of a network does to the state in a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings

import drover
from drover.network.compare import Fate, NetworkComparison, compare, matches
from drover.network.files.network_file import dumps, loads
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.rewrite import with_inputs
from tests.strategies.networks import networks

COLUMNS = {"ts": "timestamp", "k": "bigint", "v": "double"}


def network(
    *,
    sources: tuple[str, ...] = ("a", "b"),
    columns: dict[str, str] | None = None,
    time: str = "ts",
    lateness: str = "0 s",
    where: str = "k > 0",
    size: str = "5 s",
    day: str = "60 s",
    sums: str = "sums",
    was: str | None = None,
    group_by: str = "k",
    spread: str | None = "auto",
    merged: bool = False,
    extra: bool = False,
    with_pairs: bool = True,
) -> Network:
    """a -> some -> sums -> day -> last (a table); a, b -> pairs."""
    net = drover.Builder("n")
    made = {name: net.source(name, columns or COLUMNS, time=time, lateness=lateness) for name in sources}
    some = made["a"].filter("some", where)
    entering = some.union("both", made["b"].filter("same", "k > 0")) if merged else some
    first = entering.aggregate(sums, {"n": "count(*)"}, size=size, group_by=group_by, was=was)
    first.aggregate("day", {"n": "sum(n)"}, size=day).output()
    net.table("last", {"window_time": "timestamp", "n": "bigint"}, key="n")
    net.stream("day").map("row", {"window_time": "window_time", "n": "n"}).write_table("keep", "last")
    if with_pairs and "b" in made:
        made["a"].join("pairs", made["b"], on="k", within="5 s", select={"x": "left.v"}, spread=spread).output()
    for name in sources[1:]:
        made[name].output()
    if extra:
        made["a"].aggregate("more", {"n": "count(*)"}, size="1 s").output()
    return net.build()


def fates(found: NetworkComparison) -> dict[str, Fate]:
    """The fates of sources, tables and operators that do not stay as they are."""
    return {part.name: part.fate for part in found.changes if part.section != "outputs"}


def asked(found: NetworkComparison) -> list[str]:
    return [part.name for part in found.undecided(False)]


@pytest.mark.parametrize(
    ("after", "expected", "consent"),
    [
        pytest.param(network(), {}, [], id="nothing changes"),
        pytest.param(
            network(where="k > 2"),
            {"some": Fate.CHANGES, "sums": Fate.MIXES, "day": Fate.MIXES, "last": Fate.MIXES},
            [],
            id="a filter takes other rows, and windows further down keep their state",
        ),
        pytest.param(
            network(size="6 s"),
            {"sums": Fate.ANEW, "day": Fate.MIXES, "last": Fate.MIXES},
            ["last", "sums", "day"],
            id="a window starts anew, and what is fed by it must be allowed",
        ),
        pytest.param(network(day="120 s"), {"day": Fate.ANEW, "last": Fate.MIXES}, ["last", "day"], id="the last one"),
        pytest.param(
            network(sums="total", was="sums"),
            {"total": Fate.RENAMED},
            [],
            id="a rename keeps the state, also of those that read it",
        ),
        pytest.param(
            network(sums="total"),
            {"total": Fate.NEW, "day": Fate.ANEW, "last": Fate.MIXES, "sums": Fate.GONE},
            ["last", "day", "sums"],
            id="a rename without a word is a new operator and one that is gone",
        ),
        pytest.param(
            network(sums="total", was="sums", size="6 s"),
            {"total": Fate.ANEW, "day": Fate.MIXES, "last": Fate.MIXES},
            ["last", "total", "day"],
            id="renamed and changed",
        ),
        pytest.param(network(extra=True), {"more": Fate.NEW}, [], id="a new operator"),
        pytest.param(network(with_pairs=False), {"pairs": Fate.GONE}, ["pairs"], id="a state without its operator"),
        pytest.param(network(spread="4"), {}, [], id="another grid is no change of results"),
        pytest.param(network(spread=None), {"pairs": Fate.ANEW}, ["pairs"], id="windows of a spread join differ"),
        pytest.param(
            network(lateness="1 s"),
            {"a": Fate.CHANGES, "b": Fate.CHANGES} | dict.fromkeys(("sums", "day", "pairs", "last"), Fate.MIXES),
            [],
            id="lateness holds from now on",
        ),
        pytest.param(
            network(columns={**COLUMNS, "w": "bigint"}),
            {"a": Fate.CHANGES, "b": Fate.CHANGES} | dict.fromkeys(("sums", "day", "pairs", "last"), Fate.MIXES),
            [],
            id="a column that no state depends on",
        ),
        pytest.param(
            network(columns={**COLUMNS, "v": "bigint"}),
            {"a": Fate.CHANGES, "b": Fate.CHANGES, "pairs": Fate.ANEW}
            | dict.fromkeys(("sums", "day", "last"), Fate.MIXES),
            ["pairs"],
            id="a column in the windows of a join has another type",
        ),
        pytest.param(
            network(merged=True),
            {"both": Fate.NEW, "same": Fate.NEW, "sums": Fate.ANEW, "day": Fate.ANEW, "last": Fate.MIXES},
            ["last", "sums", "day"],
            id="rows of one more source hold the watermark back",
        ),
        pytest.param(
            network(sources=("a", "b", "c")), {"c": Fate.REFUSED}, [], id="Spark knows sources by number: one more"
        ),
        pytest.param(
            network(sources=("a",)),
            {"b": Fate.REFUSED, "pairs": Fate.GONE},
            ["pairs"],
            id="Spark knows sources by number: one less",
        ),
    ],
)
def test_each_part_has_its_fate(after: Network, expected: dict[str, Fate], consent: list[str]) -> None:
    found = compare(network(), after)
    assert fates(found) == expected
    assert sorted(asked(found)) == sorted(consent)
    assert found.undecided(allowed=True) == ()
    assert found.undecided(consent) == ()


def test_reasons_name_field_and_both_values() -> None:
    reasons = {part.name: part.text for part in compare(network(), network(size="6 s", where="k > 2")).changes}
    assert reasons["some"] == "operators.some: changed: where is 'k > 2', was 'k > 0'"
    assert reasons["sums"] == "operators.sums: starts anew: size is '6 s', was '5 s'"
    assert "but sums before it starts anew" in reasons["day"]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param(("a", "b"), ("b", "a"), "number 1 and was number 2", id="another order"),
        pytest.param(("a", "b"), ("a",), "it is gone", id="gone"),
        pytest.param(("a",), ("a", "b"), "it is new", id="new"),
    ],
)
def test_sources_have_to_stay_in_their_places(before: tuple[str, ...], after: tuple[str, ...], reason: str) -> None:
    def plain(names: tuple[str, ...]) -> Network:
        net = drover.Builder("n")
        for name in names:
            net.source(name, COLUMNS, time="ts").output()
        return net.build()

    (found, *_) = compare(plain(before), plain(after)).refused
    assert reason in found.reason


def small(**tables: str) -> Network:
    net = drover.Builder("n")
    source = net.source("a", COLUMNS, time="ts")
    for name, kind in tables.items():
        net.table(name, {"ts": "timestamp", "k": kind}, key="k")
        select = {"ts": "ts", "k": f"CAST(k AS {kind})"}
        source.map(f"row_{name}", select).write_table(f"write_{name}", name)
    source.output()
    return net.build()


def test_tables_keep_their_rows() -> None:
    found = compare(small(x="bigint", y="bigint"), small(x="double", z="bigint"))
    tables = {part.name: (part.fate, part.needs_consent) for part in found.parts if part.section == "tables"}
    assert tables == {"x": (Fate.CHANGES, True), "z": (Fate.NEW, False), "y": (Fate.GONE, False)}


def test_another_event_time_is_asked_for() -> None:
    columns = {**COLUMNS, "other": "timestamp"}
    found = compare(network(columns=columns), network(columns=columns, time="other"))
    assert {"a", "b", "sums", "pairs"} <= set(asked(found))


def test_held_rows_make_an_operator_one_with_state() -> None:
    assert asked(compare(small(x="bigint"), small())) == []
    assert asked(compare(small(x="bigint"), small(), saved=["row_x"])) == ["row_x"]
    changed = compare(network(), network(where="k > 2"), saved=["some"])
    assert fates(changed)["some"] is Fate.CHANGES  # the columns of held rows are the same
    other = compare(network(), network(columns={**COLUMNS, "w": "bigint"}), saved=["some"])
    assert fates(other)["some"] is Fate.ANEW
    assert sorted(asked(other)) == ["day", "last", "some", "sums"]


def chain(*operators: tuple[str, str | None]) -> Network:
    net = drover.Builder("n")
    source = net.source("a", COLUMNS, time="ts")
    for name, was in operators:
        source.aggregate(name, {"n": "count(*)"}, size="5 s", was=was).output()
    return net.build()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([("x", None)], [("y", "x")], {"x": "y"}, id="renamed"),
        pytest.param([("y", "x")], [("y", "x")], {"y": "y"}, id="renamed before"),
        pytest.param([("y", "x")], [("z", "y")], {"y": "z"}, id="renamed again"),
        pytest.param([("y", "x")], [("y", "x"), ("x", None)], {"y": "y"}, id="the old name is free again"),
        pytest.param([("x", None)], [("y", "x"), ("x", None)], {"x": "y"}, id="the old name is taken at once"),
        pytest.param([("x", None), ("y", None)], [("x", "y"), ("y", "x")], {"y": "x", "x": "y"}, id="swapped"),
        pytest.param([("x", "y"), ("y", "x")], [("x", "y"), ("y", "x")], {"x": "x", "y": "y"}, id="swapped before"),
        pytest.param([("x", None)], [("y", "z")], {}, id="a name that the checkpoint does not know"),
    ],
)
def test_a_former_name_counts_once(
    before: list[tuple[str, str | None]], after: list[tuple[str, str | None]], expected: dict[str, str]
) -> None:
    assert matches(chain(*before), chain(*after)) == expected


def test_only_additions_leave_a_begun_batch_as_it_was() -> None:
    assert compare(network(), network(extra=True)).only_adds
    assert not compare(network(), network(where="k > 2")).only_adds
    assert not compare(network(), network(sums="total", was="sums")).only_adds
    assert not compare(network(extra=True), network()).only_adds


@given(network=networks())
@settings(max_examples=30)
def test_a_network_continues_from_itself_and_from_its_file(network: Network) -> None:
    found = compare(network, loads(dumps(network)))
    assert found.changes == ()
    assert found.dropped == frozenset()
    assert found.renamed == {}


@given(network=networks())
@settings(max_examples=30)
def test_renaming_every_operator_keeps_every_state(network: Network) -> None:
    found = compare(network, renamed(network, lambda name: f"{name}_2"))
    assert found.undecided(allowed=False) == ()
    assert found.dropped == frozenset()
    assert set(found.renamed) == {operator.name for operator in network.operators}


def renamed(network: Network, name: Callable[[str], str]) -> Network:
    streams = {
        stream: name(operator.name) + stream.removeprefix(operator.name)
        for operator in network.operators
        for stream in operator.outputs
    }

    def one(operator: Operator) -> Operator:
        moved = with_inputs(operator, [streams.get(stream, stream) for stream in operator.inputs])
        return replace(moved, name=name(operator.name), was=operator.name)

    outputs = tuple(streams.get(stream, stream) for stream in network.outputs)
    return Network(network.name, network.sources, tuple(map(one, network.operators)), outputs, network.tables)
