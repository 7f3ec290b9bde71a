"""What Spark runs in its workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from drover.flow.frames import LARGE, Frame, FrameKind, stream_port
from drover.flow.operators import Watermarks
from drover.flow.router import route
from drover.flow.schedule import Schedule, make_schedule
from drover.flow.worker import Assignment, PackedNetwork, WorkerCache, pack_network
from drover.placement.plan import round_robin
from drover.spark import tasks
from tests.flow.operators.batches import frame, one_source

AS_SPARK_DOES: Callable[[object], bytes] = cloudpickle.dumps


def test_every_task_of_a_worker_finds_the_same_cache() -> None:
    assignment = Assignment(0, PackedNetwork("f", b""), Schedule(1, 1, {}, {}, {}), {}, {}, "root")
    for task in (tasks.RouterTask(assignment, tasks.SourceLayout({})), tasks.NodeTask(assignment, 0)):
        arrived = pickle.loads(AS_SPARK_DOES(task))
        assert arrived == task
        assert arrived.__call__.__globals__["CACHE"] is tasks.CACHE


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(1, 8))
def test_frames_keep_their_order_in_groups_of_about_a_size(sizes: list[int], most: int) -> None:
    frames = [Frame(0, 1, stream_port("s"), 0, serial, b"x" * size) for serial, size in enumerate(sizes)]
    groups = [list(tasks.frames_of(batch.columns)) for batch in tasks.record_batches(frames, most)]
    assert [frame for group in groups for frame in group] == frames
    assert all(len(group) == 1 or sum(len(frame.payload) for frame in group) <= most for group in groups)


def test_the_payload_of_a_large_frame_is_not_copied() -> None:
    payload = pa.py_buffer(bytes(LARGE))
    (batch,) = tasks.record_batches([Frame(0, 1, stream_port("s"), 0, 0, payload)])
    (found,) = tasks.frames_of(batch.columns)
    assert isinstance(found.payload, pa.Buffer)
    assert found.payload.address == payload.address
    assert found.payload == payload


def test_a_node_is_busy_while_an_operator_waits(tmp_path: Path) -> None:
    network = one_source(lambda s: s.synthetic("out", cost=0, wait=40.0))
    schedule = make_schedule(network, round_robin(network, 1))
    assignment = Assignment(0, pack_network(network, {}), schedule, {"out": Watermarks(None, None)}, {}, str(tmp_path))
    rows = frame(network, "s", [(1.0, "a", 1), (2.0, "b", 2)])
    waited: list[float] = []
    cache = WorkerCache(lambda: 0.0, lambda _: None, wait=waited.append)
    sent = tasks.NodeTask(assignment, 0).run_frames(route(network, schedule, {"s": rows}, 0), 0, "a", cache)
    (report,) = (pickle.loads(one.payload) for one in sent if one.port.kind is FrameKind.NODE_REPORT)
    sample = report.operators[0].sample
    assert (waited, sample.waited) == ([80.0], 80.0)
    assert report.busy >= sample.busy >= 80.0
