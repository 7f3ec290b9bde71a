from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from drover.errors import FileError, NetworkError
from drover.network.files.network_file import dump, dumps, inspect, load, loads
from drover.network.model import Network
from drover.network.operators import Filter, Map, Named, Switch
from drover.network.parts import Source
from drover.network.schema import Column
from drover.network.types import STRING, TIMESTAMP
from tests.strategies.networks import networks

WORDS = ("yes", "no", "null", "NULL", "true", "on", "off", "y", "n", "_1", "e3", "inf", "nan", "drover", "kind")
HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "'",
        '"',
        ": ",
        " #",
        "\n",
        "\r\n",
        "\t",
        "\u2028",
        "\x85",
        "\ufeff",
        "{}",
        "- a",
        "é",
        "日本",
        "\U0001f600",
        "\x1b[31m",
    ]
)
SPACE = st.text(" \n\t", max_size=3)

GOOD = textwrap.dedent(
    """\
    drover: 1
    name: traffic
    sources:
      requests:
        columns: {ts: timestamp, client: string, bytes: bigint}
        time: ts
    operators:
      large: {kind: filter, input: requests, where: bytes > 1000}
    outputs: [large]
    """
)


@st.composite
def hostile_networks(draw: st.DrawFn) -> Network:
    """Sound networks whose names and expressions look like YAML."""
    first, second, branch, column = draw(st.lists(st.sampled_from(WORDS), min_size=4, max_size=4, unique=True))
    literal = draw(HOSTILE).replace("\\", "\\\\").replace("'", "\\'")
    where = f"{draw(SPACE)}`{column}` = '{literal}'{draw(SPACE)}"
    select = (Named(column, draw(st.sampled_from(["1", "'yes'", "true"]))),)
    operators = (
        Filter(name=first, input="s", where=where),
        Switch(name=second, input=first, cases=(Named(branch, where),), rest="other"),
        Map(name="m", input=f"{second}.{branch}", select=select),
    )
    source = Source("s", (Column(column, STRING), Column("ts", TIMESTAMP)), "ts")
    try:
        return Network("n", (source,), operators, ("m", f"{second}.other"))
    except NetworkError:
        reject()


@given(networks(max_operators=10))
def test_any_network_survives_the_round_trip(network: Network) -> None:
    assert loads(dumps(network)) == network


@given(hostile_networks())
def test_hostile_words_survive_the_round_trip(network: Network) -> None:
    assert loads(dumps(network)) == network


def test_files_are_written_and_read(tmp_path: Path) -> None:
    network = loads(GOOD)
    dump(network, tmp_path / "n.yaml")
    assert load(tmp_path / "n.yaml") == network
    assert dumps(load(tmp_path / "n.yaml")) == dumps(network)


def test_the_kind_of_error_says_what_is_wrong() -> None:
    with pytest.raises(NetworkError, match=r"line 8: operators\.large\.where"):
        loads(GOOD.replace("bytes > 1000", "byte > 1000"))
    with pytest.raises(FileError, match=r"line 8: operators\.large\.where"):
        loads(GOOD.replace("where: bytes > 1000", "where: {}"))


def faults_of(old: str, new: str) -> list[tuple[int | None, str]]:
    assert old in GOOD
    network, faults = inspect(GOOD.replace(old, new))
    assert (network is None) == bool(faults)
    return [(fault.line, fault.field) for fault in faults]


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        pytest.param("lar", "lar", [], id="a sound file has none"),
        pytest.param(
            "drover: 1", "drover: 2\nrubbish: 1", [(1, "drover")], id="of another version nothing else is said"
        ),
        pytest.param("drover: 1", "# none", [(2, "drover")], id="no version"),
        pytest.param("name: traffic", "nmae: traffic", [(2, "nmae")], id="a misspelt field is not missing too"),
        pytest.param("sources:", "sorces:", [(3, "sorces")], id="without sources no stream is called unknown"),
        pytest.param("sources:", "sources: 1\nrest:", [(3, "sources"), (4, "rest")], id="sources that are none"),
        pytest.param("operators:", "oprators:", [(7, "oprators")], id="without operators no output is called unknown"),
        pytest.param("[large]", "[large", [(10, "file")], id="an open bracket"),
        pytest.param("[large]", "large", [], id="one output without brackets"),
        pytest.param("outputs: [large]", "", [(1, "outputs")], id="no outputs"),
        pytest.param(
            "kind: filter", "kind: filer", [(8, "operators.large.kind")], id="an unknown kind is known by name"
        ),
        pytest.param("kind: filter, ", "", [(8, "operators.large.kind")], id="no kind"),
        pytest.param("bytes: bigint", "bytes: bgint", [(5, "sources.requests.columns.bytes")], id="a bad type hides"),
        pytest.param("time: ts", "time: [ts]", [(6, "sources.requests.time")], id="a bad time hides"),
        pytest.param("time: ts", "lateness: 3 weeks", [(6, "sources.requests.lateness")], id="a bad length"),
        pytest.param(
            "input: requests", "input: request", [(8, "operators.large.input")], id="a misspelt stream is read"
        ),
        pytest.param("input: requests", "input: {}", [(8, "operators.large.input")], id="an input that is none"),
        pytest.param("input: requests", "inptu: requests", [(8, "operators.large.inptu")], id="a misspelt input"),
        pytest.param("input: requests, ", "", [(8, "operators.large.input")], id="no input"),
        pytest.param(
            "where: bytes > 1000",
            "sticky: 1, where: byte > 1000",
            [(8, "operators.large.sticky"), (8, "operators.large.where")],
            id="a bad field does not hide the next",
        ),
        pytest.param(
            "large: {kind: filter, input: requests, where: bytes > 1000}",
            "large:\n    kind: filter\n    input: requests\n    where:\n      byte > 1000",
            [(11, "operators.large.where")],
            id="the line is that of the field",
        ),
        pytest.param(
            "  large:", "  large: {}\n  large:", [(8, "operators.large.kind"), (9, "operators.large")], id="twice"
        ),
    ],
)
def test_every_fault_once_and_on_its_line(old: str, new: str, faults: list[tuple[int | None, str]]) -> None:
    assert faults_of(old, new) == faults


def test_an_empty_section_means_the_same_as_a_missing_one() -> None:
    network = loads("drover: 1\nname: n\nsources:\n  s: {columns: {a: int}}\ntables:\noperators:\noutputs: s\n")
    assert network.outputs == ("s",)
    assert loads(dumps(network)) == network


WORDS_OF_FILES = (
    "drover name sources tables operators outputs columns kind filter join union a time key input inputs where select"
    " on within 10s 1 true switch cases int left right from into compute size group_by aggregate table_read map"
)
WORD = st.sampled_from(WORDS_OF_FILES.split())


@settings(max_examples=200)
@given(
    st.recursive(
        WORD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=5), max_leaves=30
    )
)
def test_any_shape_gives_a_network_or_faults(data: object) -> None:
    text = f"{{drover: 1, name: n, sources: {flow(data)}, operators: {flow(data)}, tables: {flow(data)}, outputs: [a]}}"
    network, faults = inspect(text)
    assert (network is None) == bool(faults)
    assert all(fault.line == 1 for fault in faults)


def flow(data: object) -> str:
    if isinstance(data, dict):
        return "{" + ", ".join(f"{key}: {flow(value)}" for key, value in data.items()) + "}"
    return f"[{', '.join(map(flow, data))}]" if isinstance(data, list) else str(data)
