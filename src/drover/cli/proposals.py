"""The output of `drover plan --from CHECKPOINT`: the change of plan that a run proposes, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from drover.cli.headroom import table
from drover.errors import visible
from drover.wording import count

SHOWN: Final = 60  # characters of a node's units, and moves of a plan

Json = Mapping[str, Any]  # Any: JSON


def describe_run_state(answer: Json) -> str:
    """Return in words whether a run is running, and where the answer comes from."""
    if answer["running"] is None:
        return (
            "as last written (drover cannot tell whether it is running, because the checkpoint is not on a local disk)"
        )
    if not answer["running"]:
        return "stopped"
    return "running" if answer["live"] else "running without an endpoint, so this is from its checkpoint"


def describe_move(move: Json) -> str:
    """Return a move in words."""
    start = "new" if move["source"] is None else f"node {move['source']}"
    return f"{visible(move['unit'])}: {start} -> node {move['target']}, {move['bytes']:,.0f} bytes"


def units_by_node(node_of: Mapping[str, int], nodes: int) -> list[str]:
    """Return the names of the units of each node, cut to SHOWN characters."""
    found: list[list[str]] = [[] for _ in range(nodes)]
    for unit, node in node_of.items():
        found[node].append(visible(unit))
    texts = (", ".join(units) for units in found)
    return [text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..." for text in texts]


def lines(answer: Json, checkpoint: str) -> Iterator[str]:
    """Yield the output for people."""
    name = visible(answer["network"])
    found = answer["proposal"]
    yield f"{name}, {describe_run_state(answer)}, mode {answer['mode']}, period {answer['period']}: {_headline(answer)}"
    if answer["approved"] is not None:
        approved = visible(answer["approved"])
        yield f"{approved} is approved and will be applied when the run starts; applying another one replaces it"
    shown = found or answer["refused"]
    if shown is not None:
        yield from _body(answer, shown)
    yield from _refusals(answer["refusals"])
    if found is not None:
        yield ""
        yield f"to apply it: drover apply {visible(found['id'])} --from {visible(checkpoint)}"


def _headline(answer: Json) -> str:
    found = answer["proposal"]
    if found is None:
        return f"nothing to apply, since {visible(answer['reason'])}"
    of = f"{count(len(found['moves']), 'move')}, {sum(move['bytes'] for move in found['moves']):,.0f} bytes"
    how = (
        "waits to be applied"
        if answer["waits"]
        else "is on trial"
        if answer["kind"] == "on trial"
        else "was made on request and has not been on trial"
    )
    return f"proposal {visible(found['id'])} ({of}) {how}"


def _body(answer: Json, found: Json) -> Iterator[str]:
    yield ""
    after = {**answer["node_of"], **{move["unit"]: move["target"] for move in found["moves"]}}
    units = units_by_node(after, found["nodes"])
    rows = [
        [str(node), f"{before:.1%}", f"{then:.1%}", units[node] or "-"]
        for node, (before, then) in enumerate(zip(found["before"], found["after"], strict=True))
    ]
    yield from table(["node", "before", "after", "units after"], rows)
    yield ""
    for shape in found.get("shapes", ()):
        (rows, columns) = shape["before"]
        (then_rows, then_columns) = shape["after"]
        if shape["before"] == shape["after"] and shape.get("asked") is None:
            yield f"join {visible(shape['join'])}: other weights, spread {rows} x {columns} as before"
        else:
            yield f"join {visible(shape['join'])}: spread {then_rows} x {then_columns} instead of {rows} x {columns}"
    for move in found["moves"][:SHOWN]:
        yield describe_move(move)
    if len(found["moves"]) > SHOWN:
        yield f"... and {len(found['moves']) - SHOWN} more moves"
    yield ""
    yield f"why: {visible(found['reason'])}"
    yield f"cost: {found['cost']:.2g} s, once; from plan {found['base']}, made in period {found['period']}"
    if found.get("seconds_after"):
        yield f"promise: a batch takes {found['seconds_after']:.2g} s instead of {found['seconds_before']:.2g} s"
    for goal in found["goals"]:
        yield f"goal: {visible(goal)}"
    share = found["measured"]
    yield f"measured: {'all costs' if share == 1 else f'{share:.0%} of the costs; the others are assumed'}"


def _refusals(refusals: Sequence[Json]) -> Iterator[str]:
    if refusals:
        yield ""
    for refusal in refusals[:SHOWN]:
        yield f"not moved: {describe_move(refusal['move'])}: {visible(refusal['reason'])}"
    if len(refusals) > SHOWN:
        yield f"... and {len(refusals) - SHOWN} more units that are not moved"
