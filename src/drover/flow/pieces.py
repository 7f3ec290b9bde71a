"""The pieces of a batch at one place: what came, what the streamed operators made, and the whole of it in the end.

Rule 1: rows of sources are there with the first piece, and are cut here. Other rows come piece by piece.
Rule 2: pieces may run in any order. What they made is put together in the order of the rows.
Rule 3: an operator that fails in a piece has sent rows of earlier pieces on, but a failed operator must emit nothing.
So its failure fails the whole turn, which is then repeated without pieces.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from drover.errors import DroverError
from drover.flow.frames import Frame, FrameKind, FramePort, summed_edges, unpack
from drover.flow.node import NodeOutput, OperatorFacts, StreamedPart
from drover.flow.pipelining import Pipeline
from drover.flow.schedule import HopNode, Schedule
from drover.flow.worker import Assignment, WorkerCache, run_worker_piece
from drover.load.sample import merged
from drover.network.model import Network
from drover.network.operators import Operator

SERIALS_APART: Final = 100_000  # more frames than a piece has of a stream: their numbers go on from piece to piece


class PieceFailedError(DroverError):
    """A streamed operator has failed in a piece."""


@dataclass(slots=True)
class PlacePieces:
    """Runs the streamed operators of a place piece by piece, and keeps what the other operators need."""

    place: HopNode
    pieces: int
    operators: tuple[Operator, ...]
    kept: frozenset[str]  # streams that something needs as a whole: see `needed_whole`
    _cut: dict[FramePort, pl.DataFrame] = field(default_factory=dict)  # rows of sources
    _waiting: list[Frame] = field(default_factory=list)
    _made: dict[FramePort, dict[int, pl.DataFrame]] = field(default_factory=lambda: defaultdict(dict))
    _facts: dict[str, list[OperatorFacts]] = field(default_factory=lambda: defaultdict(list))
    _busy: float = 0.0
    _seconds: float = 0.0

    def run(
        self, piece: int, frames: Iterable[Frame], assignment: Assignment, attempt: str, cache: WorkerCache
    ) -> list[Frame]:
        """Run a piece; return the frames for other places."""
        rows = self._rows(piece, frames, assignment.schedule)
        outcome, found = run_worker_piece(assignment, self.place, self.operators, rows, attempt, cache)
        if outcome.failures:
            failed = outcome.failures[0]
            raise PieceFailedError(f"operator {failed.operator} failed in piece {piece + 1}: {failed.reason}")
        self._note(piece, outcome, found)
        return [frame._replace(serial=piece * SERIALS_APART + frame.serial) for frame in outcome.frames]

    def spend(self, busy: float, seconds: float) -> None:
        """Note the CPU seconds and the wall-clock seconds of a piece."""
        self._busy += busy
        self._seconds += seconds

    def end(self) -> StreamedPart:
        """Return what all pieces have left here."""
        rows = {
            # As one chunk: whoever adds floats up must find them as if they had been made at once.
            port: pl.concat([made[piece] for piece in sorted(made)], rechunk=True)
            for port, made in self._made.items()
        }
        facts = {name: merged_facts(parts) for name, parts in self._facts.items()}
        return StreamedPart(rows, facts, tuple(self._waiting), self._busy, self._seconds)

    def _rows(self, piece: int, frames: Iterable[Frame], schedule: Schedule) -> dict[FramePort, pl.DataFrame]:
        """Return the rows of a piece that came from elsewhere; keep what is not for streamed operators."""
        read = {stream for operator in self.operators for stream in operator.inputs}
        mine = []
        for frame in frames:
            streams_on = frame.port.kind is FrameKind.ROWS and frame.port.stream in read
            if streams_on:
                mine.append(frame)
            if not streams_on or frame.port.stream in self.kept:
                self._waiting.append(frame)
        arrived = unpack(mine)
        self._cut |= {port: rows for port, rows in arrived.items() if port.stream not in schedule.made_at}
        parts = {port: cut_piece(rows, piece, self.pieces) for port, rows in self._cut.items()}
        return {port: rows for port, rows in arrived.items() if port.stream in schedule.made_at} | parts

    def _note(self, piece: int, outcome: NodeOutput, found: Mapping[FramePort, pl.DataFrame]) -> None:
        made = {stream for operator in self.operators for stream in operator.outputs}
        for port, rows in found.items():
            if port.stream in made & self.kept:
                self._made[port][piece] = rows
        for one in outcome.operators:
            self._facts[one.sample.operator].append(one)


def pieces_at(place: HopNode, pipeline: Pipeline, assignment: Assignment, network: Network) -> PlacePieces:
    """Return the pieces of a batch at a place, before the first of them."""
    operators = tuple(one for one in assignment.schedule.runs[place] if one.name in pipeline.streamed)
    kept = needed_whole(place, pipeline.streamed, assignment.schedule, network.outputs)
    return PlacePieces(place, pipeline.pieces, operators, kept)


def needed_whole(
    place: HopNode, streamed: frozenset[str], schedule: Schedule, outputs: Iterable[str]
) -> frozenset[str]:
    """Return the streams whose rows a place needs at the end of the pieces: for other operators, families, or sinks."""
    operators = schedule.runs.get(place, ())
    found = {*outputs}
    for operator in operators:
        # A family may read any stream that is here.
        if operator.name not in streamed or place in schedule.herds:
            found.update(operator.inputs)
        if place in schedule.herds:
            found.update(operator.outputs)
    return frozenset(found)


def cut_piece(rows: pl.DataFrame, piece: int, pieces: int) -> pl.DataFrame:
    """Return one of the pieces of rows, which differ by at most one row."""
    start, end = (rows.height * at // pieces for at in (piece, piece + 1))
    return rows.slice(start, end - start)


def merged_facts(parts: Sequence[OperatorFacts]) -> OperatorFacts:
    """Return what a streamed operator did in all pieces."""
    (sample,) = merged(part.sample for part in parts).values()
    edges = summed_edges(edge for part in parts for edge in part.edges)
    return replace(parts[0], sample=sample, edges=edges, pieces=len(parts))
