"""What comes back from the tasks of a batch, sorted by kind."""

from __future__ import annotations

import pickle
import threading

import polars as pl
import pytest

from drover.flow.frames import DRIVER, Frame, FrameKind, FramePort, pack
from drover.flow.schedule import HopNode
from drover.flow.worker import NodeReport
from drover.spark.batch import gather, overlapped
from drover.spark.tasks import RouterReport, frames_of, record_batch

ROWS = pl.DataFrame({"x": [1, 2]})


def rows(kind: FrameKind, stream: str, origin: int = 0) -> list[Frame]:
    return list(pack(ROWS + origin, FramePort(kind, stream), [HopNode(DRIVER, 0)], origin))


def pickled(kind: FrameKind, value: object, origin: int = 0) -> Frame:
    return Frame(0, DRIVER, FramePort(kind), origin, 0, pickle.dumps(value))


def test_equal_names_of_different_kinds_do_not_meet() -> None:
    reports = [NodeReport(HopNode(hop, 0), (), (), (), {}) for hop in (1, 0)]
    routed = RouterReport({"latest": 2}, (), 0.5)
    frames = [
        *rows(FrameKind.ROWS, "latest", origin=1),
        *rows(FrameKind.ROWS, "latest"),
        *rows(FrameKind.DEAD_LETTERS, "latest", origin=2),
        *rows(FrameKind.QUERY_RESULTS, "latest", origin=3),
        *(pickled(FrameKind.NODE_REPORT, report) for report in reports),
        pickled(FrameKind.ROUTER_REPORT, routed),
        pickled(FrameKind.EVENT_TIMES, {"latest": 5, "other": 3}),
        pickled(FrameKind.EVENT_TIMES, {"latest": 4}, origin=1),
    ]
    found = gather(frames, frozenset({"a file"}))
    assert {name: each["x"].to_list() for name, each in found.rows.items()} == {"latest": [1, 2, 2, 3]}
    assert {name: each["x"].to_list() for name, each in found.dead.items()} == {"latest": [3, 4]}
    assert {name: each["x"].to_list() for name, each in found.query_results.items()} == {"latest": [4, 5]}
    assert found.latest == {"latest": 5, "other": 3}
    assert found.reports == (reports[1], reports[0])  # in the order of hops
    assert found.routed == (routed,)
    assert found.files == {"a file"}


def test_frames_survive_the_way_through_spark() -> None:
    sent = [
        *rows(FrameKind.JOIN_ROWS, "s", origin=7),
        Frame(3, 1, FramePort(FrameKind.ROWS, "s", "s:j:left"), 1, 2, b"where", spilled=True),
    ]
    found = list(frames_of(record_batch(sent).columns))
    assert found == sent
    assert {type(frame.port.kind) for frame in found} == {FrameKind}


def test_work_beside_a_batch_is_done_at_its_end_and_its_error_is_not_lost() -> None:
    done = threading.Event()
    with overlapped(done.set):
        done.wait(60)

    def fail() -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"), overlapped(fail):
        pass
    with pytest.raises(ValueError, match="no batch"), overlapped(fail):
        raise ValueError("no batch")
