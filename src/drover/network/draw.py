"""Drawings of a network, under one roof: `tree` for a terminal, `svg` for everything else."""

from __future__ import annotations

from drover.network.svg import svg
from drover.network.tree import ASCII, LINES, Row, tree

__all__ = ["ASCII", "LINES", "Row", "svg", "tree"]
