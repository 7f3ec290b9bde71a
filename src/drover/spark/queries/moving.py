"""Moves by hand: whoever names something names a unit of the network, or else a query."""

from __future__ import annotations

from drover.errors import DroverError, nearest, shorten
from drover.placement.plan import Plan
from drover.spark.controller import Controller
from drover.spark.queries.office import Office
from drover.spark.routes import REQUESTS, Answer, Fields


def move(controller: Controller, office: Office, name: str, node: int) -> Plan:
    """Move a unit or a query to a node, with its state, from the next batch on; return the plan, which has units."""
    plan, queries = controller.status.plan, office.clerk.names.by_name
    if name in plan.places or not queries:
        return controller.move(name, node)
    if name not in queries:
        hint = nearest(name, [*plan.places, *queries])
        raise DroverError(f"there is no unit and no query {shorten(name)}. {hint}See drover status and drover queries.")
    office.move(name, node)
    return plan


def answer_move(controller: Controller, office: Office, fields: Fields) -> Answer:
    """Move a unit or a query, as a request asks."""
    name, node = fields["unit"], fields["node"]
    if name in controller.status.plan.places:
        return REQUESTS["move"].answer(controller, fields)
    plan = move(controller, office, name, node)
    return {"query": name, "node": node, "plan": plan.number}
