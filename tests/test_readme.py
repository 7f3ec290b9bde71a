"""README: it shows the traffic example, is short, and its links lead somewhere. tests/docs runs its blocks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import drover
from drover.network.files.network_file import loads
from examples import traffic
from tests.docs.markdown import blocks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 150


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_the_python_example_and_the_yaml_are_the_traffic_example() -> None:
    (python,) = (block.text for block in blocks(README) if block.language == "python" and "Builder" in block.text)
    (yaml,) = (block.text for block in blocks(README) if block.language == "yaml")
    names: dict[str, object] = {}
    exec(python, names)  # noqa: S102 - our own README
    assert names["network"] == loads(yaml) == traffic.build()
    assert isinstance(names["network"], drover.Network)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_figures_of_the_tables_are_those_of_the_performance_page() -> None:
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text(encoding="utf-8")
    for rounded, exact in {
        "7.1 s": "7.14",
        "0.39 s": "0.39",
        "0.40 s": "0.400",
        "15.7 s": "15.7",
        "0.64 s": "0.64",
    }.items():
        assert rounded in README
        assert f"| {exact} |" in page
