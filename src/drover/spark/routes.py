"""The requests that a run answers, as JSON: one table for the endpoint, for stopped runs and for commands.

Rule 1: a request has a name and a few typed fields. Wrong fields are refused before anything is done.
Rule 2: an answer has everything that a command shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from drover.control.batch_headroom import to_json as headroom_to_json
from drover.control.engine_choice import EngineInUse
from drover.control.record import PeriodOutcome, proposal_to_json, to_json
from drover.errors import DroverError, nearest, shorten
from drover.spark.controller import Controller
from drover.spark.row_totals import to_json as totals_to_json

Answer = dict[str, Any]  # Any: JSON
Fields = Mapping[str, Any]
TEXT_OF: Final = {int: "a whole number", str: "text", bool: "true or false", list: "a list"}
LARGEST: Final = 64 * 1024  # bytes of a request's body, far more than the longest names need
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One kind of request; `answer` gets the object that can answer it, and the fields."""

    answer: Callable[[T, Fields], Answer]
    changes: bool = False  # whether it may change the run
    largest: int = LARGEST
    needs: Mapping[str, type] = field(default_factory=dict)
    takes: Mapping[str, type] = field(default_factory=dict)  # optional fields

    def read(self, given: Mapping[str, object]) -> Fields:
        """Return the fields with their types; DroverError if one is unknown, missing or of another type."""
        known = {**self.needs, **self.takes}
        for name in given:
            if name not in known:
                raise DroverError(
                    f"field {shorten(name)} is not known. {nearest(name, known)}Known: {', '.join(known) or 'none'}."
                )
        for name in self.needs:
            if name not in given:
                raise DroverError(f"field {name} is missing, but must be {TEXT_OF[known[name]]}. Add it.")
        return MappingProxyType({name: _typed(name, known[name], value) for name, value in given.items()})


def _typed(name: str, kind: type, value: object) -> object:
    if kind is int and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)  # from the query of a URL
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        raise DroverError(f"field {name} is {shorten(value)}, but must be {TEXT_OF[kind]}. Correct it.")
    return value


def _status(controller: Controller, _fields: Fields) -> Answer:
    found = controller.status
    return {
        "network": found.network,
        "mode": str(found.mode),
        "period": found.period,
        "plan": {"number": found.plan.number, "nodes": found.plan.nodes, "node_of": found.plan.places},
        "drained": list(found.drained),
        "last": None if found.last is None else to_json(found.last),
        "waiting": None if found.waiting is None else proposal_to_json(found.waiting),
        "approved": None if found.approved is None else proposal_to_json(found.approved),
        "failure": found.failure,
        "running_long": [{**asdict(one), "seconds": round(seconds, 1)} for one, seconds in found.running_long],
        "parked": [{"operator": name, **asdict(one)} for name, one in found.parked.items()],
        "totals": totals_to_json(found.totals),
        "capacity": list(found.capacity),
        "engine": None if found.engine is None else _engine(found.engine),
    }


def _engine(found: EngineInUse) -> Answer:
    return {"name": str(found.engine), "why": found.why, "encrypted_by": found.encrypted_by}


def _history(controller: Controller, fields: Fields) -> Answer:
    records = controller.past(fields.get("last", 20))
    return {"network": controller.status.network, "records": [to_json(record) for record in records]}


def _explain(controller: Controller, fields: Fields) -> Answer:
    return asdict(controller.explain(fields["unit"]))


def _proposal(controller: Controller, _fields: Fields) -> Answer:
    found = controller.proposal()
    status = controller.status
    record = to_json(found.record)
    return {
        "network": status.network,
        "mode": str(status.mode),
        "period": status.period,
        "proposal": None if found.proposal is None else proposal_to_json(found.proposal),
        "waits": found.waits,
        "approved": None if status.approved is None else status.approved.id,
        "kind": str(found.record.kind),
        "reason": found.record.reason,
        "refused": record["proposal"] if found.record.kind is PeriodOutcome.REFUSED else None,
        "refusals": record["refusals"],
        "loads": record["loads"],
        "node_of": status.plan.places,
    }


def _headroom(controller: Controller, _fields: Fields) -> Answer:
    found = controller.headroom()
    status = controller.status
    return {"network": status.network, "headroom": None if found is None else headroom_to_json(found)}


def _apply(controller: Controller, fields: Fields) -> Answer:
    record = controller.approve(fields["id"])
    return {"applied": fields["id"], "plan": controller.status.plan.number, "record": to_json(record)}


def _mode(controller: Controller, fields: Fields) -> Answer:
    before = controller.settings.mode
    return {"before": str(before), "mode": str(controller.change(mode=fields["mode"]).mode)}


def _drain(controller: Controller, fields: Fields) -> Answer:
    node = fields["node"]
    empty = fields.get("empty", True)
    controller.drain(node, empty=empty)
    status = controller.status
    units = [unit for unit, where in status.plan.places.items() if where == node]
    return {"node": node, "empty": empty, "drained": list(status.drained), "mode": str(status.mode), "units": units}


def _move(controller: Controller, fields: Fields) -> Answer:
    plan = controller.move(fields["unit"], fields["node"])
    return {"unit": fields["unit"], "node": fields["node"], "plan": plan.number}


def _resume(controller: Controller, fields: Fields) -> Answer:
    operator = fields["operator"]
    return {"operator": operator, **asdict(controller.resume(operator))}


def _spread(controller: Controller, fields: Fields) -> Answer:
    join = fields["join"]
    plan = controller.spread(join, fields["spread"])
    made = plan.instances[join]
    rows, columns = made.epochs[-1].grid
    nodes = [plan.node_of[join], *made.others][: rows * columns]
    return {"join": join, "spread": str(made.asked), "grid": [rows, columns], "nodes": nodes, "plan": plan.number}


REQUESTS: Final[Mapping[str, Request[Controller]]] = {
    "status": Request(_status),
    "history": Request(_history, takes={"last": int}),
    "explain": Request(_explain, needs={"unit": str}),
    "proposal": Request(_proposal),
    "headroom": Request(_headroom),
    "apply": Request(_apply, changes=True, needs={"id": str}),
    "mode": Request(_mode, changes=True, needs={"mode": str}),
    "drain": Request(_drain, changes=True, needs={"node": int}, takes={"empty": bool}),
    "move": Request(_move, changes=True, needs={"unit": str, "node": int}),
    "resume": Request(_resume, changes=True, needs={"operator": str}),
    "spread": Request(_spread, changes=True, needs={"join": str, "spread": str}),
}
