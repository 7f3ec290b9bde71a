from __future__ import annotations

import pytest

import drover
from drover.errors import ExpressionError, FileError, NetworkError
from drover.network.grid import Grid, Spread, parse_spread
from drover.network.operators import Join

SOURCE = {"ts": "timestamp", "k": "int"}


@pytest.mark.parametrize(
    ("text", "spread"),
    [("auto", "auto"), (" 4 ", 4), ("2 x 3", Grid(2, 3)), ("2X3", Grid(2, 3)), ("1000", 1000), ("1 x 1", Grid(1, 1))],
)
def test_spreads_are_read_and_written(text: str, spread: Spread) -> None:
    assert parse_spread(text) == spread
    assert parse_spread(str(spread)) == spread


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "2 x", "x 3", "2 x 0", "1001", "100 x 100", "many", "9" * 30, "2 x 3 x 4"]
)
def test_an_invalid_spread_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="a grid of 1 to 1000 instances"):
        parse_spread(text)


@pytest.mark.parametrize(
    "spread",
    [
        0,
        -3,
        (0, 2),
        (2, 3, 4),
        (2,),
        (),
        [2, 3],
        (1001, 1),
        (10**9, 10**9),
        10**9,
        "wide",
        "2x",
        "",
        2.5,
        (1.5, 2),
        True,
        (True, 2),
        ("2", "3"),
        float("nan"),
        b"auto",
        {"auto"},
    ],
)
def test_a_network_refuses_an_invalid_spread(spread: object) -> None:
    net = drover.Builder("n")
    a, b = (net.source(name, SOURCE, time="ts") for name in "ab")
    a.join("j", b, within="1 s", on="k", spread=spread).output()  # type: ignore[arg-type]
    with pytest.raises(NetworkError, match=r"spread is .*a grid of 1 to 1000 instances"):
        net.build()


@pytest.mark.parametrize("written", ["auto ", "2x3", " 2 X 3", "4", (2, 3)])
def test_python_takes_what_a_file_takes(written: str | tuple[int, int]) -> None:
    net = drover.Builder("n")
    a, b = (net.source(name, SOURCE, time="ts") for name in "ab")
    a.join("j", b, within="1 s", on="k", spread=written).output()
    found = net.build().operator("j")
    assert isinstance(found, Join)
    assert found.spread == parse_spread("2 x 3" if isinstance(written, tuple) else written)


@pytest.mark.parametrize("written", ["0", "-1", "2x", "[2, 3]", "{rows: 2}", "1e9", "1000000000", "true", "2.0", "~"])
def test_a_file_with_another_spread_is_refused(written: str) -> None:
    net = drover.Builder("n")
    a, b = (net.source(name, SOURCE, time="ts") for name in "ab")
    a.join("j", b, within="1 s", on="k", spread=7).output()
    text = drover.writes(net.build()).replace("spread: 7", f"spread: {written}")
    with pytest.raises(FileError, match=r"line \d+: operators\.j\.spread is .*, but .*\. Write ") as caught:
        drover.reads(text)
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize("spread", ["auto", 3, Grid(2, 2), None])
def test_spreads_survive_a_file(spread: Spread | None) -> None:
    net = drover.Builder("n")
    a, b = (net.source(name, SOURCE, time="ts") for name in "ab")
    a.join("j", b, within="1 s", on="k", spread=spread).output()
    network = net.build()
    text = drover.writes(network)
    assert drover.reads(text) == network
    assert (f"spread: {spread}" in text) == (spread is not None)


@pytest.mark.parametrize("how", ["left", "right", "full outer", "cross"])
def test_joins_that_are_not_inner_are_refused(how: str) -> None:
    net = drover.Builder("n")
    a, b = (net.source(name, SOURCE, time="ts") for name in "ab")
    a.join("j", b, within="1 s", on="k", how=how).output()
    with pytest.raises(NetworkError, match=rf"how is '{how}', but joins are inner"):
        net.build()
