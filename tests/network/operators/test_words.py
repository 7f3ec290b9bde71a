from __future__ import annotations

from drover.network.columns import Named
from drover.network.operators.words import computed


def test_a_column_that_keeps_its_name_is_not_repeated() -> None:
    columns = (Named("ts", "ts"), Named("key", "`key`"), Named("kb", "bytes / 1024"))
    assert computed(columns) == "ts, key, kb = bytes / 1024"
