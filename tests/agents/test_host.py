from __future__ import annotations

from pathlib import Path

import pytest

from drover.agents.host import SLOW, Host
from drover.agents.lines import LineRunner
from drover.errors import StateError
from drover.hierarchy.messages import Bundle, Handover, Start, Stop

GIVEN = Handover(0, 1, (0, 1, 1), 1, (Bundle((0,), ((1.0,),)),))


class Node:
    """A host whose runner writes nothing by itself, and what it has said."""

    def __init__(self, fence: Path | None = None, life: int = 1) -> None:
        self.said: list[dict[str, object]] = []
        self.warned: list[str] = []
        runner = LineRunner(self.said.append, self.warned.append, None)  # type: ignore[arg-type]  # it reads nothing
        self.host = Host(("mean", "alarm"), runner, self.said.append, self.warned.append, fence)
        self.host.begin(life, (), 0.0)


def test_a_hand_over_and_its_lock_wait_for_the_runner(tmp_path: Path) -> None:
    first = Node(tmp_path)
    second = Node(tmp_path)
    first.host.apply([Start((0, 1))], [], 0.0)
    assert first.host.apply([Stop((0,))], [GIVEN], 0.0) == []
    with pytest.raises(StateError, match="mean to run nowhere else"):
        second.host.apply([Start((0,))], [], 0.0)
    assert first.host.acknowledge("1.1") == [GIVEN]
    second.host.apply([Start((0,))], [], 0.0)
    assert first.said == [
        {"start": ["mean", "alarm"]},
        {"stop": ["mean"], "request": "1.1"},
        {"stopped": ["mean"], "request": "1.1"},
    ]
    assert second.said == [{"start": ["mean"]}]


def test_what_is_stopped_in_the_end_is_asked_once() -> None:
    node = Node()
    node.host.apply([Start((0, 1)), Stop((1,))], [], 0.0)
    node.host.stop_all(1.0)
    node.host.stop_all(2.0)
    assert [line for line in node.said if "stop" in line] == [
        {"stop": ["alarm"], "request": "1.1"},
        {"stop": ["mean"], "request": "1.2"},
    ]
    assert node.host.unacknowledged() == ["mean", "alarm"]


def test_after_a_restart_the_runner_is_asked_again_and_the_fence_is_held_again(tmp_path: Path) -> None:
    node = Node(tmp_path, life=2)
    node.host.begin(2, (0,), 0.0)
    assert node.said == [{"stop": ["mean"], "request": "2.1"}]
    assert node.host.apply([], [GIVEN], 0.0) == []
    with pytest.raises(StateError, match="mean to run nowhere else"):
        Node(tmp_path).host.apply([Start((0,))], [], 0.0)
    assert node.host.acknowledge("1.1") == []  # of the life before
    assert len(node.warned) == 1
    assert node.host.acknowledge("2.1") == [GIVEN]


def test_after_a_restart_a_lock_of_the_receiver_is_no_error(tmp_path: Path) -> None:
    receiver = Node(tmp_path)
    giver = Node(tmp_path, life=2)
    receiver.host.apply([Start((0,))], [], 0.0)
    giver.host.begin(2, (0,), 0.0)
    assert giver.host.acknowledge("2.1") == []
    with pytest.raises(StateError, match="mean to run nowhere else"):
        Node(tmp_path).host.apply([Start((0,))], [], 0.0)


def test_a_runner_that_does_not_answer_is_reported_once() -> None:
    node = Node()
    node.host.apply([Start((0,)), Stop((0,))], [], 5.0)
    for now in (5.0 + SLOW, 5.1 + SLOW, 9.0 + SLOW):
        node.host.report_slow(now)
    (said,) = node.warned
    assert said == (
        "the runner has not acknowledged request 1.1 for 10 s: stop mean. They stay on this node, and it takes part in "
        "no other round. Stop them, and acknowledge by: stopped 1.1."
    )


def test_locks_are_released_at_the_end(tmp_path: Path) -> None:
    first = Node(tmp_path)
    second = Node(tmp_path)
    first.host.apply([Start((0, 1))], [], 0.0)
    first.host.close()
    second.host.apply([Start((0, 1))], [], 0.0)


def test_a_fence_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="Set --fence to a folder"):
        Node(tmp_path / "file")
    (tmp_path / "fence" / "0.lock").mkdir(parents=True)
    with pytest.raises(StateError, match="a file to lock"):
        Node(tmp_path / "fence").host.apply([Start((0,))], [], 0.0)


def test_an_operator_that_comes_back_before_the_acknowledgement_stays_locked(tmp_path: Path) -> None:
    node = Node(tmp_path, life=2)
    node.host.begin(2, (0,), 0.0)
    node.host.apply([Start((0,))], [], 0.0)  # the answer to the hand-over of the life before: nobody took it
    assert node.host.acknowledge("2.1") == []
    with pytest.raises(StateError, match="mean to run nowhere else"):
        Node(tmp_path).host.apply([Start((0,))], [], 0.0)
    assert node.host.apply([Stop((0,))], [GIVEN], 0.0) == []
    assert node.host.acknowledge("2.2") == [GIVEN]
    Node(tmp_path).host.apply([Start((0,))], [], 0.0)


def test_an_operator_that_came_back_is_stopped_in_the_end() -> None:
    node = Node(life=2)
    node.host.begin(2, (0,), 0.0)
    node.host.apply([Start((0,))], [], 0.0)
    node.host.stop_all(1.0)
    assert node.said[-1] == {"stop": ["mean"], "request": "2.2"}
