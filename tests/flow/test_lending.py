"""State that is lent is used as if it were cached here: brought up to date, or not used at all."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from drover.flow.lending import LentPart, PartRequest, borrow, lend
from drover.flow.operators import UnitState
from drover.flow.recall import load_state, recall
from drover.flow.state.layout import STATE
from drover.flow.state.versions import PartState
from drover.flow.worker import CachedState
from tests.flow.test_recall import TIMES, UNIT, History, content, rows

ROOT = "root"
BATCHES = st.lists(
    st.tuples(TIMES, st.none() | TIMES, st.none() | st.integers(-20, 20), st.booleans()), min_size=1, max_size=6
)


@given(BATCHES, st.data())
def test_whatever_the_lender_has_the_borrower_gets_the_state_that_the_batch_starts_from(
    batches: list[tuple[list[int], list[int] | None, int | None, bool]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        history = History(Path(folder))
        (history.root / STATE).mkdir()
        for times, replaced, bound, rewrite in batches:
            history.batch(times, replaced, bound, rewrite=rewrite)
        saved, live = history.past[data.draw(st.integers(0, len(batches)), label="version of the lender")]
        cache = {(ROOT, UNIT): CachedState(saved, live, 0)}
        known, lent = borrow(ROOT, UNIT, history.saved, lambda request: lend(cache, request))
        found, size = recall(folder, UNIT, history.saved, known, lent)
        assert content(found) == content(load_state(folder, UNIT, history.saved))
        if saved == history.saved:
            assert size == 0


def test_only_the_operator_and_the_part_that_are_there_are_lent() -> None:
    saved = {"p": PartState()}
    cache = {(ROOT, UNIT): CachedState(saved, UnitState({"p": rows([1])}), 0)}
    assert lend(cache, PartRequest(ROOT, UNIT, "p", PartState())) is not None
    for request in (
        PartRequest("elsewhere", UNIT, "p", PartState()),
        PartRequest(ROOT, "other", "p", PartState()),
        PartRequest(ROOT, UNIT, "q", PartState()),
    ):
        assert lend(cache, request) is None


def test_a_state_that_the_lender_begins_to_use_meanwhile_is_not_lent() -> None:
    cache: dict[tuple[str, str], CachedState] = {}

    class Parts(dict[str, object]):
        def get(self, *_args: object) -> object:
            cache.clear()  # as `WorkerCache.state` does before an operator changes its state
            return rows([1])

    live = UnitState()
    live.parts = Parts()  # type: ignore[assignment]  # a dict that is used while it is read
    cache[ROOT, UNIT] = CachedState({"p": PartState()}, live, 0)
    assert lend(cache, PartRequest(ROOT, UNIT, "p", PartState())) is None


def test_bounds_come_with_the_parts_that_were_lent() -> None:
    wanted = {"p": PartState((), 5), "q": PartState((), 7)}

    def ask(request: PartRequest) -> LentPart | None:
        return LentPart(request.wanted, rows([9])) if request.part == "p" else None

    known, live = borrow(ROOT, UNIT, wanted, ask)
    assert known == {"p": wanted["p"]}
    assert live.bounds == {"p": 5}
