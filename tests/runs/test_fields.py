from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from drover.network.files.field import Field
from drover.runs.fields import SECTIONS, SETTINGS, SINK, SOURCE, reference
from drover.runs.model import Input, Output, Run

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "run-file.md"


@pytest.mark.parametrize(("cls", "fields"), [(Input, SOURCE), (Output, SINK), (Run, SETTINGS)])
def test_every_attribute_has_a_field_and_every_default_agrees(cls: type, fields: tuple[Field, ...]) -> None:
    declared = {field.name: field.default for field in dataclasses.fields(cls) if field.name not in SECTIONS}
    assert sorted(field.name for field in fields) == sorted(declared)
    for field in fields:
        if declared[field.name] is not dataclasses.MISSING:
            assert field.default is not None
            assert field.default.value == declared[field.name]


def test_the_reference_is_up_to_date() -> None:
    """Run with DROVER_UPDATE=1 to write docs/reference/run-file.md again."""
    if os.environ.get("DROVER_UPDATE"):
        DOCUMENT.write_text(reference(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == reference()
