"""Drawings of a network, under one roof: `tree` for a terminal, `svg` for everything else."""

from __future__ import annotations

from drover.network.drawing.svg import svg
from drover.network.drawing.tree import ASCII, LINES, Row, tree

__all__ = ["ASCII", "LINES", "Row", "svg", "tree"]
