"""The runner of a node: the program that starts and stops operators when the agent tells it to.

Rule 1: a runner is told to start and to stop. It acknowledges every request to stop once its operators have stopped.
Rule 2: both kinds of runners may be told twice, for example after a restart of the agent. The second time does nothing.
Rule 3: `lines` talks to a runner over the agent's output and input. `hooks` runs a command for every operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

Report = Callable[[dict[str, object]], None]  # prints an event as a line of JSON
Warn = Callable[[str], None]  # prints a line for people
Acknowledge = Callable[[str], None]  # the runner has stopped the operators of the request with this number


class NodeRunner(Protocol):
    """What an agent needs from a runner. All methods are called in the agent's event loop."""

    def start(self, operators: Sequence[str]) -> None:
        """Tell the runner to start operators."""

    def stop(self, operators: Sequence[str], number: str) -> None:
        """Tell the runner to stop operators, and to acknowledge that by the number of the request."""

    async def serve(self, acknowledge: Acknowledge) -> None:
        """Pass on acknowledgements until the runner is gone."""
