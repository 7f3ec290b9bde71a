from __future__ import annotations

import click
import pytest

from drover.cli.node_count import NodeCount


@pytest.mark.parametrize(("text", "found"), [("auto", "auto"), ("3", 3), (7, 7)])
def test_a_number_or_auto(text: object, found: object) -> None:
    assert NodeCount().convert(text, None, None) == found


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        NodeCount().convert(text, None, None)
