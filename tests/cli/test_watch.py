from __future__ import annotations

from typing import Any, cast

import pytest

from drover.cli.live import LineView
from drover.cli.run_figures import RunFigures
from drover.cli.watch import poll, watch
from drover.errors import DroverError
from drover.spark.handle import Handle
from tests.cli.batches import entry


class Fake:
    """A handle with so many batches; it is active while more are to come, and may end by an error."""

    def __init__(self, batches: int, error: str | None = None) -> None:
        self.left = batches
        self.error = error
        self.batches: list[dict[str, Any]] = []
        self.health = "keeping up: all is well"
        self.capacity = (0.5,)

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        if self.left:
            self.batches.append(entry(len(self.batches), 10, [0.1]))
            self.left -= 1
        return self.left > 0

    def awaitTermination(self) -> None:  # noqa: N802 - Spark's name
        if self.error is not None:
            raise DroverError(self.error)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> RunFigures:
    monkeypatch.setattr("drover.cli.watch.time.sleep", lambda _seconds: None)
    return RunFigures(("east",), ("suspects",), began=0.0)


def handle(batches: int, error: str | None = None) -> Handle:
    return cast(Handle, Fake(batches, error))


def test_every_batch_is_added_once(figures: RunFigures) -> None:
    fake = handle(3)
    for _ in range(3):
        assert fake.isActive or figures.batches == 2
        poll(fake, figures, LineView(quiet=True))
        poll(fake, figures, LineView(quiet=True))
    assert figures.batches == 3


def test_watching_ends_with_the_run(figures: RunFigures) -> None:
    watch(handle(3), figures, LineView(quiet=True), lambda: False)
    assert figures.batches == 3


def test_watching_ends_when_there_is_enough(figures: RunFigures) -> None:
    watch(handle(9), figures, LineView(quiet=True), lambda: figures.batches >= 4)
    assert figures.batches == 4


def test_an_error_that_ended_the_run_is_raised(figures: RunFigures) -> None:
    with pytest.raises(DroverError, match="no disk"):
        watch(handle(1, "no disk"), figures, LineView(quiet=True), lambda: False)
