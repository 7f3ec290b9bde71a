from __future__ import annotations

import pytest

from drover.network.files import codecs
from drover.network.files.field import EMPTY, FALSE, NONE, Default, Field, table_lines


@pytest.mark.parametrize(
    ("default", "words"),
    [
        pytest.param(None, "required", id="no default"),
        pytest.param(NONE, "none", id="None"),
        pytest.param(EMPTY, "none", id="an empty list"),
        pytest.param(FALSE, "`false`", id="a value, as a file has it"),
        pytest.param(Default(same_as="size"), "as `size`", id="another field"),
    ],
)
def test_a_reference_states_the_default_of_a_field(default: Default | None, words: str) -> None:
    *_, row = table_lines("A part", [Field("wide", codecs.TRUTH, "whether it is wide", default)])
    assert row == f"| `wide` | true or false | {words} | whether it is wide |"


def test_a_field_may_set_several_attributes() -> None:
    assert Field("a", codecs.NAME, "").targets == ("a",)
    assert Field("a", codecs.NAME, "", attributes=("b", "c")).targets == ("b", "c")
