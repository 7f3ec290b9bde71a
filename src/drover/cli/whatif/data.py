"""The output for programs: one JSON object, and tables in files."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import polars as pl

from drover.cli.whatif.answer import SimulationReport, VariantResult
from drover.cli.whatif.scenario import Scenario
from drover.cli.whatif.text import changes, event_nodes, sentence
from drover.errors import DroverError, shorten
from drover.sim.table_files import write_table

VARIANTS: Final = "variants"


def as_data(answer: SimulationReport) -> dict[str, object]:
    """Return the JSON object: unknown values are null, times are seconds, loads are busy seconds per second."""
    scenario = answer.scenario
    found: dict[str, object] = {
        "network": scenario.model.profile.network.name,
        "nodes": scenario.cluster.n,
        "seconds": scenario.seconds,
        "warmup": scenario.warmup,
        "seed": scenario.seed,
        "mode": scenario.mode,
        "schedule": scenario.schedule,
        "plan": dict(scenario.plan.node_of),
        "rates": scenario.rates(),
        "changes": list(changes(scenario)),
        "events": _events(scenario),
        "answer": sentence(answer),
        "best": answer.best.variant.name,
        "variants": [_variant(scenario, result) for result in answer.results],
        "known": scenario.model.profile.counts(),
    }
    return {name: _plain(value) for name, value in found.items()}


def _events(scenario: Scenario) -> list[dict[str, object]]:
    return [
        {"event": type(what).__name__.lower(), "node": node, "at": what.at}
        for what, node in zip(scenario.cluster.node_events, event_nodes(scenario), strict=True)
    ]


def _variant(scenario: Scenario, result: VariantResult) -> dict[str, object]:
    return {
        "variant": result.variant.name,
        **result.outcome.summary,
        "overloaded_seconds": result.overloaded,
        "overloads": [asdict(each) for each in result.overloads],
        "busiest": result.busiest,
        "utilisation": list(result.utilisation),
        "node_of": dict(zip(scenario.model.units, result.outcome.places, strict=True)),
        "outputs": result.outcome.outputs.to_dicts(),
        "moved": result.outcome.moves.to_dicts(),
    }


def _plain(value: Any) -> Any:  # Any: JSON
    """Return the value with null for every number that JSON cannot express."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value


def write(answer: SimulationReport, folder: str, form: str) -> None:
    """Write a table of all variants into a folder, and the tables of each variant into a subfolder."""
    try:
        for result in answer.results:
            result.outcome.write(Path(folder) / result.variant.name.replace(":", "-"), form)
        rows = [{"variant": each.variant.name, **each.outcome.summary_json()} for each in answer.results]
        table = pl.DataFrame(rows, infer_schema_length=None)
        write_table(table, Path(folder), VARIANTS, form)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DroverError(
            f"--out is {shorten(folder)}, but the folder must be writable ({reason}). Name another one."
        ) from error
