"""Moves by request: the name is that of a unit of the network, or else that of a query."""

from __future__ import annotations

from drover.errors import DroverError, nearest, shorten
from drover.placement.plan import Plan
from drover.spark.controller import Controller
from drover.spark.queries.service import QueryService
from drover.spark.routes import REQUESTS, Answer, Fields


def move(controller: Controller, queries: QueryService, name: str, node: int) -> Plan:
    """Move a unit or a query with its state to a node, from the next batch on; return the plan of the units."""
    plan = controller.status.plan
    names = queries.names()
    # Without queries, the controller's error about an unknown unit is the one that helps.
    if name in plan.places or not names:
        return controller.move(name, node)
    if name not in names:
        hint = nearest(name, [*plan.places, *names])
        raise DroverError(f"there is no unit and no query {shorten(name)}. {hint}See drover status and drover queries.")
    queries.move(name, node)
    return plan


def answer_move(controller: Controller, queries: QueryService, fields: Fields) -> Answer:
    """Answer the request `move`."""
    name = fields["unit"]
    node = fields["node"]
    if name in controller.status.plan.places:
        return REQUESTS["move"].answer(controller, fields)
    plan = move(controller, queries, name, node)
    return {"query": name, "node": node, "plan": plan.number}
