from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from drover.agents.stop_ledger import StopLedger, refusal
from drover.hierarchy.messages import Bundle, Clear, Handover
from tests.agents.runners import RunnerWorld, runner_world
from tests.hierarchy.world import DYING

EVENTS = ("deliver", "obey", "hear", "tick", "swing", "restart", "lose", "double", "hear again", "die")
CHANCES = (60, 12, 12, 10, 3, 4, 1, 1, 2, 1)


def handover(receiver: int, *operators: int, serial: int = 1) -> Handover:
    return Handover(0, receiver, (0, 1, 1), serial, (Bundle(operators, ((1.0,),) * len(operators)),))


def test_a_hand_over_leaves_when_all_its_operators_have_stopped() -> None:
    ledger = StopLedger(3)
    first = ledger.request((1, 2), 0.0)
    second = ledger.request((5,), 1.0)
    both = handover(1, 1, 2)
    other = handover(2, 5, serial=2)
    clear = Clear(0, 1, (1, 1, 1))
    assert ledger.hold_back([both, clear, other]) == [clear]
    assert ledger.hold_back([both]) == [], "nor does its repetition leave"
    assert ledger.acknowledge(second.number) == (second, [other])
    assert ledger.acknowledge(first.number) == (first, [both]), "once, however often the machine has repeated it"
    assert ledger.hold_back([both]) == [both]


def test_an_old_or_repeated_acknowledgement_says_nothing_about_a_new_request() -> None:
    ledger = StopLedger(3)
    early = ledger.request((1,), 0.0)
    ledger.acknowledge(early.number)
    again = ledger.request((1,), 5.0)  # the operator has come back and must go again
    ledger.hold_back([handover(1, 1)])
    for stale in (early.number, "2.2", "3.3", ""):
        assert ledger.acknowledge(stale) == (None, [])
    assert ledger.unstopped == {1}
    assert refusal("3.1", ledger.open) == (
        "the acknowledgement of request 3.1 is ignored: that request is not open. "
        "Open requests: 3.2. Acknowledge each request once, when its operators have stopped."
    )
    assert ledger.acknowledge(again.number) == (again, [handover(1, 1)])
    assert "Open requests: none." in refusal("3.2", ledger.open)


def test_numbers_are_not_used_again_in_another_life() -> None:
    numbers = [StopLedger(life).request((1,), 0.0).number for life in (1, 2, 12)]
    assert numbers == ["1.1", "2.1", "12.1"]


def test_a_runner_that_is_late_is_known() -> None:
    ledger = StopLedger(1)
    slow = ledger.request((1,), 0.0)
    fresh = ledger.request((2,), 8.0)
    assert ledger.overdue(5.0) == [slow]
    assert ledger.overdue(9.0) == [slow, fresh]


def happen(world: RunnerWorld, rng: Random) -> None:
    """Let something happen somewhere."""
    node = rng.randrange(len(world.machines))
    event = rng.choices(EVENTS, CHANCES)[0]
    dies = rng.choice(DYING) if event == "die" else ""
    lines = world.acknowledged[node]
    if event in {"deliver", "lose", "double", "die"} and world.wire:
        index = rng.randrange(len(world.wire)) if rng.random() < 0.2 else 0
        if event == "double":
            world.wire.append(world.wire[index])
        elif event == "lose":
            world.wire.pop(index)
        else:
            world.deliver(index, dies)
    elif event == "obey":
        world.obey(node)
    elif event.startswith("hear") and lines:
        world.hear(node, rng.randrange(len(lines)), again=event == "hear again")
    elif event == "tick":
        world.tick(node)
    elif event == "swing":
        sizes = {j: (rng.choice((0.5, 2.0, 8.0)),) for j in range(len(world.places[0].queries))}
        for each in filter(None, world.machines):
            each.measure(sizes)
    elif event == "restart":
        world.restart(node)


def history(seed: int, *, steps: int = 500, careless: bool = False) -> Counter[str]:
    """Let many things happen, and check the world after each."""
    world = runner_world(seed, careless=careless)
    rng = Random(seed)
    for _ in range(steps):
        happen(world, rng)
        world.check()
    world.recover()
    return world.count


def histories(*, careless: bool = False) -> Counter[str]:
    """Return what has happened in many histories."""
    total: Counter[str] = Counter()
    for seed in range(150):
        total += history(seed, careless=careless)
    return total


def test_no_two_runners_have_the_same_operator_whatever_happens() -> None:
    total = histories()
    assert total["ended"] > 300, "operators have moved, or this would be a test of nothing"
    assert total["stale"] > 30
    assert total["crash"] > 100


def test_the_test_notices_a_hand_over_that_does_not_wait() -> None:
    with pytest.raises(AssertionError, match=r"running (twice|where)"):
        histories(careless=True)
