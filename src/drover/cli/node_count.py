"""The type of the option --nodes of a run: a number, or `auto`."""

from __future__ import annotations

from typing import Any

import click

from drover.placement.starting_plans import AUTO_NODES


class NodeCount(click.ParamType[int | str]):
    """A number of nodes, from 1, or `auto`: as many as Spark has slots."""

    name = f"N|{AUTO_NODES}"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:  # Any: click's own signature
        """Return the number or the word."""
        if value == AUTO_NODES:
            return AUTO_NODES
        return click.IntRange(1).convert(value, param, ctx)
