"""`drover submit`, `drop` and `queries`: submit, drop and list small queries of a running network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from drover.cli.headroom import table
from drover.cli.inputs import STDIN
from drover.cli.inspect import from_option, json_option, print_answer
from drover.cli.proposals import Json, describe_run_state
from drover.errors import DroverError, Fault, FaultsError, visible
from drover.network.files.disk import read_stream, read_text
from drover.network.files.document import Fields
from drover.network.files.lines import placed
from drover.network.queries.notation import QueryEntry, entries_of, plain_of
from drover.spark.caller import ask
from drover.wording import count

MOST_BYTES: Final = 256 * 2**20  # of a query file
AT_ONCE: Final = 20_000  # queries in one request, unless --atomic
MOST_SENT: Final = 60 * 2**20  # bytes in one request; an endpoint accepts a little more
SHOWN: Final = 20  # queries, and refusals
PER_MILLE: Final = 1_000


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--to", "checkpoint", metavar="CHECKPOINT", required=True, help="The checkpoint of the run.")
@click.option("--atomic", is_flag=True, help="Accept all queries, or none if any is refused.")
@json_option
def submit(files: tuple[str, ...], checkpoint: str, atomic: bool, as_json: bool) -> int:
    """Submit queries to the run on CHECKPOINT. They run from its next batch on.

    FILE is YAML (one query, a list of queries, or several documents) or, if its name ends in .jsonl, one JSON object
    per line; `-` is standard input. Each query is checked on its own. Refused queries are printed with their faults;
    the others are accepted. Accepted queries are on disk, and survive a crash of the run.

    \b
      drover submit queries.yaml --to /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    given = [(file, entry) for file in files for entry in _entries(file)]
    answer = _send(checkpoint, given, atomic)
    print_answer(answer, _submit_lines(answer), as_json)
    if not as_json:
        for refusal in answer["refusals"][:SHOWN]:
            click.echo(f"drover: {_refusal_line(refusal)}", err=True)
    return 1 if answer["refused"] else 0


def _entries(file: str) -> list[QueryEntry]:
    """Return the entries of a file; its faults become a DroverError with the name of the file."""
    try:
        piped = file == STDIN
        text = read_stream(sys.stdin.buffer, MOST_BYTES) if piped else read_text(file, MOST_BYTES)
        return entries_of(text, "" if piped else file)
    except FaultsError as error:
        raise DroverError("\n".join(f"{file}: {fault}" for fault in error.faults)) from error


def _send(checkpoint: str, given: Sequence[tuple[str, QueryEntry]], atomic: bool) -> dict[str, Any]:  # Any: JSON
    """Send the queries that could be read; return all refusals, in order, with file and line."""
    unread = {
        index: {"name": None, "faults": [_to_json(fault) for fault in entry.faults]}
        for index, (_, entry) in enumerate(given)
        if entry.node is None
    }
    # With --atomic, unreadable queries are sent, too, so that the run refuses the whole request.
    sent = [index for index in range(len(given)) if atomic or index not in unread]
    total: dict[str, Any] = {"accepted": 0, "refused": len(given) - len(sent), "running": True, "live": True}
    nodes = [given[index][1].node for index in sent]
    plain = [None if node is None else plain_of(node) for node in nodes]
    found: dict[int, dict[str, Any]] = {}
    for first, last in [(0, len(sent))] if atomic else _parts(plain):
        try:
            answer = ask(checkpoint, "submit", queries=plain[first:last], atomic=atomic)
        except DroverError as error:
            if not total["accepted"]:
                raise
            raise DroverError(f"{error} Before that, {_count(total['accepted'])} were accepted.") from error
        total["accepted"] += answer["accepted"]
        total["refused"] += answer["refused"]
        found |= {sent[first + one["index"]]: one for one in answer["refusals"]}
    found |= unread
    total["refusals"] = [_located(found[index], *given[index]) for index in sorted(found)]
    return total


