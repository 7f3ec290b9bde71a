"""Whether a run keeps up, in a sentence."""

from __future__ import annotations

from drover.control.health import RunHealth, health_of
from drover.control.view import view_of
from tests.control.overloads import LoadedRun, loaded


def said(run: LoadedRun, periods: int = 8) -> tuple[RunHealth, str]:
    run.go(periods)
    found = health_of(run.run.context, view_of(run.run.context))
    return found.health, found.text


def test_a_run_that_keeps_up_says_what_takes_most_of_a_batch() -> None:
    health, text = said(loaded(load=0.1))
    assert health is RunHealth.KEEPING_UP
    assert text.startswith("keeping up: batches take 0.")
    assert text.endswith("at a trigger of 1 s; the fixed cost of a batch takes most of it")


def test_the_cores_are_named_if_nodes_share_them() -> None:
    _, text = said(loaded(nodes=4, cores=1, load=0.35, count=8))
    assert "the processor: 4 nodes share 1 core, which gives out first" in text


def test_nodes_that_only_wait_keep_up_on_one_core() -> None:
    health, text = said(loaded(nodes=4, cores=1, load=0.35, count=8, plan="whole", waits=1.0))
    assert health is RunHealth.KEEPING_UP, text
    burns, _ = said(loaded(nodes=4, cores=1, load=0.35, count=8, plan="whole"))
    assert burns is RunHealth.BEHIND


def test_rows_that_wait_are_named_and_a_growing_backlog_is_falling_behind() -> None:
    run = loaded(load=0.1, trigger=0.0)
    run.trigger = 1e-9  # without a pause: every batch begins at once
    for rows in (1e5, 2e5, 3e5, 4e5, 5e5):
        run.backlog = rows
        run.go(1)
    found = health_of(run.run.context, view_of(run.run.context))
    assert found.health is RunHealth.BEHIND
    assert "and 500,000 rows wait" in found.text


def test_without_batches_nothing_is_known() -> None:
    run = loaded(load=0.1).run
    run.go(2)
    assert health_of(run.context, view_of(run.context)).text == "too early to tell: no batch was measured"


def test_a_single_batch_that_is_far_too_long_is_named() -> None:
    assert said(loaded(load=1.4), 1)[0] is RunHealth.BEHIND
