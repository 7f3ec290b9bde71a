"""Plans to start with, before any load is measured: `STARTING_PLANS` is the table of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from drover.network.model import Network
from drover.placement.plan import Plan, by_hash, round_robin

STARTING_PLANS: Final[Mapping[str, Callable[[Network, int], Plan]]] = {"round-robin": round_robin, "hash": by_hash}
DEFAULT_PLAN: Final = "round-robin"
DEFAULT_NODES: Final = 4
AUTO_NODES: Final = "auto"  # as many nodes as Spark has slots for
