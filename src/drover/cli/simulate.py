"""`drover simulate`: what if? A network in virtual time, with other rates, fewer nodes, another policy."""

from __future__ import annotations

import json
import math
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from drover.cli.loads import load_options
from drover.cli.plan import print_policies
from drover.cli.whatif.limits import MOST_SECONDS
from drover.errors import visible

if TYPE_CHECKING:
    from drover.cli.whatif.answer import Answer


class Number(click.FloatRange):
    """A finite number within bounds; click takes `nan` for one."""

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
@click.option(
    "--nodes", type=click.IntRange(1, 10_000), help="How many nodes; 4 if not said, or as in the plan's file."
)
@click.option(
    "--plan",
    default="round-robin",
    show_default=True,
    metavar="PLAN",
    help="The plan at the beginning: round-robin, hash, or a YAML or JSON file with nodes and node_of.",
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
    help="Seconds that each value of `series` in --statistics holds.",
)
@click.option(
    "--scale",
    multiple=True,
    metavar="SOURCE=F[@SECONDS]",
    help="Multiply the rate of a source, from some time on. Repeat it.",
)
@click.option("--kill", multiple=True, metavar=EVENT, help="Lose a node with all that waits there. Repeat it.")
@click.option("--add", multiple=True, metavar=EVENT, help="Add a node; it has the next free number. Repeat it.")
@click.option("--drain", multiple=True, metavar=EVENT, help="Take a node away in good order. Repeat it.")
@click.option("--outage", type=AT_LEAST_0, default=1.0, show_default=True, help="Seconds until a lost node is noticed.")
@click.option("--replay", is_flag=True, help="What waits on a lost node is replayed elsewhere, not lost.")
@click.option("--policy", metavar="NAME", help="Who moves units while it runs; nobody if not said. See --policies.")
@click.option("--compare", metavar="A,B,...", help="Several side by side: policies, once:POLICY, or stay for none.")
@click.option("--period", type=PERIOD, default=10.0, show_default=True, help="Seconds between decisions of a policy.")
@click.option(
    "--migration",
    multiple=True,
    metavar="[PART=]S",
    help="Seconds that a move takes: fixed (0.2), per_operator (0), per_byte (0).",
)
@click.option("--state", multiple=True, metavar="UNIT=BYTES", help="Bytes that move with a unit; else none. Repeat it.")
@click.option(
    "--delay", type=AT_LEAST_0, default=0.0, show_default=True, help="Seconds that a tuple takes from node to node."
)
@click.option("--seconds", type=LENGTH, help="How long it runs; 60 if not said, or once through the trace.")
@click.option(
    "--warmup", type=AT_LEAST_0, help="Seconds that do not count; at most 10 and a quarter of all if not said."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of everything left to chance.")
@click.option(
    "--mode",
    type=click.Choice(["event", "fluid"]),
    default="event",
    show_default=True,
    help="Tuple by tuple, or rates alone, which is quicker.",
)
@click.option(
    "--schedule",
    type=click.Choice(["fifo", "round-robin"]),
    default="fifo",
    show_default=True,
    help="Whose turn it is on a node.",
)
@click.option("--plot", metavar="FILE", help="Draw utilisation and latency over time, as .png or .svg.")
@click.option("--out", metavar="FOLDER", help="Write the tables behind the answer to FOLDER.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "csv", "json"]),
    default="parquet",
    show_default=True,
    help="Of the tables.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option(
    "--policies",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_policies,
    help="List the policies, and stop.",
)  # fmt: skip
def simulate(plot: str | None, out: str | None, form: Any, as_json: bool, **options: Any) -> None:
    """Tell what would happen: simulate a network with other rates, fewer nodes, another policy.

    NETWORK is a network file, or a run file, of which only the network counts; - is standard input. Rates, costs and
    selectivities are those of `drover plan` and `drover headroom`: given, measured by `drover run --statistics`, or
    assumed. Time is virtual, chance comes from the seed, and the same question has the same answer.

    \b
      drover simulate traffic.yaml --statistics measured.yaml --scale east=2@20 --kill 1@40
      drover simulate traffic.yaml --trace rates.csv --compare stay,cor-bal,correlation --plot answer.png
      drover simulate traffic.yaml --plan plan.json --add 4@30 --capacity 4=2 --policy largest-first --json

    Every operator is a queue in front of a cost. An aggregate, too: each row in makes as many results as its
    selectivity says, at once, and not when a window closes; so latency is waiting and working, without the length of
    windows. A join keeps the rows of its windows, and its work grows with the pairs. Units of a node that goes are
    placed by the policy, or largest first if there is none; the others stay. See docs/simulate.md.
    """  # noqa: D301 - click wants the character itself
    from drover.cli.whatif import answer, data, plot as plots, scenario, words  # noqa: I001, PLC0415 - numba takes a second

    if plot is not None:
        plots.demand_figure(plot)
    asked = scenario.ask(scenario.Options(**options))
    if asked.is_long:
        click.echo(f"about {asked.effort():.1g} tuples and pairs in each variant; --mode fluid is quicker", err=True)
    results = []
    for number, variant in enumerate(asked.variants, start=1):
        with _status(
            f"simulating {visible(variant.name)}, {number} of {len(asked.variants)} ...", is_long=asked.is_long
        ):
            results.append(answer.run(asked, variant))
    found: Answer = answer.Answer(asked, tuple(results))
    if out is not None:
        data.write(found, out, form)
        click.echo(f"written to {visible(out)}", err=True)
    if plot is not None:
        plots.write_figure(found, plot)
        click.echo(f"drawn in {visible(plot)}", err=True)
    click.echo(json.dumps(data.as_data(found), indent=2) if as_json else "\n".join(words.lines(found)))


def _status(what: str, *, is_long: bool) -> AbstractContextManager[object]:
    """Show on a terminal that something is going on; elsewhere, say it if it is going to take long."""
    console = Console(stderr=True)
    if console.is_terminal:
        return console.status(what)
    if is_long:
        click.echo(what, err=True)
    return nullcontext()
