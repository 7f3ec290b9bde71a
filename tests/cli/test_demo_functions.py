from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from drover.cli.demo_functions import pseudonyms, seals, slow_hash

ROWS = pl.DataFrame(
    {
        "ts": [datetime(1995, 8, 1, 0, minute, second, tzinfo=UTC) for minute, second in ((0, 1), (0, 59), (1, 0))],
        "client": ["h1", "h1", "h1"],
        "url": ["/a", "/b", "/a"],
        "status": [200, 404, 200],
        "bytes": [10, None, 10],
        "rounds": [2, 2, 2],
    }
)


def test_a_client_has_one_pseudonym_per_minute() -> None:
    found = pseudonyms(ROWS)
    assert found.columns == ["ts", "visitor", "url", "status", "bytes"]
    first, second, third = found["visitor"]
    assert first == second != third
    assert "h1" not in first


def test_every_request_has_a_seal_of_its_own() -> None:
    found = seals(ROWS)
    assert found.columns == ["ts", "client", "url", "seal"]
    assert found["seal"].n_unique() == 3
    changed = ROWS.with_columns(status=pl.lit(500))
    assert not set(found["seal"]) & set(seals(changed)["seal"])


def test_more_rounds_give_another_hash() -> None:
    assert slow_hash("a", "salt", 2) == slow_hash("a", "salt", 2) != slow_hash("a", "salt", 3)
