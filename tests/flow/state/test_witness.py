"""The witness: it comes back as it was written, and says nothing if it is gone or damaged."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from drover.flow.state.documents import seal
from drover.flow.state.storage import open_root
from drover.flow.state.witness import WITNESS, Witness, read_witness, write_witness

SEEN = Witness(7, "0a" * 16, begun=True, files={"network.yaml": "1c8a073540fe0bda", "plans/000000000008.json": ""})


def test_a_witness_comes_back(tmp_path: Path) -> None:
    write_witness(*open_root(tmp_path), Witness())
    write_witness(*open_root(tmp_path), SEEN)
    assert read_witness(*open_root(tmp_path)) == SEEN
    assert [path.name for path in tmp_path.iterdir()] == [WITNESS]


def test_a_checkpoint_may_have_no_witness(tmp_path: Path) -> None:
    assert read_witness(*open_root(tmp_path)) is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty, as after a power cut"),
        pytest.param(b'{"checksum":', id="cut off"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(seal({"batch": 1})[0], id="whole, but another document"),
        pytest.param(seal({"batch": 1, "link": "", "begun": False, "files": 3})[0], id="whole, but wrong types"),
    ],
)
def test_a_damaged_witness_is_ignored_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    (tmp_path / WITNESS).write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert read_witness(*open_root(tmp_path)) is None
    assert WITNESS in caplog.text or "witness" in caplog.text
