"""`drover show`: a network as a tree, as a drawing or as data."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.text import Text

from drover.cli.check import size
from drover.cli.inputs import read_input
from drover.errors import visible
from drover.network.drawing import ASCII, LINES, TreeLine, svg, tree
from drover.network.drawing.summary import summary
from drover.network.files.disk import write_text
from drover.network.files.network_file import loads
from drover.network.model import Network
from drover.network.schema import Schema


@click.command()
@click.argument("file")
@click.option("--svg", "drawing", metavar="OUT", help="Write a drawing to OUT, as an SVG file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option("--schemas", is_flag=True, help="Show the columns and types of every stream.")
def show(file: str, drawing: str | None, as_json: bool, schemas: bool) -> None:
    """Show the network in FILE as a tree: below each stream, what reads it.

    FILE is a network in YAML; - means standard input. An operator that reads several streams is shown below the first
    one, and the others refer to it. `=> output` marks streams that leave the network.

    \b
      drover show traffic.yaml
      drover show traffic.yaml --svg traffic.svg
    """  # noqa: D301 - click wants the character itself
    network = loads(read_input(file))
    if as_json:
        click.echo(json.dumps(_as_data(network), indent=2))
    else:
        print_tree(network, schemas)
    if drawing is not None:
        write_text(drawing, svg(network))
        click.echo(f"drawing written to {visible(drawing)}", err=True)


def print_tree(network: Network, schemas: bool) -> None:
    """Print a network as a tree, in colours on a terminal."""
    guides = LINES if (sys.stdout.encoding or "").lower().startswith("utf") else ASCII
    rows = tree(network, guides, schemas=schemas)
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal or console.no_color:  # rich would pad lines, which is a nuisance for grep
        click.echo("\n".join([size(network), *map(str, rows)]))
        return
    console.print(Text(size(network), style="bold"))
    for row in rows:
        console.print(_styled(row))


def _styled(row: TreeLine) -> Text:
    words = [(row.name, "bold"), (row.kind, "cyan"), (row.note, ""), (row.mark, "green")]
    text = Text().append(row.guide, style="dim")
    text.append_text(Text("  ").join(Text(word, style=style) for word, style in words if word))
    return text


def _columns(schema: Schema) -> dict[str, str]:
    return {name: str(kind) for name, kind in schema.types.items()}


def _as_data(network: Network) -> dict[str, object]:
    return {
        "name": network.name,
        "sources": [source.name for source in network.sources],
        "tables": [
            {"name": table.name, "columns": _columns(table.schema), "key": list(table.key)} for table in network.tables
        ],
        "operators": [
            {
                "name": operator.name,
                "kind": operator.kind,
                "reads": list(operator.inputs),
                "makes": list(operator.outputs),
                "table": operator.table,
                "holds_state": operator.holds_state,
                "is_sticky": operator.is_sticky,
                "summary": summary(operator),
            }
            for operator in network.operators
        ],
        "outputs": list(network.outputs),
        "streams": {
            name: {"columns": _columns(schema), "time": schema.time} for name, schema in network.streams.items()
        },
    }
