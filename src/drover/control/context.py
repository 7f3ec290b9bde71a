"""The input of a decision: what the loop remembers, what is deployed, and the settings.

Rule 1: a decision depends on a context and on nothing else. Rule 2: a context is never edited.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from drover.control.executors import LostExecutor
from drover.control.settings import Control
from drover.control.state import ControlState
from drover.control.tree import Hierarchy
from drover.network.model import Network
from drover.placement.plan import Plan


@dataclass(frozen=True, slots=True)
class Deployment:
    """The network, its current plan, and the nodes that must not be used."""

    network: Network
    plan: Plan
    closed: frozenset[int] = frozenset()  # nodes whose executors are lost, or that are drained
    hierarchy: Hierarchy | None = None  # of a run on a tree of nodes
    lost: tuple[LostExecutor, ...] = ()  # executors, because of which nodes are closed

    def __post_init__(self) -> None:
        """Keep every node of a tree open: rows pass through it, and no other node can take its place."""
        if self.hierarchy is not None:
            object.__setattr__(self, "closed", frozenset())

    @property
    def open(self) -> int:
        """The number of nodes that may be used."""
        return self.plan.nodes - len(self.closed)


@dataclass(frozen=True, slots=True)
class ControlContext:
    """Everything that one decision depends on."""

    state: ControlState
    deployment: Deployment
    settings: Control

    def with_state(self, **changes: Any) -> ControlContext:  # Any: the fields of ControlState
        """Return the context with some fields of its state replaced."""
        return replace(self, state=replace(self.state, **changes))

    def with_settings(self, **changes: Any) -> ControlContext:  # Any: the fields of Control
        """Return the context with some settings replaced."""
        return replace(self, settings=replace(self.settings, **changes))
