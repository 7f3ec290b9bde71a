"""The output of `drover headroom --from CHECKPOINT`: how far a run can grow, by the model of its batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from drover.errors import visible
from drover.spark.caller import ask

Json = Mapping[str, Any]  # Any: JSON


def show_run_headroom(checkpoint: str | None, as_json: bool) -> None:
    """Print the headroom of the run on a checkpoint."""
    if checkpoint is None:
        raise click.UsageError("Missing NETWORK. For the headroom of a run, give --from CHECKPOINT instead.")
    answer = ask(checkpoint, "headroom")
    click.echo(json.dumps(answer, indent=2) if as_json else "\n".join(lines(answer)))


def lines(answer: Json) -> Iterator[str]:
    """Yield the output for people."""
    name = visible(answer["network"])
    room = answer["headroom"]
    if room is None:
        yield f"{name}: no batch was measured, or the cores are unknown. Let it run for some batches."
        return
    yield f"{name}: {visible(room['text'])}"
    trigger = "without a pause" if room["trigger"] is None else f"at a trigger of {room['trigger']:g} s"
    yield f"now a batch takes {room['seconds']:.2g} s {trigger}, by the model"
    for source, one in room["sources"].items():
        yield f"{visible(source)} alone: {visible(one['text'])}"
    if room["proposed"] is not None:
        yield f"with the proposed plan: {visible(room['proposed']['text'])}"
