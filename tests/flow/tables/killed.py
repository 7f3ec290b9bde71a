"""A writer that tells when it is in the midst of a transaction and then waits to be killed."""

from __future__ import annotations

import sys
import time

from drover.flow.tables import Address, statements
from tests.flow.tables.test_store import KEPT, rows, writer


def main(uri: str) -> None:
    """Write a thousand rows up to, and without, the commit."""
    store = writer(Address(uri))
    connection = store.dialect.connect(store.address)
    staged = store.dialect.stage(rows(range(1000), 9), [column.type for column in KEPT.columns])
    with connection.cursor() as cursor:
        cursor.adbc_ingest("drover stage", staged.rows, mode="replace", temporary=True)
        cursor.executescript(store.dialect.begin)
        cursor.executescript(statements.upsert(KEPT, store.name, staged.values, "ts", store.dialect))
        sys.stdout.write("written\n")
        sys.stdout.flush()
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1])
