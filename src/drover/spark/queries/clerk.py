"""The clerk of a run: takes queries in and out, and tells every batch which of them run where.

Rule 1: a query that is accepted is in a file before anybody is told so, and runs from the next batch on.
Rule 2: what a batch begins with is in a file before it begins; a batch that is repeated begins as it did.
Rule 3: whoever hands in waits for the checks, the disk and the herd; a batch only takes over what is ready.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.control.pasture import Pasture
from drover.control.tenants import AllLimits
from drover.errors import DroverError, shorten
from drover.flow.book.book import ADDED, PLACED, Book, Turn, Wish, advance, parked_frame
from drover.flow.book.files import tidy, write_turn, write_wish
from drover.flow.families.members import sweep_members, write_members
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.network.queries import Query, Shapes
from drover.network.queries.notation import Entry
from drover.spark.queries.desk import Refusal, Taken, all_or_none, entries_for, judge
from drover.spark.queries.families import Families, Topic, families_named, renewed, tables_of, topics_of
from drover.spark.queries.names import Names
from drover.spark.queries.reopen import Ready, reopen

Given = Query | Entry | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of queries that were handed in: those accepted run from the next batch on."""

    accepted: tuple[str, ...]
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """What a batch begins with, and the families as the batch before it had them."""

    book: Book
    families: Families
    before: Families


