"""`drover simulate`: what if? A network in virtual time, with other rates, fewer nodes, another policy."""

from __future__ import annotations

import json
import math
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from drover.cli.load_options import load_options
from drover.cli.plan import print_policies
from drover.cli.whatif.limits import MOST_SECONDS
from drover.errors import visible
from drover.sim.table_files import DEFAULT_FORMAT, TABLE_WRITERS

if TYPE_CHECKING:
    from drover.cli.whatif.answer import SimulationReport


class Number(click.FloatRange):
    """A finite number within bounds; click itself accepts `nan`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not finite.", param, ctx)
        return number


POSITIVE: Final = Number(0, 1e6, min_open=True)
LENGTH: Final = Number(0, MOST_SECONDS, min_open=True)
PERIOD: Final = Number(0.1, 1e6)
AT_LEAST_0: Final = Number(0, 1e6)
EVENT: Final = "NODE@SECONDS"


@click.command()
@click.argument("network", metavar="NETWORK")
@load_options
@click.option("--nodes", type=click.IntRange(1, 10_000), help="Number of nodes [default: 4, or as in the plan file].")
@click.option(
    "--plan",
    default="round-robin",
    show_default=True,
    metavar="PLAN",
    help="The first plan: round-robin, hash, or a YAML or JSON file with nodes and node_of.",
)
@click.option(
    "--trace",
    metavar="FILE",
    help="Rates over time, .csv or .parquet: time and a column per source, or time, stream, rate.",
)
@click.option(
    "--step",
    type=POSITIVE,
    default=1.0,
    show_default=True,
    help="Seconds for which each value of `series` in --statistics holds.",
)
@click.option(
    "--scale",
    multiple=True,
    metavar="SOURCE=F[@SECONDS]",
    help="Multiply the rate of a source, from some time on. Repeatable.",
)
@click.option("--kill", multiple=True, metavar=EVENT, help="Kill a node; what waits there is lost. Repeatable.")
@click.option("--add", multiple=True, metavar=EVENT, help="Add a node; NODE is the next free number. Repeatable.")
@click.option("--drain", multiple=True, metavar=EVENT, help="Drain a node: its units move away first. Repeatable.")
@click.option(
    "--outage", type=AT_LEAST_0, default=1.0, show_default=True, help="Seconds until the loss of a node is detected."
)
@click.option("--replay", is_flag=True, help="Replay what waits on a killed node elsewhere, instead of losing it.")
@click.option(
    "--policy", metavar="NAME", help="Policy that moves units during the run; without one, units stay. See --policies."
)
@click.option("--compare", metavar="A,B,...", help="Compare several variants: policies, once:POLICY, or stay for none.")
@click.option("--period", type=PERIOD, default=10.0, show_default=True, help="Seconds between decisions of a policy.")
@click.option(
    "--migration",
    multiple=True,
    metavar="[PART=]S",
    help="Seconds that a move takes: fixed (0.2), per_operator (0), per_byte (0).",
)
@click.option(
    "--state",
    multiple=True,
    metavar="UNIT=BYTES",
    help="Bytes of state that move with a unit [default: 0]. Repeatable.",
)
@click.option(
    "--delay", type=AT_LEAST_0, default=0.0, show_default=True, help="Seconds that a tuple takes from node to node."
)
@click.option("--seconds", type=LENGTH, help="Length of the run [default: 60, or the length of the trace].")
@click.option(
    "--warmup",
    type=AT_LEAST_0,
    help="Seconds at the start that do not count [default: 10, at most a quarter of the run].",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random choices.")
@click.option(
    "--mode",
    type=click.Choice(["event", "fluid"]),
    default="event",
    show_default=True,
    help="Simulate every tuple, or only rates, which is faster.",
)
@click.option(
    "--schedule",
    type=click.Choice(["fifo", "round-robin"]),
    default="fifo",
    show_default=True,
    help="Order in which a node runs its operators.",
)
@click.option("--plot", metavar="FILE", help="Draw utilisation and latency over time, as .png or .svg.")
@click.option("--out", metavar="FOLDER", help="Write the tables of results to FOLDER.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(TABLE_WRITERS)),
    default=DEFAULT_FORMAT,
    show_default=True,
    help="Format of the tables.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option(
    "--policies",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_policies,
    help="List the policies, and exit.",
)
def simulate(plot: str | None, out: str | None, form: str, as_json: bool, **options: Any) -> None:
    """Simulate a network with other rates, fewer nodes or another policy, and show what would happen.

    NETWORK is a network file, or a run file, of which only the network is used; - means standard input. Rates, costs
    and selectivities are as in `drover plan` and `drover headroom`: given, measured by `drover run --statistics`, or
    assumed. Time is virtual and random numbers come from the seed, so equal input gives equal output.

    \b
      drover simulate traffic.yaml --statistics measured.yaml --scale east=2@20 --kill 1@40
      drover simulate traffic.yaml --trace rates.csv --compare stay,cor-bal,correlation --plot answer.png
      drover simulate traffic.yaml --plan plan.json --add 4@30 --capacity 4=2 --policy largest-first --json

    Every operator is a queue with a cost per row. That includes aggregates: they emit results at once, in the number
    that their selectivity gives, not when a window closes. So latency is waiting and processing time, and does not
    include the length of windows. A join keeps the rows of its windows, and its work grows with the pairs. When a node
    is lost or drained, the policy places its units, or largest-first if there is no policy; the other units stay. See
    docs/how-to/simulate.md.
    """  # noqa: D301 - click wants the character itself
    from drover.cli.whatif import answer, data, plot as plots, scenario, text  # noqa: I001, PLC0415 - numba takes a second

    if plot is not None:
        plots.demand_figure(plot)
    chosen = scenario.read_scenario(scenario.Options(**options))
    if chosen.is_long:
        click.echo(f"about {chosen.effort():.1g} tuples and pairs in each variant; --mode fluid is faster", err=True)
    results = []
    for number, variant in enumerate(chosen.variants, start=1):
        with _status(
            f"simulating {visible(variant.name)}, {number} of {len(chosen.variants)} ...", is_long=chosen.is_long
        ):
            results.append(answer.run(chosen, variant))
    found: SimulationReport = answer.SimulationReport(chosen, tuple(results))
    if out is not None:
        data.write(found, out, form)
        click.echo(f"written to {visible(out)}", err=True)
    if plot is not None:
        plots.write_figure(found, plot)
        click.echo(f"drawing written to {visible(plot)}", err=True)
    click.echo(json.dumps(data.as_data(found), indent=2) if as_json else "\n".join(text.lines(found)))


def _status(what: str, *, is_long: bool) -> AbstractContextManager[object]:
    """Show a spinner on a terminal; elsewhere, print a line if the step takes long."""
    console = Console(stderr=True)
    if console.is_terminal:
        return console.status(what)
    if is_long:
        click.echo(what, err=True)
    return nullcontext()
