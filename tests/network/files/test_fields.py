from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from drover.network.files.field import Field
from drover.network.files.fields import KINDS, SOURCE, TABLE, reference
from drover.network.operators import OPERATORS, Table
from drover.network.parts import Source

FORMAT = Path(__file__).parents[3] / "docs" / "reference" / "network-file.md"


@pytest.mark.parametrize(
    ("cls", "fields"),
    [*((OPERATORS[kind].model, fields) for kind, fields in KINDS.items()), (Source, SOURCE), (Table, TABLE)],
)
def test_every_attribute_has_a_field_and_every_default_agrees(cls: type, fields: tuple[Field, ...]) -> None:
    declared = {field.name: field.default for field in dataclasses.fields(cls) if field.name != "name"}
    targets = [target for field in fields for target in field.targets]
    assert sorted(targets) == sorted(declared)
    for field in fields:
        for target in field.targets:
            if declared[target] is not dataclasses.MISSING:
                assert field.default is not None
                assert field.default.value == declared[target]


def test_the_reference_is_up_to_date() -> None:
    """Run with DROVER_UPDATE=1 to write docs/reference/network-file.md again."""
    if os.environ.get("DROVER_UPDATE"):
        FORMAT.write_text(reference(), encoding="utf-8")
    assert FORMAT.read_text(encoding="utf-8") == reference()
