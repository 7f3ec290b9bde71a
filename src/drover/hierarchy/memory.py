"""What one node knows: itself, its neighbours, and the round it is in.

Rule 1: a node knows of others only what they have said in this round, and of the tree only its own place.
Rule 2: the estate changes by `write` alone, so that whatever changes it is in the journal.
Rule 3: everything but the estate may be forgotten at any time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from drover.errors import ProblemError
from drover.hierarchy.estate import Estate
from drover.hierarchy.messages import Action, Bundle, Message, Output, Record, Reply, Round
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import Size, Thresholds, add, less, level
from drover.hierarchy.transfers import Transfer, open_transfers
from drover.hierarchy.tree import Tree

NEVER: Final = math.inf
ROUNDING: Final = 1e-9  # of levels: sums of sizes come in any order


class Phase(Enum):
    """Where a node is in a round."""

    IDLE = "idle"
    OFFERING = "offering"  # has offered work, and waits for replies
    DEMANDING = "demanding"  # has asked for work, and waits for replies
    PROMISED = "promised"  # has replied, and waits for what is decided
    TAKING = "taking"  # has said what it wants, and waits for it to be handed over
    GIVING = "giving"  # has handed over, and waits for what is taken


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds; `period` is the text's monitoring period, the others it leaves open."""

    period: float = 5.0  # between two looks at the own level
    patience: float = 0.5  # for an answer, before the question is asked again
    tries: int = 3  # how often a question is asked; a hand-over is repeated until it is answered

    def __post_init__(self) -> None:
        """Refuse what never ends."""
        for name in ("period", "patience", "tries"):
            value = getattr(self, name)
            if not (0 < value < NEVER):
                raise ProblemError(f"{name} is {value}, but must be above 0 and finite. Give a number of seconds.")

    @property
    def promise(self) -> float:
        """How long a promise lasts: as long as who asked may wait for others, and once more."""
        return self.patience * (self.tries + 2)


@dataclass(frozen=True, slots=True)
class Place:
    """What a node is told once: where it is, what it is able to do, and when it acts."""

    node: int
    tree: Tree
    queries: Queries
    capacity: Size
    thresholds: Thresholds = field(default_factory=Thresholds)
    timing: Timing = field(default_factory=Timing)

    @property
    def neighbours(self) -> tuple[int, ...]:
        """The parent, if there is one, then the children."""
        return self.tree.neighbours(self.node)


@dataclass(slots=True)
class Memory:
    """The state of a node, and what the present step has to say so far."""

    place: Place
    estate: Estate
    phase: Phase = Phase.IDLE
    rounds: int = 0  # begun in this life
    round: Round | None = None  # that this node is in
    asked: dict[int, Message] = field(default_factory=dict)  # by neighbour: what it has been asked and not answered
    replies: dict[int, Reply] = field(default_factory=dict)  # by neighbour
    promise: Reply | None = None  # that holds while the phase is PROMISED
    tries: int = 0
    due: float = NEVER  # when the phase times out
    look: float = 0.0  # when the next look at the own level is due
    transfers: tuple[Transfer, ...] | None = None  # open to the node; None if its operators have changed since
    records: list[Record] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def node(self) -> int:
        """The number of this node."""
        return self.place.node

    def write(self, record: Record) -> None:
        """Change the estate, and have it written."""
        self.estate.apply(record)
        self.records.append(record)
        self.transfers = None

    def flush(self) -> Output:
        """Return what the step has to say, and forget it."""
        output = Output(tuple(self.records), tuple(self.actions), tuple(self.messages))
        self.records.clear()
        self.actions.clear()
        self.messages.clear()
        return output

    def rest(self) -> Phase:
        """Leave the round, if any."""
        self.round, self.promise, self.due, self.tries = None, None, NEVER, 0
        self.asked, self.replies = {}, {}
        return Phase.IDLE

    def wait(self, now: float, phase: Phase) -> Phase:
        """Enter a phase that ends or repeats itself after the usual patience."""
        self.due = now + self.place.timing.patience
        return phase

    def open(self, neighbour: int) -> list[Transfer]:
        """Return the transfers to a neighbour that are open; they change only with the operators that are here."""
        if self.transfers is None:
            place = self.place
            self.transfers = tuple(open_transfers(place.tree, place.queries, place.node, self.estate.sizes))
        return [transfer for transfer in self.transfers if transfer.receiver == neighbour]

    def bundle(self, operators: Iterable[int]) -> Bundle:
        """Return operators with their present sizes."""
        chosen = tuple(operators)
        return Bundle(chosen, tuple(self.estate.sizes[operator] for operator in chosen))

    def use(self) -> Size:
        """Return the size of all operators that are here, those that are stopped among them."""
        return add(self.estate.sizes.values(), (0.0,) * len(self.place.capacity))

    def level(self, use: Size) -> float:
        """Return the share of this node's capacity that `use` is."""
        return level(use, self.place.capacity)

    def may_fall(self, use: Size) -> bool:
        """Return whether this node would give until `use` is left: never below the target."""
        return self.level(use) >= self.place.thresholds.target - ROUNDING

    def may_rise(self, use: Size) -> bool:
        """Return whether this node would accept until it has `use`: never up to the upper mark."""
        marks = self.place.thresholds
        return self.level(use) <= marks.upper - marks.margin + ROUNDING

    def wants(self, use: Size) -> bool:
        """Return whether this node would ask until it has `use`: never above the target."""
        return self.level(use) <= self.place.thresholds.target + ROUNDING

    def worth(self, bundle: Bundle) -> bool:
        """Return whether it helps this node to give something: what has no size spares nobody anything."""
        least = self.place.thresholds.least
        return not least or self.level(bundle.total) >= least

    def givable(self, receiver: int, wanted: Iterable[Bundle], use: Size, gone: set[int]) -> list[Bundle]:
        """Return those of the wanted bundles that can still go, in order, with present sizes, from `use` to the target.

        What was offered may have changed since: operators, by a hand-over that came late, and sizes at any time.
        `gone` are operators that go elsewhere; those that are returned join them.
        """
        still = {transfer.operators for transfer in self.open(receiver)}
        found: list[Bundle] = []
        for each in wanted:
            if each.operators not in still or not gone.isdisjoint(each.operators):
                continue
            bundle = self.bundle(each.operators)
            left = less(use, bundle.total)
            if self.may_fall(left):
                use = left
                gone.update(bundle.operators)
                found.append(bundle)
        return found
