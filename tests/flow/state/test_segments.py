from __future__ import annotations

import pickle
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem

from drover.errors import DroverError, StateError
from drover.flow.state.layout import state_name
from drover.flow.state.segments import (
    Delta,
    Segment,
    live_rows,
    newest_of,
    read_parts,
    read_segments,
    write_deltas,
)

LOCAL = LocalFileSystem()
NAME = state_name(7, 0, "a")


def table(*times: int) -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64()), "text": [f"row {time}" for time in times]})


def write(folder: Path, *deltas: Delta) -> tuple[Segment, ...]:
    return write_deltas(LOCAL, str(folder), NAME, deltas)


COLUMNS = {
    "numbers with nulls": pa.array([1, None, 3]),
    "texts": pa.array(["", None, "ü" * 100]),
    "bytes": pa.array([b"\0", b"", None]),
    "lists": pa.array([[1.5], [], None]),
    "structs": pa.array([{"a": 1}, None, {"a": None}]),
    "dictionary": pa.array(["x", "y", "x"]).dictionary_encode(),
    "moments": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
    "decimals": pa.array([None, 1, 2], pa.decimal128(38, 3)),
    "large texts": pa.array(["a", "b", None], pa.large_string()),
    "views": pa.array(["a", "b" * 50, None], pa.string_view()),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_come_back_as_they_were(tmp_path: Path, column: str) -> None:
    rows = pa.table({column: COLUMNS[column]}).replace_schema_metadata({"k": "v"})
    segments = write(tmp_path, Delta("u", "p", rows), Delta("v", "p", rows.slice(1, 1)), Delta("u", "p", rows.slice(2)))
    found = read_segments(LOCAL, str(tmp_path), [segments[0], segments[2]])
    assert found.equals(pa.concat_tables([rows, rows.slice(2)]), check_metadata=True)
    assert read_segments(LOCAL, str(tmp_path), [segments[1]]).equals(rows.slice(1, 1))


def test_one_file_holds_all_deltas_and_its_name_is_final(tmp_path: Path) -> None:
    first, second = write(tmp_path / "new" / "folder", Delta("u", "p", table(1, 2), newest=2), Delta("v", "q", table()))
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == [NAME]
    assert (first.offset, first.rows, first.newest, first.replace) == (0, 2, 2, False)
    assert (second.offset, second.rows, second.newest) == (first.length, 0, None)
    assert (tmp_path / "new" / "folder" / NAME).stat().st_size == first.length + second.length


def test_a_table_of_many_pieces_is_written_as_one(tmp_path: Path) -> None:
    pieces = pa.concat_tables([table(time) for time in range(50)])
    (segment,) = write(tmp_path, Delta("u", "p", pieces))
    assert read_segments(LOCAL, str(tmp_path), [segment]).column("time").num_chunks == 1


def test_equal_rows_give_equal_bytes_whatever_pieces_they_came_in(tmp_path: Path) -> None:
    one = write_deltas(LOCAL, str(tmp_path), state_name(1, 0, "a"), [Delta("u", "p", table(1, 2, 3))])
    pieces = pa.concat_tables([table(0, 1).slice(1), table(2, 3)])
    two = write_deltas(LOCAL, str(tmp_path), state_name(1, 0, "b"), [Delta("u", "p", pieces)])
    assert one[0].content == two[0].content
    assert one != two


def test_nothing_to_write_makes_no_file(tmp_path: Path) -> None:
    assert write(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_no_segments_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one"):
        read_segments(LOCAL, "/nowhere", [])
    with pytest.raises(ValueError, match="of one part"):
        read_segments(LOCAL, "/nowhere", write(tmp_path, Delta("u", "p", table(1)), Delta("u", "q", table(1))))
    assert read_parts(LOCAL, "/nowhere", {("u", "p"): []}) == {}


def test_a_name_is_used_once(tmp_path: Path) -> None:
    write(tmp_path, Delta("u", "p", table(1)))
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(StateError, match=rf"/{NAME}: expected no such file yet, but found one. .* a name of its own"):
        write(tmp_path, Delta("u", "p", table(2)))
    assert (tmp_path / NAME).read_bytes() == before


@pytest.mark.parametrize("name", ["x.arrow", ".tmp-" + NAME, "000000000001.json", "../" + NAME])
def test_a_name_that_no_sweep_knows_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="state_name"):
        write_deltas(LOCAL, str(tmp_path), name, [Delta("u", "p", table(1))])


def test_rows_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    class Broken:
        num_rows = 1

        def combine_chunks(self) -> pa.Table:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(tmp_path, Delta("u", "p", table(1)), Delta("u", "p", Broken()))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_named_with_its_unit(tmp_path: Path) -> None:
    segments = write(tmp_path, Delta("sum", "panes", table(1)), Delta("join", "left", table(1)))
    (tmp_path / NAME).unlink()
    with pytest.raises(StateError) as caught:
        read_parts(LOCAL, str(tmp_path), {segment.key: [segment] for segment in segments})
    for word in (NAME, "'sum'", "'panes'", "and 1 more", "expected a file", "found none", "Restore it"):
        assert word in str(caught.value)


def test_columns_that_changed_are_refused(tmp_path: Path) -> None:
    segments = write(tmp_path, Delta("u", "p", table(1)), Delta("u", "p", pa.table({"other": [1]})))
    with pytest.raises(StateError) as caught:
        read_segments(LOCAL, str(tmp_path), segments)
    for word in ("unit 'u', part 'p'", "columns ['time', 'text']", "Schema at index 1 was different", "replaces the"):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_rows_are_refused(tmp_path: Path) -> None:
    """The checksum fits, so these are the bytes that were written."""
    (tmp_path / NAME).write_bytes(b"12" + b"no rows")
    wrong = Segment("u", "p", NAME, 2, 7, zlib.crc32(b"no rows"), 3, None, replace=False)
    place = rf"{NAME}, bytes 2 to 9 \(state of unit 'u', part 'p'\)"
    says = f"{place}: expected an Arrow stream, but found Expected to .*. Restore it"
    with pytest.raises(StateError, match=says):
        read_segments(LOCAL, str(tmp_path), [wrong])


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_every_damaged_bit_and_every_cut_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("state")
    segments = write(folder, Delta("sum", "panes", table(*range(20))), Delta("join", "left", table(5)))
    file = folder / NAME
    whole = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1), label="byte")
    if data.draw(st.booleans(), label="cut"):
        damaged = whole[:at]
    else:
        whole[at] ^= 1 << data.draw(st.integers(0, 7), label="bit")
        damaged = whole
    file.write_bytes(bytes(damaged))
    # What is whole still reads; what is not says so, and says what it was.
    unhurt = [one for one in segments if one.offset + one.length <= at or (one.offset > at and len(damaged) > at)]
    for segment in segments:
        if segment in unhurt:
            assert read_segments(LOCAL, str(folder), [segment]).num_rows == segment.rows
        else:
            with pytest.raises(StateError, match=rf"{NAME}.*unit '{segment.unit}'.*(cut off|damaged). Restore it"):
                read_segments(LOCAL, str(folder), [segment])