def _parts(plain: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yield the first index and the end of each request."""
    first = size = 0
    for index, one in enumerate(plain):
        length = len(json.dumps(one)) + 2  # with the separator
        if index > first and (index - first == AT_ONCE or size + length > MOST_SENT):
            yield first, index
            first = index
            size = 0
        size += length
    if first < len(plain):
        yield first, len(plain)


def _to_json(fault: Fault) -> dict[str, Any]:  # Any: JSON
    return {
        "path": list(fault.path),
        "value": fault.value,
        "rule": fault.rule,
        "way_out": fault.way_out,
        "text": fault.text,
    }


def _located(refusal: dict[str, Any], file: str, entry: QueryEntry) -> dict[str, Any]:  # Any: JSON
    """Return a refusal with the file and the lines of its faults."""
    faults = []
    for one in refusal["faults"]:
        fault = Fault(tuple(one["path"]), one["value"], one["rule"], one["way_out"], entry.line)
        line = placed([fault], entry.node)[0].line if isinstance(entry.node, Fields) else entry.line
        faults.append({**one, "line": line})
    return {"file": file, "line": entry.line, "name": refusal["name"], "faults": faults}


def _submit_lines(answer: Json) -> Iterator[str]:
    total = answer["accepted"] + answer["refused"]
    yield f"{answer['accepted']:,} of {_count(total)} accepted, to run from the next batch on"
    if answer["refused"] > SHOWN:
        yield f"{answer['refused']:,} refused; the first {SHOWN} are shown, --json has more"


def _refusal_line(refusal: Json) -> str:
    name = "" if refusal["name"] is None else f"query {visible(refusal['name'])}: "
    faults = "; ".join(visible(fault["text"]) for fault in refusal["faults"])
    return f"{visible(refusal['file'])}, line {refusal['faults'][0]['line']}: {name}{faults}"


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1)
@from_option
@click.option("--tenant", metavar="NAME", help="Drop only queries of this tenant.")
@click.option("--all", "every", is_flag=True, help="Drop all queries, or all of the tenant.")
@json_option
def drop(names: tuple[str, ...], checkpoint: str, tenant: str | None, every: bool, as_json: bool) -> None:
    """Drop the queries NAME... of a run. They end with the batch that is running, and their state is deleted.

    If one of them does not exist, none is dropped. A stopped run drops them when it starts again.

    \b
      drover drop busy-east --from /data/checkpoint
      drover drop --all --tenant acme --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    if every == bool(names):
        raise click.UsageError("Either name the queries to drop, or drop all of them with --all.")
    owner = {} if tenant is None else {"tenant": tenant}
    answer = ask(checkpoint, "drop", names=list(names), all=every, **owner)
    when = "with the next batch" if answer["running"] else "when the run starts"
    print_answer(answer, iter([f"{_count(answer['dropped'])} dropped, to be gone {when}"]), as_json)


@click.command()
@click.argument("checkpoint")
@click.option("--tenant", metavar="NAME", help="List only queries of this tenant.")
@json_option
def queries(checkpoint: str, tenant: str | None, as_json: bool) -> None:
    """List the queries of the run on CHECKPOINT: state, node, rates, cost, state size, and why some are parked.

    Rates and cost are means over the last batches. A stopped run has none. The table shows the most expensive queries
    and counts the others; --json has all of them.
    """
    answer = ask(checkpoint, "queries", **({} if tenant is None else {"tenant": tenant}))
    print_answer(answer, _queries_lines(answer), as_json)


def _count(number: int) -> str:
    return count(number, "query", "queries")


def _queries_lines(answer: Json) -> Iterator[str]:
    rows = answer["queries"]
    states = {state: sum(row["state"] == state for row in rows) for state in ("live", "waiting", "parked")}
    counts = ", ".join(f"{number:,} {state}" for state, number in states.items() if number) or "none"
    lag = max((row["lag"] for row in rows if row["lag"] is not None), default=None)
    late = "" if lag is None else f"; results are at most {lag:.2f} s behind"
    yield f"{describe_run_state(answer)}: {_count(len(rows))}: {counts}{late}"
    if not rows:
        return
    shown = sorted(rows, key=lambda row: (row["parked"] is None, -(row["busy"] or 0.0), row["query"]))[:SHOWN]
    yield ""
    heads = ["query", "tenant", "state", "node", "rows in/s", "rows out/s", "busy ms/s", "state bytes", ""]
    yield from table(heads, [_row(row) for row in shown])
    if len(rows) > SHOWN:
        yield f"... and {len(rows) - SHOWN:,} more; --json has them all"


def _row(row: Json) -> list[str]:
    def figure(name: str, form: str, scale: float = 1.0) -> str:
        return "-" if row[name] is None else format(row[name] * scale, form)

    return [
        visible(row["query"]),
        visible(row["tenant"]),
        row["state"],
        figure("node", ".0f"),
        figure("rows_in", ",.1f"),
        figure("rows_out", ",.2f"),
        figure("busy", ",.3f", PER_MILLE),
        figure("state_bytes", ",.0f"),
        visible(row["parked"] or ""),
    ]
