"""Names and text in SQL: whatever characters they have, they stay one name and one literal."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from drover.flow.tables.dialect import literal, quote

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@given(name=TEXT, text=TEXT)
def test_quotes_keep_names_and_text_whole(name: str, text: str) -> None:
    with sqlite3.connect(":memory:") as connection:
        cursor = connection.execute(f"SELECT {literal(text)} AS {quote(name)}")
        assert [column[0] for column in cursor.description] == [name]
        assert cursor.fetchall() == [(text,)]
    connection.close()