def test_a_segment_that_does_not_fit_its_file_is_refused(tmp_path: Path) -> None:
    (segment,) = write(tmp_path, Delta("u", "p", table(1, 2)))
    lie = Segment("u", "p", NAME, 0, segment.length, segment.checksum, 3, None, replace=False)
    says = (
        rf"{NAME}, bytes 0 to {segment.length} .*: expected 3 rows, but found 2: the commit does not fit.* Restore it"
    )
    with pytest.raises(StateError, match=says):
        read_segments(LOCAL, str(tmp_path), [lie])


def test_live_rows_are_those_not_below_the_bound() -> None:
    assert live_rows(table(3, 1, 2, 3), "time", 2)["time"].to_pylist() == [3, 2, 3]
    assert live_rows(table(3, 1), "time", None)["time"].to_pylist() == [3, 1]


def test_newest_is_the_latest_time() -> None:
    assert newest_of(table(3, 9, 1), "time") == 9
    assert newest_of(table(), "time") is None
    with pytest.raises(ValueError, match="int64"):
        newest_of(pa.table({"time": [1.5]}), "time")
    with pytest.raises(ValueError, match="1 nulls"):
        newest_of(pa.table({"time": pa.array([None, 2], pa.int64())}), "time")


def test_segments_and_errors_travel_between_processes(tmp_path: Path) -> None:
    (segment,) = write(tmp_path, Delta("u", "p", table(1)))
    assert pickle.loads(pickle.dumps(segment)) == segment
    error = StateError("place", "this", "that", "Do so.")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, DroverError)
    assert str(again) == str(error) == "place: expected this, but found that. Do so."
