"""The part of the site that MkDocs does not make itself: the reference of the command line.

MkDocs calls `on_page_markdown` for every page. A line `<!-- commands -->` becomes a section per command, written from
the command's own help. So the page cannot differ from what `drover COMMAND --help` prints.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

import click

MARK: Final = "<!-- commands -->"
OPTION: Final = re.compile(r"(?<=[ (])(--[a-z-]+)")  # in running text, where Markdown would make a dash of it


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the text of a page, with the commands where the page asks for them."""
    if MARK not in markdown:
        return markdown
    from drover.cli import drover  # noqa: PLC0415 - imports Polars, which the other pages do not need

    return markdown.replace(MARK, "\n".join(reference(drover)))


def reference(group: click.Group) -> Iterator[str]:
    """Yield the lines of the page: every command of the group, in alphabetical order."""
    context = click.Context(group, info_name=group.name)
    for name in sorted(group.commands):
        yield from section(group.commands[name], click.Context(group.commands[name], context, name), 2)


def section(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """Yield a heading, the help text, the usage and the options of a command, then its subcommands."""
    yield f"{'#' * level} {context.command_path}\n"
    yield from body(command.help or "")
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    yield "| option | meaning |\n|---|---|"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield f"| `{record[0]}` | {escaped(record[1])} |"
    yield ""
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            child = command.commands[name]
            yield from section(child, click.Context(child, context, name), level + 1)


def body(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a help text; those that click must not wrap (marked by \b) are blocks of text."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            block = inspect.cleandoc(paragraph.removeprefix("\b").lstrip("\n"))
            yield f"```text\n{block}\n```\n"
        else:
            yield OPTION.sub(r"`\1`", paragraph) + "\n"


def escaped(text: str) -> str:
    """Return text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")
