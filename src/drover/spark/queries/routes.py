"""The requests about queries that an endpoint answers, as JSON.

Rule 1: nothing here imports Spark, because the commands on a stopped run use this table, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from drover.spark.queries.listing import to_json
from drover.spark.routes import Answer, Fields, Request

if TYPE_CHECKING:
    from drover.spark.queries.service import QueryService

MOST_REFUSALS: Final = 1_000  # in one answer
LARGEST: Final = 64 * 2**20  # bytes of queries in one request


def _submit(queries: QueryService, fields: Fields) -> Answer:
    receipt = queries.submit(fields["queries"], atomic=fields.get("atomic", False))
    return {
        "accepted": len(receipt.accepted),
        "refused": len(receipt.refused),
        "refusals": [refusal.json() for refusal in receipt.refused[:MOST_REFUSALS]],
    }


def _drop(queries: QueryService, fields: Fields) -> Answer:
    names = [str(name) for name in fields.get("names", [])]
    dropped = queries.drop(names, tenant=fields.get("tenant"), every=fields.get("all", False))
    return {"dropped": len(dropped)}


def _queries(queries: QueryService, fields: Fields) -> Answer:
    return to_json(queries.table(fields.get("tenant")))


QUERY_ROUTES: Final[Mapping[str, Request[QueryService]]] = {
    "submit": Request(_submit, changes=True, largest=LARGEST, needs={"queries": list}, takes={"atomic": bool}),
    "drop": Request(_drop, changes=True, largest=LARGEST, takes={"names": list, "tenant": str, "all": bool}),
    "queries": Request(_queries, takes={"tenant": str}),
}
