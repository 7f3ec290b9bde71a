from __future__ import annotations

import click
import pytest

from scripts.docs import MARK, body, on_page_markdown, reference


@click.group()
def tool() -> None:
    """Do things."""


@tool.command()
@click.argument("file")
@click.option("--mode", type=click.Choice(["a", "b"]), default="a", show_default=True, help="How | why.")
def work(file: str, mode: str) -> None:
    """Work on FILE, with --mode or without.

    \b
      tool work x.yaml
    """


@tool.group()
def many() -> None:
    """Do many things."""


@many.command()
def more() -> None:
    """Do more."""


def test_a_command_has_a_heading_its_help_its_usage_and_its_options() -> None:
    text = "\n".join(reference(tool))
    assert "## tool work\n" in text
    assert "Work on FILE, with `--mode` or without." in text
    assert "```text\ntool work x.yaml\n```" in text
    assert "tool work [OPTIONS] FILE" in text
    assert "| `--mode [a|b]` | How \\| why.  [default: a] |" in text


def test_subcommands_stand_below_their_group() -> None:
    text = "\n".join(reference(tool))
    assert text.index("## tool many\n") < text.index("### tool many more\n") < text.index("## tool work\n")


@pytest.mark.parametrize(
    ("text", "lines"), [("One.\n\nTwo.", ["One.\n", "Two.\n"]), ("\b\n  a\n  b", ["```text\na\nb\n```\n"])]
)
def test_paragraphs_that_click_does_not_wrap_are_blocks(text: str, lines: list[str]) -> None:
    assert list(body(text)) == lines


def test_a_page_without_the_mark_stays_as_it_is() -> None:
    assert on_page_markdown("# Title\n", page=None) == "# Title\n"
    assert "## drover status" in on_page_markdown(f"# Title\n\n{MARK}\n", page=None)
