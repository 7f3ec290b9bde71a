from __future__ import annotations

from drover.network.files import codecs
from drover.network.files.document import Scalar, read_document
from drover.network.files.field import Default, Field
from drover.network.files.gather import Gatherer

FIELDS = (
    Field("size", codecs.SEED, "how large"),
    Field("advance", codecs.SEED, "how far", Default(same_as="size")),
    Field("name", codecs.NAME, "its name", Default("x"), hides=False),
)


def gathered(text: str) -> tuple[Gatherer, dict[str, object], bool]:
    root = read_document(text).root
    assert root is not None
    gatherer = Gatherer()
    values, hides = gatherer.fields(("part",), Scalar("part", 1), root, FIELDS, "a part")
    return gatherer, values, hides


def test_fields_that_are_left_out_have_their_defaults() -> None:
    gatherer, values, hides = gathered("size: 3")
    assert values == {"size": 3, "advance": 3, "name": "x"}
    assert not gatherer.faults
    assert not hides


def test_a_bad_field_does_not_stop_the_reader() -> None:
    gatherer, values, hides = gathered("size: many\nname: y")
    assert values["name"] == "y"
    assert [fault.path for fault in gatherer.faults] == [("part", "size")]
    assert gatherer.spoiled == {("part", "size")}
    assert hides


def test_a_missing_field_is_a_fault_unless_it_is_misspelt() -> None:
    assert ["missing" in str(fault) for fault in gathered("name: y")[0].faults] == [True]
    (fault,) = gathered("sise: 3")[0].faults
    assert "Did you mean size?" in str(fault)
