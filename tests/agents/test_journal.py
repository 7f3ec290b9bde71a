from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.agents.journal import Journal
from drover.errors import LockedError, StateError
from drover.hierarchy.messages import Bundle, Closed, HandedOut, Handover, JournalSnapshot, Record, TookIn

KEPT = JournalSnapshot(1, 4, ((0, (1.0,)),))
MORE: tuple[Record, ...] = (TookIn(2, 7, (Bundle((5,), ((2.0,),)),)), TookIn(2, 8, ()))

OLD_JOURNAL = """\
drover journal 1 0123abcd east
a534d040 {"Kept":{"life":3,"serial":4,"sizes":[[0,[1.0,0.5]],[5,[2.0,0.5]],[6,[1.0,0.25]]],\
"decided":[{"giver":2,"serial":8,"taken":[9]}],"pending":[{"sender":1,"receiver":2,"round":[1,3,7],"serial":4,\
"bundles":[{"operators":[5,6],"sizes":[[2.0,0.5],[1.0,0.25]]}]}]}}
efb159bb {"Closed":{"receiver":2,"serial":4,"taken":[5]}}
b15440c0 {"TookIn":{"giver":2,"serial":9,"bundles":[{"operators":[7],"sizes":[[3.0,1.0]]}]}}
623c8b30 {"HandedOut":{"handover":{"sender":1,"receiver":0,"round":[0,1,2],"serial":5,\
"bundles":[{"operators":[7],"sizes":[[3.0,1.0]]}]}}}
"""


def written(path: Path) -> bytes:
    with Journal(path, "east", "digest") as journal:
        assert journal.read() == []
        journal.begin([KEPT])
        journal.append(MORE)
    return path.read_bytes()


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    written(tmp_path / "east")
    with Journal(tmp_path / "east", "east", "digest") as journal:
        assert journal.read() == [KEPT, *MORE]
        journal.begin([KEPT])
        assert journal.read() == [KEPT]


def test_a_journal_of_an_earlier_release_opens(tmp_path: Path) -> None:
    """The lines are literal: a change of names in the code must not change what a disk holds."""
    (tmp_path / "east").write_text(OLD_JOURNAL)
    with Journal(tmp_path / "east", "east", "0123abcd") as journal:
        first, *rest = journal.read()
    assert isinstance(first, JournalSnapshot)
    assert (first.life, first.serial, dict(first.sizes)[5]) == (3, 4, (2.0, 0.5))
    assert first.pending[0].operators == (5, 6)
    assert first.decided[0].taken == (9,)
    bundle = Bundle((7,), ((3.0, 1.0),))
    assert rest == [Closed(2, 4, (5,)), TookIn(2, 9, (bundle,)), HandedOut(Handover(1, 0, (0, 1, 2), 5, (bundle,)))]


@given(share=st.floats(0, 1))
def test_a_journal_that_was_cut_off_says_what_is_whole(tmp_path_factory: pytest.TempPathFactory, share: float) -> None:
    path = tmp_path_factory.mktemp("journal") / "east"
    data = written(path)
    head = data.index(b"\n", data.index(b"\n") + 1) + 1  # what `begin` writes is there or not, as a whole
    path.write_bytes(data[: head + round(share * (len(data) - head))])
    with Journal(path, "east", "digest") as journal:
        found = journal.read()
    assert found == [KEPT, *MORE][: len(found)]
    assert len(found) == path.read_bytes().count(b"\n") - 1


@pytest.mark.parametrize(
    ("node", "digest", "damage", "words"),
    [
        pytest.param("east", "other", 0, "another file", id="of another tree"),
        pytest.param("west", "digest", 0, "another file", id="of another node"),
        pytest.param("east", "digest", 40, "damage in line 2", id="damaged in the middle"),
        pytest.param("east", "digest", -5, "damage in line 4", id="damaged at the end"),
    ],
)
def test_what_cannot_be_trusted_is_refused(tmp_path: Path, node: str, digest: str, damage: int, words: str) -> None:
    path = tmp_path / "east"
    data = bytearray(written(path))
    if damage:
        data[damage] ^= 1
        path.write_bytes(bytes(data))
    with Journal(path, node, digest) as journal, pytest.raises(StateError, match=words):
        journal.read()


@pytest.mark.parametrize("cut", [pytest.param(1, id="the head"), pytest.param(2, id="the head and damage")])
def test_a_journal_without_its_beginning_is_refused(tmp_path: Path, cut: int) -> None:
    """Such a journal would look like a new one, and its node would start operators that others run."""
    path = tmp_path / "east"
    head, kept, *_ = written(path).split(b"\n")
    path.write_bytes(head + b"\n" + (kept[:-5] + bytes(2) + kept[-3:] + b"\n" if cut == 2 else b""))
    with Journal(path, "east", "digest") as journal, pytest.raises(StateError, match="line 2"):
        journal.read()


def test_a_last_line_with_a_hole_was_being_written(tmp_path: Path) -> None:
    path = tmp_path / "east"
    data = written(path)
    path.write_bytes(data[:-30] + bytes(10) + data[-20:])
    with Journal(path, "east", "digest") as journal:
        assert journal.read() == [KEPT, *MORE[:-1]]


@given(at=st.floats(0, 1), bit=st.integers(0, 7))
def test_no_bit_that_flips_goes_unseen(tmp_path_factory: pytest.TempPathFactory, at: float, bit: int) -> None:
    path = tmp_path_factory.mktemp("journal") / "east"
    data = bytearray(written(path))
    place = round(at * (len(data) - 2))  # a last line without its end is one that was being written
    data[place] ^= 1 << bit
    path.write_bytes(bytes(data))
    with Journal(path, "east", "digest") as journal, pytest.raises(StateError):
        journal.read()


def test_a_pipe_is_no_journal_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "east")
    with Journal(tmp_path / "east", "east", "digest") as journal, pytest.raises(StateError, match="not a regular file"):
        journal.read()


def test_one_agent_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "east", "east", "digest"), pytest.raises(LockedError, match="another agent"):
        Journal(tmp_path / "east", "east", "digest")
    Journal(tmp_path / "east", "east", "digest").close()
