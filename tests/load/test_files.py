"""Statistics files: read, written, and all their faults at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.errors import FileError
from drover.load.files import dumps, load, loads
from drover.load.profile import Origin, make_profile
from drover.load.statistics import Behaviour, Statistics
from drover.network.files.network_file import loads as network_of
from drover.network.model import Network
from tests.strategies import networks
from tests.strategies.values import Draw

NETWORK = network_of("""\
drover: 1
name: calls
sources:
  calls: {columns: {ts: timestamp, number: string, seconds: int}, time: ts}
  bills: {columns: {ts: timestamp, number: string, cents: int}, time: ts}
tables:
  last: {columns: {number: string, ts: timestamp, seconds: int}, key: number}
operators:
  long: {kind: filter, input: calls, where: seconds > 60}
  by_length: {kind: switch, input: calls, cases: {brief: seconds < 10, usual: seconds < 60}, rest: rest}
  keep: {kind: table_write, input: calls, into: last}
  paid: {kind: join, left: long, right: bills, within: 1 h, on: number}
outputs: [by_length.brief, by_length.usual, by_length.rest, paid]
""")
SOUND = """\
statistics: 1
rates: {calls: 2000, bills: 1.5e2}
operators:
  long: {cost: 2e-6, selectivity: 0.25, varies: true}
  by_length: {selectivity: {brief: 0.5, rest: 0.1}}
  keep: {cost: 0.001}
series:
  calls: [1000, 3000]
  bills: [100, 200]
"""


def test_a_file_with_every_field_is_read() -> None:
    assert loads(SOUND, NETWORK) == Statistics(
        {"calls": 2000.0, "bills": 150.0},
        {
            "long": Behaviour(2e-6, {"long": 0.25}, varies=True),
            "by_length": Behaviour(None, {"by_length.brief": 0.5, "by_length.rest": 0.1}),
            "keep": Behaviour(0.001),
        },
        {"calls": (1000.0, 3000.0), "bills": (100.0, 200.0)},
    )


def test_a_json_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"statistics": 1, "rates": {"calls": 7}, "operators": {}}', encoding="utf-8")
    assert load(path, NETWORK) == Statistics({"calls": 7.0})


def test_missing_values_are_assumed_and_counted() -> None:
    profile = make_profile(NETWORK, [(Origin.GIVEN, loads(SOUND, NETWORK))])
    assert profile.counts() == {
        "rates": {"given": 2},
        "costs": {"given": 2, "assumed": 2},
        "selectivities": {"given": 3, "assumed": 2},
    }
    assert profile.selectivities["by_length.usual"] == pytest.approx(1 / 3)
    assert profile.varying == {"long"}


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("statistics: 1", [], id="nothing at all is fine"),
        pytest.param("statistics: 1\nrates:\noperators:", [], id="empty sections are fine"),
        pytest.param("rates: {calls: 1}", ["file is no statistics file"], id="no mark"),
        pytest.param("statistics: 2", ["reads version 1 of statistics files"], id="another version"),
        pytest.param("statistics: 1\nrate: {}", ["line 2: rate is unknown", "Did you mean rates?"], id="a section"),
        pytest.param(
            "statistics: 1\nrates:\n  call: 1\n  bills: -2",
            [
                "line 3: rates.call is unknown",
                "Did you mean calls?",
                "line 4: rates.bills is -2, but it must be finite",
            ],
            id="rates",
        ),
        pytest.param("statistics: 1\nrates: {calls: 1e999}", ["rates.calls is inf"], id="a number beyond all numbers"),
        pytest.param(
            "statistics: 1\nrates: {calls: 1e308}", ["rates.calls is 1e+308", "not above 1e+18"], id="beyond all use"
        ),
        pytest.param("statistics: 1\nrates: {calls: fast}", ["'fast', but it must be a number"], id="a word"),
        pytest.param("statistics: 1\nrates: [1]", ["a mapping of sources to rows per second"], id="a list of rates"),
        pytest.param(
            "statistics: 1\noperators:\n  lon: {cost: 1}\n  keep: {selectivity: 1, cots: 1}",
            ["line 3: operators.lon is unknown", "has no output", "Did you mean cost?"],
            id="operators",
        ),
        pytest.param(
            "statistics: 1\noperators:\n  long: {selectivity: {a: 1}}\n  by_length: {selectivity: 0.5}",
            ["kind filter has one output", "Write {brief: ..., usual: ..., rest: ...}."],
            id="one output or several",
        ),
        pytest.param(
            "statistics: 1\noperators:\n  by_length: {selectivity: {breif: 0.5, rest: -1}}",
            ["selectivity.breif is unknown", "Did you mean brief?", "selectivity.rest is -1"],
            id="cases",
        ),
        pytest.param("statistics: 1\noperators: {long: {selectivity: [1]}}", ["a list of 1"], id="a list"),
        pytest.param(
            "statistics: 1\nseries:\n  calls: [1, 2]\n  bills: [1, -1, 3]",
            ["3 periods, but all series must have the same length, and calls has 2 periods", "series.bills.1 is -1"],
            id="series",
        ),
        pytest.param("statistics: 1\noperators: {long: 3}", ["an operator is a mapping of fields"], id="no fields"),
    ],
)
def test_faults_are_reported_with_their_lines(text: str, faults: list[str]) -> None:
    if not faults:
        assert loads(text, NETWORK) == Statistics()
        return
    with pytest.raises(FileError) as caught:
        loads(text, NETWORK)
    for fault in faults:
        assert fault in str(caught.value)


@st.composite
def statistics(draw: Draw, network: Network) -> Statistics:
    numbers = st.floats(0, 1e9)
    sources = [source.name for source in network.sources]
    h = draw(st.integers(1, 4))
    return Statistics(
        {name: draw(numbers) for name in sources if draw(st.booleans())},
        {
            operator.name: Behaviour(
                draw(st.none() | numbers), {stream: draw(numbers) for stream in operator.outputs}, draw(st.booleans())
            )
            for operator in network.operators
            if draw(st.booleans())
        },
        {name: tuple(draw(numbers) for _ in range(h)) for name in sources if draw(st.booleans())},
    )


@given(networks(max_operators=4), st.data())
@settings(max_examples=60)
def test_a_written_file_is_read_back(network: Network, data: st.DataObject) -> None:
    drawn = data.draw(statistics(network))
    assert loads(dumps(drawn, network), network) == drawn
