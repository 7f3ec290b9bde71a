from __future__ import annotations

import os
from pathlib import Path

import pytest

from drover.load.fields import SECTIONS, Selectivities, reference
from drover.network.files.document import read_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "statistics-file.md"


def test_the_reference_is_up_to_date() -> None:
    """Run with DROVER_UPDATE=1 to write docs/reference/statistics-file.md again."""
    if os.environ.get("DROVER_UPDATE"):
        DOCUMENT.write_text(reference(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == reference()


def test_the_reference_has_every_section() -> None:
    assert all(f"| `{name}` |" in reference() for name in SECTIONS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 0.5", 0.5, id="a number"),
        pytest.param("a: {x: 0.5, y: 1}", (("x", 0.5), ("y", 1.0)), id="cases"),
    ],
)
def test_a_selectivity_is_a_number_or_one_by_case(text: str, value: object) -> None:
    root = read_document(text).root
    assert root is not None
    found = Selectivities().read(root.entries[0][1])
    assert (found.value, found.faults) == (value, ())
    plain = {name: str(each) for name, each in value} if isinstance(value, tuple) else str(value)
    assert Selectivities().write(found.value) == plain


def test_a_list_is_refused_as_a_selectivity() -> None:
    root = read_document("a: [1, 2]").root
    assert root is not None
    (fault,) = Selectivities().read(root.entries[0][1]).faults
    assert "it must be a number, or for a switch a mapping of cases to numbers" in fault.text
