"""Documents of a checkpoint: equal values give equal bytes, and damage is detected."""

from __future__ import annotations

import json

import pytest

from drover.errors import StateError
from drover.flow.state.documents import (
    FORMAT,
    Commit,
    canonical,
    commit_body,
    commit_from,
    full_body,
    seal,
    unseal,
    verify,
    version_from,
)
from drover.flow.state.segments import Segment
from drover.flow.state.versions import Version, advance

ONE = Segment("agg", "rows", "000000000003-0-a.arrow", 0, 10, 7, 2, 5, replace=False)
OTHER = Segment("join", "left", "000000000003-0-a.arrow", 10, 20, 8, 3, None, replace=True)
COMMIT = Commit(3, (ONE, OTHER), {("agg", "rows"): 4}, (("gone", "rows"),), {"spark_batch": 2})


def test_a_commit_comes_back_as_it_was() -> None:
    data, checksum = seal(commit_body(COMMIT, "before"))
    body, found = unseal("path", data, 3)
    assert commit_from(body) == COMMIT
    assert (body["previous"], found) == ("before", checksum)


def test_a_version_comes_back_as_it_was() -> None:
    version = advance(Version(2, {}), 3, COMMIT.added, COMMIT.bounds)
    body = json.loads(json.dumps(full_body(version, COMMIT.notes, "link")))
    assert version_from(body) == version
    assert (body["notes"], body["link"]) == ({"spark_batch": 2}, "link")


def test_the_order_of_keys_does_not_change_the_bytes() -> None:
    assert canonical({"b": 1, "a": [1, None]}) == canonical({"a": [1, None], "b": 1}) == '{"a":[1,null],"b":1}'


@pytest.mark.parametrize("value", [{"x": {1, 2}}, {"x": float("nan")}], ids=["a set", "not a number"])
def test_values_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical(value)


def test_content_does_not_depend_on_the_files_of_an_attempt() -> None:
    moved = Segment("agg", "rows", "000000000003-0-b.arrow", 99, 10, 7, 2, 5, replace=False)
    again = Commit(3, (OTHER, moved), COMMIT.bounds, COMMIT.dropped, COMMIT.notes)
    assert again.content == COMMIT.content
    changed = Commit(3, (OTHER, moved), COMMIT.bounds, COMMIT.dropped, {"spark_batch": 3})
    assert changed.content != COMMIT.content


def test_every_flipped_bit_is_detected() -> None:
    data, _ = seal({"format": FORMAT, "batch": 1})
    for index in range(len(data)):
        damaged = bytearray(data)
        damaged[index] ^= 1
        with pytest.raises(StateError, match="path"):
            verify("path", bytes(damaged))


# What is wrong with the document of batch 1, and what the error says of it after "path: expected ".
SOUND = seal({"format": FORMAT, "batch": 1})[0]
WRONG = [
    pytest.param(SOUND[:-2], "a whole document, but found 76 bytes that are none: it is damaged. Ask.", id="cut off"),
    pytest.param(
        SOUND.replace(b'"batch":1', b'"batch":2'),
        r"checksum \w{32}, but found \w{32}: the file is damaged. Ask.",
        id="changed",
    ),
    pytest.param(
        seal({"format": FORMAT + 1, "batch": 1})[0],
        "format 1, but found format 2. Continue with the release of drover that wrote it.",
        id="another format",
    ),
    pytest.param(
        seal({"format": FORMAT, "batch": 2})[0], "batch 1, but found batch 2: it was renamed. Ask.", id="another batch"
    ),
]


@pytest.mark.parametrize(("data", "says"), WRONG)
def test_a_wrong_document_is_named_with_what_is_wrong_and_the_way_out(data: bytes, says: str) -> None:
    with pytest.raises(StateError, match=f"^path: expected {says}$"):
        unseal("path", data, 1, "Ask.")
