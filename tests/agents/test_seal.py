from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.agents.host import Host
from drover.agents.seal import SealError, read_token, seal_of
from drover.errors import DroverError, StateError
from drover.hierarchy.messages import Clear, Start, Stop

SEAL = seal_of(b"a token of sixteen bytes", "digest")
CLEAR = Clear(1, 2, (1, 1, 1))


def test_a_line_is_opened_by_who_has_the_token_and_the_tree() -> None:
    line = SEAL.close(CLEAR)
    assert SEAL.open(line) == CLEAR
    for other in (seal_of(b"another token of 16 bytes", "digest"), seal_of(b"a token of sixteen bytes", "other")):
        with pytest.raises(SealError, match="another token, or another tree file"):
            other.open(line)


@given(st.data())
def test_a_line_that_was_touched_is_not_opened(data: st.DataObject) -> None:
    line = bytearray(SEAL.close(CLEAR))
    at = data.draw(st.integers(0, len(line) - 2))
    line[at] ^= data.draw(st.integers(1, 127))
    with contextlib.suppress(SealError):
        assert SEAL.open(bytes(line)) == CLEAR, "at most its notation has changed"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"\xff\xff",
        b"[]",
        b"{}",
        b'{"code": 1, "message": 2}',
        '{"code": "é", "message": "x"}'.encode(),
        b"[" * 100_000,
        json.dumps({"code": SEAL._code("nonsense"), "message": "nonsense"}).encode(),
    ],
)
def test_anything_else_is_refused_without_a_traceback(line: bytes) -> None:
    with pytest.raises(SealError):
        SEAL.open(line)


def test_a_token_is_long_and_kept_to_oneself(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\n")
    with pytest.raises(DroverError, match="chmod 600"):
        read_token(str(path))
    path.chmod(0o600)
    assert read_token(str(path)) == b"0123456789abcdef"
    with pytest.raises(DroverError, match="5 bytes"):
        seal_of(b"short", "digest")
    with pytest.raises(DroverError, match="cannot be read"):
        read_token(str(tmp_path / "none"))


def test_a_fence_keeps_a_second_runner_out(tmp_path: Path) -> None:
    told: list[dict[str, object]] = []
    first, second = (Host(("mean", "alarm"), told.append, tmp_path) for _ in range(2))
    first.do([Start((0, 1))])
    with pytest.raises(StateError, match="mean to run nowhere else"):
        second.do([Start((0,))])
    first.do([Stop((0,))])
    second.do([Start((0,))])
    first.close()
    assert told == [
        {"started": ["mean", "alarm"]},
        {"stopped": ["mean"]},
        {"started": ["mean"]},
        {"stopped": ["alarm"]},
    ]


def test_what_runs_is_said_to_stop_in_the_end_with_and_without_a_fence() -> None:
    told: list[dict[str, object]] = []
    host = Host(("mean", "alarm"), told.append)
    host.do([Start((0, 1)), Stop((1,))])
    host.close()
    assert told[-1] == {"stopped": ["mean"]}


def test_a_fence_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="Name a folder for --fence"):
        Host(("mean",), lambda _: None, tmp_path / "file")
    (tmp_path / "fence" / "0.lock").mkdir(parents=True)
    with pytest.raises(StateError, match="a file to lock"):
        Host(("mean",), lambda _: None, tmp_path / "fence").do([Start((0,))])
