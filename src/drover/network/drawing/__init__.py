"""Drawings of a network: `tree` for a terminal, `svg` for everything else."""

from __future__ import annotations

from drover.network.drawing.svg import svg
from drover.network.drawing.tree import ASCII, LINES, TreeLine, tree

__all__ = ["ASCII", "LINES", "TreeLine", "svg", "tree"]
