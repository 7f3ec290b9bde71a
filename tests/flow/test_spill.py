"""Large frames for the driver travel as files: the same rows arrive, and nothing stays behind."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyarrow.fs import LocalFileSystem

from drover.errors import StateError
from drover.flow.frames import DRIVER, Frame, pack, stream_port, unpack
from drover.flow.schedule import HopNode
from drover.flow.spill import INLINE, SPILL_BYTES, discard, fetch, spill
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.layout import state_name
from drover.flow.state.retention import sweep

NAME = state_name(3, 0, "rows-a1")
ROWS = pl.DataFrame({"x": range(INLINE), "s": ["text"] * INLINE})


def frames_of(rows: pl.DataFrame, hop: int = DRIVER) -> list[Frame]:
    return list(pack(rows, stream_port("out"), [HopNode(hop, 0)], origin=0, most=SPILL_BYTES))


def stored(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.is_file())


def test_much_goes_through_a_file_and_comes_back_the_same(tmp_path: Path) -> None:
    sent = spill(frames_of(ROWS), str(tmp_path), NAME)
    assert len(sent) > 1
    assert sum(len(frame.payload) for frame in sent) < 1000
    found, files = fetch(reversed(sent), str(tmp_path))
    assert files == {NAME}
    assert_frame_equal(unpack(found, rechunk=False)[stream_port("out")], ROWS)
    discard(files, str(tmp_path))
    assert stored(tmp_path) == []


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(frames_of(ROWS.head(10)), id="little for the driver"),
        pytest.param(frames_of(ROWS, hop=1), id="much for a later hop"),
        pytest.param([], id="nothing"),
    ],
)
def test_the_rest_is_sent_as_it_is(tmp_path: Path, sent: list[Frame]) -> None:
    assert spill(sent, str(tmp_path), NAME) == sent
    assert fetch(sent, str(tmp_path)) == (sent, frozenset())
    assert stored(tmp_path) == []


def test_a_later_hop_passes_on_what_was_written(tmp_path: Path) -> None:
    sent = spill(frames_of(ROWS), str(tmp_path), NAME)
    more = pl.DataFrame({"x": range(INLINE)})
    again = spill(
        [*sent, *pack(more, stream_port("more"), [HopNode(DRIVER, 1)], origin=1)], str(tmp_path), state_name(3, 0, "b2")
    )
    assert again[: len(sent)] == sent
    found, files = fetch(again, str(tmp_path))
    assert len(files) == 2
    assert_frame_equal(unpack(found)[stream_port("more")], more)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        pytest.param(lambda data: data[:-1], "cut off", id="cut off"),
        pytest.param(lambda data: data[:-9] + b"!" + data[-8:], "damaged", id="a changed byte"),
    ],
)
def test_damage_is_reported_and_the_file_named(tmp_path: Path, damage: object, says: str) -> None:
    assert callable(damage)
    sent = spill(frames_of(ROWS), str(tmp_path), NAME)
    (path,) = tmp_path.rglob(NAME)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError, match=says) as caught:
        fetch(sent, str(tmp_path))
    assert NAME in str(caught.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    sent = spill(frames_of(ROWS), str(tmp_path), NAME)
    discard([NAME], str(tmp_path))
    discard([NAME], str(tmp_path))  # to do it twice is no error
    with pytest.raises(StateError, match=NAME):
        fetch(sent, str(tmp_path))


def test_what_a_crash_leaves_is_swept(tmp_path: Path) -> None:
    fs = LocalFileSystem()
    root = str(tmp_path)
    spill(frames_of(ROWS), root, NAME)
    checkpoint = Checkpoint()
    for batch in range(6):
        checkpoint = commit(fs, root, checkpoint, Commit(batch, (), {}, notes={}))
    sweep(fs, root, keep=2)
    assert NAME not in stored(tmp_path)
