from __future__ import annotations

import time
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given

from drover.network.build import Builder
from drover.network.drawing.svg import svg
from drover.network.files.network_file import load
from drover.network.model import Network
from tests.strategies.networks import networks

SVG = "{http://www.w3.org/2000/svg}"
EVERY_KIND = load(Path(__file__).parents[2] / "golden" / "every_kind.yaml")


def titles(network: Network) -> list[str]:
    root = ET.fromstring(svg(network))
    return [group.findtext(f"{SVG}title", "") for group in root.findall(f"{SVG}g/{SVG}g")]


@given(networks(max_operators=10))
def test_any_network_is_drawn_with_a_box_for_each_part(network: Network) -> None:
    found = [title.partition(":")[0] for title in titles(network)]
    assert [title for title in found if title.startswith("source ")] == [f"source {s.name}" for s in network.sources]
    assert [title for title in found if title.startswith("output ")] == [f"output {name}" for name in network.outputs]
    for operator in network.operators:
        assert f"{operator.kind} {operator.name}" in found
    for table in network.tables:
        assert f"table {table.name}" in found


def test_sources_tables_outputs_and_state_differ_in_shape() -> None:
    root = ET.fromstring(svg(EVERY_KIND))
    shapes = {
        group.get("class"): tuple(
            child.tag.removeprefix(SVG) for child in group if child.get("class") in {"outline", "edge"}
        )
        + tuple(child.get("rx", "") for child in group if child.tag == f"{SVG}rect")
        for group in root.findall(f"{SVG}g/{SVG}g")
    }
    assert set(shapes) == {"source", "operator", "state", "table", "output"}
    assert len(set(shapes.values())) == 5


def test_the_drawing_has_a_title_and_a_description() -> None:
    root = ET.fromstring(svg(EVERY_KIND))
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Network traffic"
    assert "10 operators" in root.findtext(f"{SVG}desc", "")


def test_text_cannot_break_out_of_the_drawing() -> None:
    builder = Builder("n")
    stream = builder.source("s", {"a": "string"})
    stream.filter("f", "a = '</text><script>alert(1)</script>' and a <> '\x1b[31m\x00'").output()
    drawing = svg(builder.build())
    ET.fromstring(drawing)
    assert "<script" not in drawing


def test_a_table_that_is_read_and_written_is_drawn_twice() -> None:
    builder = Builder("n")
    stream = builder.source("s", {"ts": "timestamp", "k": "int", "v": "int"}, time="ts")
    builder.table("t", {"ts": "timestamp", "k": "int", "w": "int"}, key="k")
    read = stream.read_table("r", "t", on="k", columns="w")
    read.write_table("w", "t")
    read.output()
    assert sum(title.startswith("table t:") for title in titles(builder.build())) == 2


def test_a_thousand_operators_are_drawn_in_seconds() -> None:
    builder = Builder("n")
    streams = [builder.source(f"s{k}", {"a": "int"}) for k in range(20)]
    for k in range(1_000):
        streams.append(streams[(k * 7919) % len(streams)].filter(f"f{k}", "a > 1"))
    for stream in streams[-300:]:
        stream.output()
    read = {s for operator in builder._operators for s in operator.inputs} | set(builder._outputs)
    for stream in streams:
        if stream.name not in read:
            stream.output()
    network = builder.build()
    start = time.monotonic()
    ET.fromstring(svg(network))
    assert time.monotonic() - start < 120
