from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from drover.agents import hooks
from drover.agents.hooks import HookRunner
from drover.errors import DroverError


class Operate:
    """A command that writes down what it was told, and what its runner has said."""

    def __init__(self, folder: Path, script: str, limit: float = 60.0) -> None:
        self.log = folder / "log"
        self.log.touch()
        path = folder / "operate"
        path.write_text(f'#!/bin/sh\nlog={self.log}\necho "$1 $2 $DROVER_NODE" >> $log\n{script}\n')
        path.chmod(0o700)
        self.said: list[dict[str, object]] = []
        self.warned: list[str] = []
        self.numbers: list[str] = []
        self.runner = HookRunner([str(path)], "east", limit, self.said.append, self.warned.append)

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def play(self, *steps: tuple[Callable[[], None], Callable[[], bool]]) -> None:
        """Give orders while the runner serves, and wait after each until its condition holds."""

        async def serve() -> None:
            serving = asyncio.ensure_future(self.runner.serve(self.numbers.append))
            async with asyncio.timeout(60):
                for order, condition in steps:
                    order()
                    while not condition():
                        await asyncio.wait((serving,), timeout=0.01)
                        assert not serving.done(), "it serves until it is cancelled"
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

        asyncio.run(serve())

    def start(self, *names: str) -> Callable[[], None]:
        return lambda: self.runner.start(names)

    def stop(self, *names: str) -> Callable[[], None]:
        return lambda: self.runner.stop(names, "1.1")

    def stopped(self) -> bool:
        return self.numbers == ["1.1"]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "AGAIN", 0.01)


def test_the_end_of_the_last_stop_command_counts(tmp_path: Path) -> None:
    found = Operate(tmp_path, "")
    both = [{"started": ["mean"]}, {"started": ["alarm"]}]
    found.play(
        (found.start("mean", "alarm"), lambda: all(each in found.said for each in both)),
        (found.stop("mean", "alarm"), found.stopped),
    )
    assert sorted(found.lines()[:2]) == ["start alarm east", "start mean east"]
    assert sorted(found.lines()[2:]) == ["stop alarm east", "stop mean east"]
    assert found.warned == []


def test_a_command_that_fails_runs_again_and_does_not_count_before(tmp_path: Path) -> None:
    found = Operate(tmp_path, "test $(grep -c stop $log) -ge 3")
    found.play((found.stop("mean"), found.stopped))
    assert found.lines() == ["stop mean east"] * 3
    assert found.warned == ["--exec stop mean ended with status 1. It runs again until it succeeds."]


def test_a_command_that_hangs_is_killed_and_does_not_count(tmp_path: Path) -> None:
    found = Operate(tmp_path, "test $(grep -c stop $log) -ge 2 || sleep 600", limit=0.5)
    found.play((found.stop("mean"), found.stopped))
    assert found.warned[0] == (
        "--exec stop mean has run for more than 0.5 s and was killed. It runs again until it succeeds."
    )


def test_an_operator_is_stopped_after_its_start_even_if_that_fails_for_ever(tmp_path: Path) -> None:
    found = Operate(tmp_path, 'test "$1" = stop')
    found.play((found.start("mean"), lambda: len(found.lines()) >= 2), (found.stop("mean"), found.stopped))
    assert found.lines()[-1] == "stop mean east"
    assert {"started": ["mean"]} not in found.said


def test_a_command_that_cannot_run_is_reported(tmp_path: Path) -> None:
    found = Operate(tmp_path, "")
    (tmp_path / "operate").unlink()
    found.play((found.stop("mean"), lambda: bool(found.warned)))
    assert found.warned == [
        "--exec stop mean cannot run ('No such file or directory'). It runs again until it succeeds."
    ]
    assert found.numbers == []


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(DroverError, match="--exec is empty, but must be a command"):
        HookRunner([], "east", 60.0, lambda _: None, lambda _: None)
