"""Small scenarios of `drover simulate`, for tests."""

from __future__ import annotations

from pathlib import Path

from drover.cli.simulate import simulate
from drover.cli.whatif.answer import SimulationReport, run
from drover.cli.whatif.scenario import Options, Scenario, read_scenario

TRAFFIC = str(Path(__file__).parents[3] / "examples" / "traffic.yaml")


def scenario_of(options: str) -> Scenario:
    """The scenario that a command line describes."""
    words = simulate.make_context("simulate", [TRAFFIC, *options.split()]).params
    return read_scenario(Options(**{name: words[name] for name in Options.__slots__}))


def report_of(options: str) -> SimulationReport:
    """The result of simulating it."""
    scenario = scenario_of(options)
    return SimulationReport(scenario, tuple(run(scenario, variant) for variant in scenario.variants))
