from __future__ import annotations

import pytest

from drover.network.columns import KeyPair, parse_key


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        pytest.param("host", KeyPair("host", "host"), id="one name is the same on both sides"),
        pytest.param("host = name", KeyPair("host", "name"), id="two names"),
        pytest.param("`host`=`name`", KeyPair("host", "name"), id="backticks are no part of a name"),
    ],
)
def test_a_key_is_read_and_written(text: str, pair: KeyPair) -> None:
    assert parse_key(text) == pair
    assert parse_key(str(pair)) == pair