class Clerk:
    """The queries of one checkpoint; `open` first, `close` last. All methods may be called from any thread."""

    def __init__(
        self, network: Network, root: str, limits: AllLimits, *,
        closed: Callable[[], Collection[int]] = frozenset, seed: int = 0,
    ) -> None:  # fmt: skip
        self.root, self.limits, self.closed = root, limits, closed
        self.book, self.families, self.names = Book(), Families(), Names()
        self.weight_of: Callable[[str], float] = lambda _family: 1.0  # what a query of a family is expected to cost
        self._shapes, self._seed = Shapes(network), seed
        self._waiting: list[Ready] = []
        self._failed: dict[int, str] = {}  # to be parked with the next batch
        self._moving: set[int] = set()  # moved by hand; the herd knows where to
        self._begun: Turn | None = None  # of a batch that an earlier run may have begun
        self._serial = self._following = 0
        self._open, self._replication = False, 0.0
        self._pasture, self._where = Pasture(1, default_rng(seed)), (1, frozenset[int]())
        self._desk = threading.RLock()  # held while somebody is served; may be long
        self._herding = threading.Lock()  # held while the herd is asked
        self._turn = threading.Lock()  # held while the book or what waits is read or changed; never for long

    def open(self, checkpoint: Checkpoint, nodes: int) -> None:
        """Go on where the last run on this checkpoint ended, and serve."""
        found = reopen(self.root, checkpoint, self._shapes)
        self.book, self.families, self.names = found.book, found.families, found.names
        self._waiting, self._failed, self._begun = list(found.ready), found.failed, found.begun
        self._serial, self._following = found.serial, found.following
        # The book may be of more nodes: the first turn that is new makes sure that everybody is where a node is.
        self._pasture, self._where = Pasture(nodes, default_rng(self._seed)), (0, frozenset[int]())
        alive = {known.number for known in self.names.by_name.values()}
        topics = {number: topics_of(one) for number, (_, one) in found.shaped.items() if number in alive}
        here = [number for number in topics if found.nodes.get(number, -1) >= 0]
        self._pasture.restore(here, [topics[number] for number in here], [found.nodes[number] for number in here])
        new = [number for number in topics if found.nodes.get(number, -1) < 0]
        self._pasture.place(new, [topics[number] for number in new], np.ones(len(new)))
        self._open = True

    def close(self) -> None:
        """Serve no more; who is being served is served to the end."""
        with self._desk:
            self._open = False

    def submit(self, given: Iterable[Given], *, atomic: bool = False) -> Receipt:
        """Take queries in, each judged by itself; with `atomic` all or none. What is accepted is durable."""
        with self._desk:
            self._demand_open()
            judged = judge(entries_for(given), self._shapes, self.names.by_name, self.names.counts, self.limits)
            if atomic:
                judged = all_or_none(judged)
            if judged.taken:
                self._accept(judged.taken)
            return Receipt(tuple(one.query.name for one in judged.taken), tuple(judged.refused))

    def _accept(self, taken: Sequence[Taken]) -> None:
        numbers = range(self._following, self._following + len(taken))
        names, tenants = [one.query.name for one in taken], [one.query.tenant for one in taken]
        families, texts = [one.shaped.shape.id for one in taken], [one.text for one in taken]
        added = pl.DataFrame([list(numbers), names, tenants, families, texts], schema=ADDED)
        tables = tables_of((number, one.query, one.shaped) for number, one in zip(numbers, taken, strict=True))
        with self._herding:
            weights = [self.weight_of(family) for family in families]
            self._pasture.place(numbers, [topics_of(one.shaped) for one in taken], weights)
        try:
            self._promise(Ready(Wish(self._serial + 1, added), tables))
        except BaseException:
            with self._herding:
                self._pasture.leave(numbers)
            raise
        self._following = numbers.stop
        self.names.add(zip(names, numbers, tenants, strict=True))

    def _promise(self, ready: Ready) -> None:
        """Write down what is wished for; from then on it is promised."""
        write_wish(*open_root(self.root), ready.wish)
        self._serial = ready.wish.serial
        with self._turn:
            self._waiting.append(ready)

    def drop(self, names: Sequence[str] = (), *, tenant: str | None = None, every: bool = False) -> tuple[str, ...]:
        """Take queries out, all that are named or none; return their names. They end with the batch before the next."""
        with self._desk:
            self._demand_open()
            chosen = self.names.choose(names, tenant, every=every)
            if chosen:
                numbers = tuple(self.names.by_name[name].number for name in chosen)
                self._promise(Ready(Wish(self._serial + 1, dropped=numbers)))
                self.names.remove(chosen)
                with self._herding:
                    self._pasture.leave(numbers)
            return tuple(chosen)

    def move(self, name: str, node: int) -> None:
        """Let a query that runs go on on another node from the next batch on, with its state.

        The turn of that batch makes it durable. DroverError if there is no such query, or if it cannot go there.
        """
        with self._desk:
            self._demand_open()
            number = self.names.number_of(name)
            with self._turn:
                found = self.book.members.filter(pl.col("number") == number)["parked"]
                reason = self._failed.get(number, found[0] if len(found) else None)
            if reason is not None:
                raise DroverError(
                    f"query {shorten(name)} is parked, so it cannot move: {reason}. Drop it and submit it again first."
                )
            if node in self.closed():
                raise DroverError(
                    f"node {node} is lost or is being emptied, so query {shorten(name)} cannot go there. "
                    "Choose another node."
                )
            with self._herding:
                self._pasture.move(number, node)
            with self._turn:
                self._moving.add(number)

    def _demand_open(self) -> None:
        if not self._open:
            raise DroverError("the run has ended. Start again on the same checkpoint.")

    def park(self, reasons: Mapping[int, str]) -> None:
        """Let queries run no more from the next batch on, and say why; the first reason holds."""
        with self._turn:
            self._failed = {**reasons, **self._failed}

    def measure(self, rates: Mapping[Topic, float]) -> float:
        """Tell the herd how many rows per second topics have, and return to how many nodes a row travels, on the mean.

        While the herd is busy, nothing is told and the answer is that of the last time: a batch does not wait for it.
        """
        if self._herding.acquire(blocking=False):
            try:
                self._pasture.measure(rates)
                self._replication = self._pasture.replication
            finally:
                self._herding.release()
        return self._replication

    def refine(self, most: int) -> int:
        """Let at most so many queries move with the next batch, so that rows travel to fewer nodes; return how many do.

        While somebody is served, nobody moves.
        """
        if not self._herding.acquire(blocking=False):
            return 0
        try:
            found = self._pasture.refine(most)
        finally:
            self._herding.release()
        with self._turn:
            self._moving.update(found)
        return len(found)

    @property
    def waiting(self) -> pl.DataFrame:
        """Queries that are accepted and wait for their first batch."""
        with self._turn:
            found = [ready.wish.added for ready in self._waiting]
            gone = [number for ready in self._waiting for number in ready.wish.dropped]
        return pl.concat([pl.DataFrame(schema=ADDED), *found]).filter(~pl.col("number").is_in(gone))

    def begin(self, batch: int, nodes: int, *, again: bool) -> Begun:
        """Return what a batch begins with, written before; one that is run `again` begins as it did the first time."""
        closed = frozenset(self.closed())
        with self._turn:
            # A batch that was begun on fewer nodes, without those that lose theirs being placed again, got no further.
            stuck = self._begun is None and self.book.live.filter(pl.col("node") >= nodes).height > 0
            turn = self._begun if again and not stuck else self._next(batch, nodes, closed)
            self._begun = None
            before = self.families
            if turn is not None:
                self._take(turn)
            self._write_tables()
            return Begun(self.book, self.families, before)

    def _next(self, batch: int, nodes: int, closed: frozenset[int]) -> Turn | None:
        """Return the turn of a new batch, written down; None if it begins as the one before it."""
        moves = pl.DataFrame(schema=PLACED)
        if (nodes, closed) != self._where or self._waiting or self._moving:
            added = {number for ready in self._waiting for number in ready.wish.added["number"]}
            with self._herding:
                moves = self._pasture.settle(nodes, closed)
                moves = pl.concat([moves, self._pasture.nodes_of(sorted(added | self._moving))]).unique(
                    "number", maintain_order=True
                )
            self._where = (nodes, closed)
        if not (self._waiting or self._failed or moves.height):
            return None
        turn = Turn(batch, self._serial_ready(), moves, parked_frame(self._failed))
        write_turn(*open_root(self.root), turn)
        self._moving.clear()
        return turn

    def _serial_ready(self) -> int:
        return self._waiting[-1].wish.serial if self._waiting else self.book.upto

    def _take(self, turn: Turn) -> None:
        """Let the book and the families be as a turn says."""
        taken = [ready for ready in self._waiting if ready.wish.serial <= turn.upto]
        self._waiting = self._waiting[len(taken) :]
        after = advance(self.book, [ready.wish for ready in taken], turn)
        dropped = [number for ready in taken for number in ready.wish.dropped]
        numbers = pl.concat([turn.placed["number"], turn.parked["number"], pl.Series("number", dropped, pl.Int64)])
        touched = families_named(self.book.members, numbers)
        self.families = renewed(self.families, after, [ready.tables for ready in taken], touched)
        self.book = after
        parked = turn.parked["number"].to_list()
        for number in parked:
            self._failed.pop(number, None)
        if parked:
            with self._herding:
                self._pasture.leave(parked)

    def _write_tables(self) -> None:
        fs, path = open_root(self.root)
        made = {
            name: one if one.roll is not None else replace(one, roll=write_members(fs, path, one.shape, one.table))
            for name, one in self.families.by_id.items()
        }
        self.families = Families(made)

    def tidy(self) -> None:
        """Delete files that nobody needs; to be called when the last batch that began is committed."""
        fs, path = open_root(self.root)
        with self._turn:
            if self.book.batch >= 0:
                tidy(fs, path, self.book)
                sweep_members(fs, path, list(self.families.rolls.values()))
