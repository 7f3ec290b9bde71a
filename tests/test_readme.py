"""What the README shows is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import drover
from drover import runs
from drover.network.files import loads
from drover.network.files.document import read_document
from examples import traffic

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_python_example_and_the_yaml_are_the_traffic_example() -> None:
    (python,) = (block for block in blocks("python") if "Builder" in block)
    (yaml,) = (block for block in blocks("yaml") if "name: traffic" in block)
    names: dict[str, object] = {}
    exec(python.partition("result =")[0], names)  # noqa: S102 - our own README
    assert names["network"] == loads(yaml) == traffic.build()
    assert isinstance(names["network"], drover.Network)


def test_the_run_file_is_sound() -> None:
    (text,) = (block for block in blocks("yaml") if block.startswith("run:"))
    run, faults = runs.inspect_document(read_document(text), Path(__file__).parents[1])
    assert faults == ()
    assert run is not None
    assert run.network == traffic.build()


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (Path(__file__).parents[1] / link).exists()
