"""The options --rates, --statistics and --capacity, which several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click
import numpy as np

from drover.cli.inputs import read_input
from drover.errors import nearest, shorten, visible
from drover.load.arrays import Floats
from drover.load.files import loads as statistics_of
from drover.load.profile import COST, RATE, SELECTIVITY, Origin, Profile, make_profile
from drover.load.statistics import MOST, Statistics
from drover.network.model import Network
from drover.network.schema import known

ASSUMED: Final = {
    "rates": f"{RATE:g} rows per second",
    "costs": f"{COST * 1e6:g} us per row",
    "selectivities": f"{SELECTIVITY:g} row out per row in",
}
CAPACITY: Final = 1.0  # busy seconds per second: a core

RATES_HELP: Final = "Rows per second of a source; overrides --statistics. Repeat the option for more sources."
CAPACITY_HELP: Final = "Busy seconds per second of every node, or of NODE alone [default: 1]. Repeat for more nodes."

F = TypeVar("F", bound=Callable[..., Any])


def load_options(command: F) -> F:
    """Add --rates, --statistics and --capacity to a command; it gets `rates`, `statistics` and `capacity`."""
    for option in (
        click.option("--capacity", multiple=True, metavar="[NODE=]C", help=CAPACITY_HELP),
        click.option("--statistics", metavar="FILE", help="Read rates, costs and selectivities from FILE."),
        click.option("--rates", "-r", multiple=True, metavar="SOURCE=R", help=RATES_HELP),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The load of a network, as far as the options describe it, and assumptions for the rest."""

    profile: Profile
    series: Mapping[str, tuple[float, ...]]  # rows per second in each period, by source without a rate in the options
    rates: Mapping[str, float]  # rows per second, by source with one


def read_load_options(network: Network, rates: Sequence[str], statistics: str | None) -> LoadOptions:
    """Return the load of a network according to these options; the file is read once."""
    given_rates = read_rates(network, rates)
    given = Statistics() if statistics is None else statistics_of(read_input(statistics), network)
    # The file describes joins at the rates of the file, so the rates of the command line are applied last.
    profile = make_profile(network, [(Origin.GIVEN, given), (Origin.GIVEN, Statistics(given_rates))]).at(given_rates)
    series = {name: values for name, values in given.series.items() if name not in given_rates}
    return LoadOptions(profile, series, given_rates)


def profile_of(network: Network, rates: Sequence[str], statistics: str | None) -> Profile:
    """Return the profile of a network according to these options, without series."""
    return read_load_options(network, rates, statistics).profile


def read_rates(network: Network, texts: Sequence[str]) -> dict[str, float]:
    """Return rows per second by source from texts such as `east=1000`."""
    names = [source.name for source in network.sources]
    rates: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise click.BadParameter(
                f"{shorten(text)} is not of the form SOURCE=RATE. Write for example {names[0]}=1000."
            )
        if name not in names:
            hint = visible(f"{nearest(name, names)}Known: {known(names)}.")
            raise click.BadParameter(f"{shorten(name)} is not a source of the network. {hint}")
        rates[name] = read_number(number, text, least_open=False)
    return rates


def read_capacity(texts: Sequence[str], nodes: int) -> Floats:
    """Return, (n,), busy seconds per second of each node from texts such as `0.5`, or `2=0.5` for node 2 alone."""
    capacity = np.full(nodes, CAPACITY)
    of_all = [text for text in texts if "=" not in text]
    for text in (*of_all, *(text for text in texts if "=" in text)):  # a value for one node overrides a value for all
        node, equals, number = text.rpartition("=")
        value = read_number(number, text, least_open=True)
        if not equals:
            capacity[:] = value
        elif node.isascii() and node.isdigit() and int(node) < nodes:
            capacity[int(node)] = value
        else:
            raise click.BadParameter(f"{shorten(text)} names no node: the nodes are 0 to {nodes - 1}.")
    return capacity


def read_number(number: str, text: str, *, least_open: bool) -> float:
    """Return a number from an option's text: at least 0, or above 0 with `least_open`, and at most MOST."""
    try:
        value = float(number)
    except ValueError:
        raise click.BadParameter(f"{shorten(text)}: {shorten(number)} is not a number.") from None
    if not 0 <= value < float("inf") or (least_open and value == 0):
        raise click.BadParameter(f"{shorten(text)} must be finite and {'above' if least_open else 'at least'} 0.")
    if value > MOST:
        raise click.BadParameter(f"{shorten(text)} must be at most {MOST:g}.")
    return value


def origin_lines(profile: Profile) -> list[str]:
    """Return a line each for rates, costs and selectivities: how many come from which origin."""
    return [f"{what}: {_origins(what, counts)}" for what, counts in profile.counts().items() if counts]


def _origins(what: str, counts: Mapping[str, int]) -> str:
    parts = [f"{counts[origin]} {origin}" for origin in Origin if origin != Origin.ASSUMED and counts.get(origin)]
    if assumed := counts.get(Origin.ASSUMED):
        parts.append(f"{assumed} assumed ({ASSUMED[what]}{', shared among the cases of a switch' * (what[0] == 's')})")
    return ", ".join(parts)
