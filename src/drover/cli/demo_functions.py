"""The two user functions of the demo: pseudonyms for clients, and seals for requests. Both are heavy on purpose.

Rule 1: the cost of a row is the number of its rounds, as in a password file, which stores the rounds with each hash.
"""

from __future__ import annotations

from hashlib import pbkdf2_hmac
from typing import Final

import polars as pl

from drover.network.functions import function

KEY: Final = b"the key of this demo, which anybody may know"
LENGTH: Final = 12  # bytes


def slow_hash(text: str, salt: str, rounds: int) -> str:
    """Return a hash that takes so many rounds to compute."""
    return pbkdf2_hmac("sha256", text.encode(), KEY + salt.encode(), rounds, LENGTH).hex()


@function(
    {"ts": "timestamp", "visitor": "string", "url": "string", "status": "int", "bytes": "bigint"},
    time="ts",
    cost="heavy",
)
def pseudonyms(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the requests with a pseudonym instead of the client, another one in every minute."""
    cells = rows.select("client", pl.col("ts").dt.truncate("1m").cast(pl.String), "rounds").iter_rows()
    visitors = [slow_hash(client, minute, rounds) for client, minute, rounds in cells]
    return rows.select("ts", pl.Series("visitor", visitors, dtype=pl.String), "url", "status", "bytes")


@function({"ts": "timestamp", "client": "string", "url": "string", "seal": "string"}, time="ts", cost="heavy")
def seals(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the requests with a seal, which changes with any part of them."""
    cells = rows.select("ts", "client", "url", "status", "bytes", "rounds").iter_rows()
    found = [
        slow_hash(f"{ts}|{client}|{url}|{status}|{size}", "seal", rounds)
        for ts, client, url, status, size, rounds in cells
    ]
    return rows.select("ts", "client", "url", pl.Series("seal", found, dtype=pl.String))
