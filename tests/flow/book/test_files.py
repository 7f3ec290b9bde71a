"""The files of the book: what was promised is there whatever happens, and a begun batch is as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from drover.errors import StateError
from drover.flow.book import files
from drover.flow.book.book import ADDED, Book, Turn, Wish, advance, moved, parked_frame
from drover.flow.book.files import path_of, recover, tidy, write_turn, write_wish


def wish(serial: int, numbers: Sequence[int] = (), dropped: Sequence[int] = ()) -> Wish:
    rows = [(number, f"q{number}", "acme", "f", f"text {number}") for number in numbers]
    return Wish(serial, pl.DataFrame(rows, schema=ADDED, orient="row"), tuple(dropped))


def placed(nodes: dict[int, int]) -> pl.DataFrame:
    schema = {"number": pl.Int64, "node": pl.Int32}
    return pl.DataFrame({"number": list(nodes), "node": list(nodes.values())}, schema=schema)


def numbers(book: Book) -> list[int]:
    return book.members["number"].to_list()


def local(folder: Path) -> FileSystem:
    return SubTreeFileSystem(str(folder), LocalFileSystem())


def test_a_turn_takes_wishes_in_places_and_parks() -> None:
    first = advance(Book(), [wish(1, [0, 1, 2])], Turn(4, 1, placed({0: 1, 1: 0, 2: 1})))
    then = advance(first, [wish(2, [3], [1])], Turn(9, 2, placed({3: 0, 0: 0}), parked_frame({2: "it failed"})))
    assert then.members.select("number", "node", "since", "parked").rows() == [
        (0, 0, 4, None),
        (2, 1, 4, "it failed"),
        (3, 0, 9, None),
    ]
    assert (then.batch, then.upto, then.following) == (9, 2, 4)
    assert moved(first, then).rows() == [(0, "f", 1, 0)]


def test_a_number_is_never_given_out_again() -> None:
    book = advance(Book(), [wish(1, [0, 1])], Turn(0, 1))
    assert advance(book, [wish(2, (), [1])], Turn(1, 2)).following == 2


def test_a_gap_between_wishes_is_refused() -> None:
    with pytest.raises(ValueError, match="wishes have no gaps"):
        advance(Book(), [wish(2, [0])], Turn(0, 2))


@given(data=st.data())
def test_what_is_recovered_is_what_was_written(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Random wishes and turns, some batches without a turn, tidied now and then, and a crash at the end."""
    fs = local(tmp_path_factory.mktemp("book"))
    book, serial, following, waiting = Book(), 0, 0, list[Wish]()
    for batch in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(0, 2))):
            serial += 1
            count = data.draw(st.integers(0, 3))
            known = [*numbers(book), *(n for one in waiting for n in one.added["number"])]
            gone = data.draw(st.lists(st.sampled_from(known), max_size=2, unique=True)) if known else []
            waiting.append(wish(serial, range(following, following + count), gone))
            following += count
            write_wish(fs, "root", waiting[-1])
        if data.draw(st.booleans()):
            nodes = {n: data.draw(st.integers(0, 2)) for one in waiting for n in one.added["number"]}
            turn = Turn(batch, serial, placed(nodes))
            write_turn(fs, "root", turn)
            book, waiting = advance(book, waiting, turn), []
        if data.draw(st.booleans()):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(files, "LEAST_CHAIN", data.draw(st.sampled_from([0, 2**20])))
                tidy(fs, "root", book)
        found = recover(fs, "root", batch, book.batch)
        assert_frame_equal(found.book.members, book.members)
        assert (found.book.batch, found.book.upto) == (book.batch, book.upto)
        assert [one.serial for one in found.wishes] == [one.serial for one in waiting]
        assert found.begun is None


def test_the_turn_of_a_batch_that_was_begun_is_found_and_not_taken_yet(tmp_path: Path) -> None:
    fs = local(tmp_path)
    write_wish(fs, "root", wish(1, [0]))
    write_turn(fs, "root", Turn(3, 1, placed({0: 2})))
    found = recover(fs, "root", 2)
    assert found.book.members.height == 0
    assert found.begun is not None
    assert advance(found.book, found.wishes, found.begun).members["node"].to_list() == [2]


@pytest.mark.parametrize("kind", ["wish", "turn"])
def test_a_damaged_file_is_refused(tmp_path: Path, kind: str) -> None:
    fs = local(tmp_path)
    write_wish(fs, "root", wish(1, [0]))
    write_turn(fs, "root", Turn(1, 1, placed({0: 2})))
    path = tmp_path / path_of("root", kind, 1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match="checksum"):
        recover(fs, "root", 1)


@pytest.mark.parametrize("kind", ["wish", "turn"])
def test_a_missing_file_is_refused(tmp_path: Path, kind: str) -> None:
    fs = local(tmp_path)
    write_wish(fs, "root", wish(1, [0]))
    write_turn(fs, "root", Turn(1, 1, placed({0: 2})))
    (tmp_path / path_of("root", kind, 1)).unlink()
    with pytest.raises(StateError, match="Restore it"):
        recover(fs, "root", 1, 1)
