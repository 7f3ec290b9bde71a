"""The state of one node: its configuration, its durable state, and the round that it is in.

Rule 1: a node knows of its neighbours only what they have sent in this round, and of the tree only its own part.
Rule 2: the durable state changes only by `write`, so that every change is in the journal.
Rule 3: everything but the durable state may be lost at any time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from drover.errors import ProblemError
from drover.hierarchy.durable_state import DurableState
from drover.hierarchy.messages import Action, Bundle, Message, Record, Reply, Round, StepEffects
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import Size, TreeThresholds, add, less, level
from drover.hierarchy.transfers import Transfer, open_transfers
from drover.hierarchy.tree import Tree

NEVER: Final = math.inf
ROUNDING: Final = 1e-9  # tolerance on levels: sums of sizes depend on the order of addition


class Phase(Enum):
    """The phase of a node within a round."""

    IDLE = "idle"
    OFFERING = "offering"  # has offered operators and waits for replies
    DEMANDING = "demanding"  # has asked for operators and waits for replies
    PROMISED = "promised"  # has replied to a request and waits for the outcome
    TAKING = "taking"  # has chosen operators and waits for their hand-over
    GIVING = "giving"  # has handed operators over and waits for the answers


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds; `period` is the monitoring period of the text, which leaves the others open."""

    period: float = 5.0  # between two checks of the node's own level
    patience: float = 0.5  # how long to wait for an answer before sending the question again
    tries: int = 3  # how often to send a request; a hand-over repeats until it is answered

    def __post_init__(self) -> None:
        """Refuse times that are not positive and finite."""
        for name in ("period", "patience", "tries"):
            value = getattr(self, name)
            if not (0 < value < NEVER):
                raise ProblemError(f"{name} is {value}, but must be above 0 and finite. Set a positive number.")

    @property
    def promise(self) -> float:
        """How long a promise holds: as long as the asking node may wait for all its replies, plus one more try."""
        return self.patience * (self.tries + 2)


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The fixed configuration of a node: its place in the tree, its capacity, and its timing."""

    node: int
    tree: Tree
    queries: Queries
    capacity: Size
    thresholds: TreeThresholds = field(default_factory=TreeThresholds)
    timing: Timing = field(default_factory=Timing)

    @property
    def neighbours(self) -> tuple[int, ...]:
        """The parent, if any, followed by the children."""
        return self.tree.neighbours(self.node)


@dataclass(slots=True)
class NodeState:
    """The state of a node, and the effects of the current step so far."""

    config: NodeConfig
    durable: DurableState
    phase: Phase = Phase.IDLE
    rounds: int = 0  # rounds begun since the last start
    round: Round | None = None  # the current round
    asked: dict[int, Message] = field(default_factory=dict)  # by neighbour: the message that it has not answered yet
    replies: dict[int, Reply] = field(default_factory=dict)  # by neighbour
    promise: Reply | None = None  # the promise of this node while it is PROMISED
    tries: int = 0
    due: float = NEVER  # when the phase times out
    next_check: float = 0.0  # when to check the node's own level next
    transfers: tuple[Transfer, ...] | None = None  # cached; None after a change of the node's operators
    records: list[Record] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def node(self) -> int:
        """The number of this node."""
        return self.config.node

    def write(self, record: Record) -> None:
        """Apply a record to the durable state and add it to the step's effects."""
        self.durable.apply(record)
        self.records.append(record)
        self.transfers = None

    def flush(self) -> StepEffects:
        """Return the effects of the step, and clear them."""
        output = StepEffects(tuple(self.records), tuple(self.actions), tuple(self.messages))
        self.records.clear()
        self.actions.clear()
        self.messages.clear()
        return output

    def end_round(self) -> Phase:
        """Leave the round, if any, and become idle."""
        self.round = None
        self.promise = None
        self.due = NEVER
        self.tries = 0
        self.asked = {}
        self.replies = {}
        return Phase.IDLE

    def await_answer(self, now: float, phase: Phase) -> Phase:
        """Enter a phase that times out after `patience`."""
        self.due = now + self.config.timing.patience
        return phase

    def transfers_to(self, neighbour: int) -> list[Transfer]:
        """Return the open transfers to a neighbour; they depend only on the operators on this node."""
        # Finding the transfers walks all queries, and several steps of a round need them.
        if self.transfers is None:
            config = self.config
            self.transfers = tuple(open_transfers(config.tree, config.queries, config.node, self.durable.sizes))
        return [transfer for transfer in self.transfers if transfer.receiver == neighbour]

    def bundle(self, operators: Iterable[int]) -> Bundle:
        """Return operators as a bundle with their current sizes."""
        chosen = tuple(operators)
        return Bundle(chosen, tuple(self.durable.sizes[operator] for operator in chosen))

    def use(self) -> Size:
        """Return the total size of the operators that this node owns, including stopped ones."""
        return add(self.durable.sizes.values(), (0.0,) * len(self.config.capacity))

    def level(self, use: Size) -> float:
        """Return `use` as a fraction of this node's capacity."""
        return level(use, self.config.capacity)

    def may_drop_to(self, use: Size) -> bool:
        """Return whether this node may give operators until `use` is left: not below the target."""
        return self.level(use) >= self.config.thresholds.target - ROUNDING

    def may_fill_to(self, use: Size) -> bool:
        """Return whether this node may accept operators until it has `use`, with a margin below the upper threshold."""
        marks = self.config.thresholds
        return self.level(use) <= marks.upper - marks.margin + ROUNDING

    def may_request_to(self, use: Size) -> bool:
        """Return whether this node may request operators until it has `use`: not above the target."""
        return self.level(use) <= self.config.thresholds.target + ROUNDING

    def worth_giving(self, bundle: Bundle) -> bool:
        """Return whether a bundle is large enough to be worth its transfer."""
        least = self.config.thresholds.least
        return not least or self.level(bundle.total) >= least

    def givable(self, receiver: int, wanted: Iterable[Bundle], use: Size, gone: set[int]) -> list[Bundle]:
        """Return the wanted bundles that this node can still give without going below the target, with current sizes.

        Operators and sizes may have changed since the offer, for example by a late hand-over. `gone` holds operators
        that go to other receivers; the returned ones are added to it.
        """
        still = {transfer.operators for transfer in self.transfers_to(receiver)}
        found: list[Bundle] = []
        for each in wanted:
            # The neighbour chose from an offer that may be out of date.
            if each.operators not in still or not gone.isdisjoint(each.operators):
                continue
            bundle = self.bundle(each.operators)
            left = less(use, bundle.total)
            if self.may_drop_to(left):
                use = left
                gone.update(bundle.operators)
                found.append(bundle)
        return found
