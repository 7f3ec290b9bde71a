from __future__ import annotations

import asyncio
import io

import pytest

from drover.agents.lines import WARNINGS, LineRunner


def serve(text: bytes) -> tuple[list[str], list[str]]:
    """Return the numbers and the warnings that an input leads to, until it ends."""
    numbers: list[str] = []
    warned: list[str] = []
    runner = LineRunner(lambda _: None, warned.append, io.BytesIO(text))
    asyncio.run(runner.serve(numbers.append))
    return numbers, warned


@pytest.mark.parametrize(
    ("text", "numbers", "ignored"),
    [
        pytest.param(b"stopped 1.2\n", ["1.2"], 0, id="an acknowledgement"),
        pytest.param(b"  stopped   1.2 \r\n\n\n", ["1.2"], 0, id="spaces and empty lines"),
        pytest.param(b"stopped 1.2\nstopped 1.2\n", ["1.2", "1.2"], 0, id="twice: the ledger decides"),
        pytest.param(b"stopped mean\nstopped\nhello\n", [], 3, id="no number"),
        pytest.param(b"stopped 1.2", [], 1, id="a cut line could have had a longer number"),
        pytest.param(
            b" " * 989 + b"stopped 1.23\n", [], 1, id="an overlong line counts neither as a whole nor in parts"
        ),
        pytest.param(b"\xff\xfe\nstopped \xd9\xa1.\xd9\xa2\n", [], 2, id="other digits and no text"),
    ],
)
def test_lines_of_a_runner(text: bytes, numbers: list[str], ignored: int) -> None:
    found, warned = serve(text)
    assert found == numbers
    assert len(warned) == ignored


def test_what_is_not_understood_is_reported_with_the_way_out_and_not_for_ever() -> None:
    _, warned = serve(b"hello\n" * 2 * WARNINGS)
    assert warned == ["the line 'hello' on standard input is ignored. Write: stopped NUMBER."] * WARNINGS
