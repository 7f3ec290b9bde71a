from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.agents.seal import SealError, make_seal, read_token
from drover.errors import DroverError
from drover.hierarchy.messages import Clear

SEAL = make_seal(b"a token of sixteen bytes", "digest")
CLEAR = Clear(1, 2, (1, 1, 1))


def test_a_line_is_opened_by_who_has_the_token_and_the_tree() -> None:
    line = SEAL.sign(CLEAR)
    assert SEAL.verify(line) == CLEAR
    for other in (make_seal(b"another token of 16 bytes", "digest"), make_seal(b"a token of sixteen bytes", "other")):
        with pytest.raises(SealError, match="another token or tree file"):
            other.verify(line)


@given(st.data())
def test_a_line_that_was_touched_is_not_opened(data: st.DataObject) -> None:
    line = bytearray(SEAL.sign(CLEAR))
    at = data.draw(st.integers(0, len(line) - 2))
    line[at] ^= data.draw(st.integers(1, 127))
    with contextlib.suppress(SealError):
        assert SEAL.verify(bytes(line)) == CLEAR, "at most its notation has changed"


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
        SEAL.verify(line)


def test_a_token_is_long_and_kept_to_oneself(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\n")
    with pytest.raises(DroverError, match="chmod 600"):
        read_token(str(path))
    path.chmod(0o600)
    assert read_token(str(path)) == b"0123456789abcdef"
    with pytest.raises(DroverError, match="5 bytes"):
        make_seal(b"short", "digest")
    with pytest.raises(DroverError, match="cannot be read"):
        read_token(str(tmp_path / "none"))
