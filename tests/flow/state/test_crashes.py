from __future__ import annotations

import tempfile
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.errors import StateError
from drover.flow.state.commits import commit, latest, load
from drover.flow.state.documents import Commit
from drover.flow.state.layout import COMMITS, STATE
from drover.flow.state.retention import sweep
from drover.flow.state.storage import join, sizes
from tests.flow.state.faults import Dead, Mode, broken
from tests.flow.state.world import KEYS, Batch, Change, Driver, Model, after, check, retained, short_chains, sweep_twice

SOUND = broken(None)[0]  # a sound disk; not the real one, which takes its time to make everything durable

Run = tuple[list[Change], int | None, Mode, bool, bool]
MODES: tuple[Mode, ...] = ("die", "fail")

rows = st.lists(st.tuples(st.integers(-5, 30), st.text(max_size=3)), max_size=4).map(tuple)
changes = st.builds(
    Change,
    key=st.sampled_from(KEYS),
    kind=st.sampled_from(["append", "append", "append", "replace", "compact", "drop"]),
    rows=rows,
    bound=st.none() | st.integers(0, 25),
)
batches = st.lists(changes, max_size=4, unique_by=lambda change: change.key)


@st.composite
def runs(draw: st.DrawFn) -> list[Run]:
    """Batches, each with the step it breaks down at, how, whether it wastes an attempt, and whether it is replayed."""
    breakdown = st.none() | st.integers(0, 25)
    one = st.tuples(batches, breakdown, st.sampled_from(MODES), st.booleans(), st.booleans())
    return draw(st.lists(one, min_size=1, max_size=14))


@pytest.mark.parametrize("kind", ["disk", "s3"])
@given(history=runs(), keep=st.integers(2, 4))
@settings(deadline=None, max_examples=120)
def test_the_state_is_that_of_the_last_committed_batch_whatever_breaks_down(
    kind: str, history: list[Run], keep: int
) -> None:
    with tempfile.TemporaryDirectory() as root, short_chains():
        driver = Driver(root)
        models: list[Model] = []
        for batch, at, mode, wasted, replayed in history:
            fs, _ = broken(at, mode, kind)
            before: Model = models[-1] if models else {}
            models.append(after(before, batch))
            try:
                made = driver.run(fs, latest(fs, root), before, batch, wasted)
                sweep(fs, root, keep=keep)
            except (Dead, StateError):
                found = latest(SOUND, root)
                assert found.batch in {len(models) - 2, len(models) - 1}
                check(root, found, models[found.batch] if found.batch >= 0 else {})
                made = found
            if replayed or made.batch < len(models) - 1:
                # Spark asks for the batch again, committed or not.
                made = driver.run(SOUND, load(SOUND, root, len(models) - 2), before, batch)
            found = latest(SOUND, root)
            assert (found.version, found.link, found.notes) == (made.version, made.link, made.notes)
            check(root, made, models[-1])
        sweep_twice(SOUND, root, keep)
        version = retained(root, models, keep)
        live = {segment.file for segment in version.segments()}
        assert live <= set(sizes(SOUND, join(root, STATE)))


SCENARIO: list[Batch] = [
    [Change(KEYS[0], "append", ((1, "x"), (2, "y"))), Change(KEYS[3], "append", ((1, "z"),))],
    [Change(KEYS[0], "append", ((5, "x"),), bound=2), Change(KEYS[4], "replace", ((0, "blob"),))],
    [],
    [Change(KEYS[0], "append", ((7, "x"),), bound=5), Change(KEYS[1], "append", ((7, "r"),))],
    [Change(KEYS[0], "compact"), Change(KEYS[3], "drop")],
    [Change(KEYS[4], "replace", ((0, "blob 2"),)), Change(KEYS[1], "append", ((9, "r"),), bound=9)],
]


def attempt(root: str, at: int | None, mode: Mode, kind: str) -> int:
    """Run the scenario with a breakdown at a step, then to its end without; return the number of steps."""
    names = count()
    fs, disk = broken(at, mode, kind)
    for system in (fs, SOUND):
        try:
            start = latest(system, root)
            model: Model = {}
            for batch in SCENARIO[: start.batch + 1]:
                model = after(model, batch)
            check(root, start, model)
            for batch in SCENARIO[start.batch + 1 :]:
                start = Driver(root, names).run(system, start, model, batch, wasted=True)
                model = after(model, batch)
                sweep(system, root, keep=2)
        except (Dead, StateError):
            assert at is not None
            assert system is fs
            continue
        check(root, latest(SOUND, root), model)
        assert start.batch == len(SCENARIO) - 1
    sweep_twice(SOUND, root, 2)
    return disk.steps


@pytest.mark.parametrize("kind", ["disk", "s3"])
@pytest.mark.parametrize("mode", MODES)
def test_every_single_step_may_break_down(mode: Mode, kind: str) -> None:
    with short_chains(longest=2):
        with tempfile.TemporaryDirectory() as root:
            steps = attempt(root, None, mode, kind)
            files = list(sizes(SOUND, join(root, STATE)))
        assert steps > 60
        for at in range(steps):
            with tempfile.TemporaryDirectory() as root:
                attempt(root, at, mode, kind)
                # Attempts that came to nothing leave nothing; a full commit may come a few batches later.
                assert len(sizes(SOUND, join(root, STATE))) == len(files)
                assert len(sizes(SOUND, join(root, COMMITS))) <= 2 + (2 + 3) * 2


def test_a_commit_that_fails_after_it_was_made_can_be_repeated() -> None:
    with tempfile.TemporaryDirectory() as root:
        start = commit(SOUND, root, latest(SOUND, root), Commit(0))
        entry = Commit(1, notes={"plan": 1})
        fs, disk = broken(None)
        commit(fs, root, start, entry)
        for at in range(disk.steps):
            with tempfile.TemporaryDirectory() as other:
                again = commit(SOUND, other, latest(SOUND, other), Commit(0))
                fs, _ = broken(at, "fail")
                with pytest.raises(StateError, match="No space left"):
                    commit(fs, other, again, entry)
                assert commit(SOUND, other, again, entry) == latest(SOUND, other)
