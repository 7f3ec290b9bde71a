"""Every input of drover gets its share of damaged cases, and the fuzzer itself notices what it looks for."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drover.errors import DroverError
from tests.fuzz import networks, queries, run, runs, statistics, trees
from tests.fuzz.__main__ import main
from tests.fuzz.run import TARGETS, fuzz, shares
from tests.fuzz.target import Feed, Target

QUICK = 1_000  # cases
ALL = 20_000
VALID = {
    "networks": (networks.SMALL,),
    "runs": (runs.COMPLETE, runs.TREE),
    "queries": (queries.COMPLETE,),
    "statistics": (statistics.COMPLETE,),
    "trees": (trees.COMPLETE,),
}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_are_accepted_or_refused_in_words(name: str) -> None:
    tally = fuzz(TARGETS[name], 1, range(shares(QUICK, list(TARGETS.values()))[name]))
    assert [str(finding) for finding in tally.findings] == []
    assert tally.accepted + tally.refused == tally.cases


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_damaged_inputs_are_accepted_or_refused_in_words(name: str) -> None:
    tally = fuzz(TARGETS[name], 0, range(shares(ALL, list(TARGETS.values()))[name]))
    assert [str(finding) for finding in tally.findings] == []
    assert min(tally.accepted, tally.refused) > tally.cases / 50  # neither side is out of reach of the damages


@pytest.mark.parametrize("name", VALID)
def test_what_is_damaged_was_valid_before(name: str, tmp_path: Path) -> None:
    with TARGETS[name].open(tmp_path) as feed:
        assert all(feed(text) for text in VALID[name])


@pytest.mark.parametrize("name", TARGETS)
def test_a_case_follows_from_its_seed_and_its_number(name: str) -> None:
    first, other = ([run.draw(TARGETS[name], seed, index) for index in range(200)] for seed in (3, 4))
    again = [run.draw(TARGETS[name], 3, index) for index in reversed(range(200))]
    assert first == again[::-1] != other


def target_of(words: str) -> Target:
    """A target whose every third case does what the words say."""

    @contextmanager
    def opened(_folder: Path) -> Iterator[Feed]:
        def feed(text: str) -> bool:
            if int(text) % 3 == 0:
                misbehave(words)
            return True

        yield feed

    numbers = iter(range(10**6))
    return Target("toy", 1, lambda _: str(next(numbers)), opened)


def misbehave(words: str) -> None:
    if words == "refuses":
        raise DroverError("it is 3, but must not be. Choose another.")
    if words == "is silent":
        raise DroverError("")
    if words == "fails":
        json.loads("{}")["x"]
    if words == "warns":
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    if words == "swallows":
        try:
            time.sleep(99)
        except Exception:  # noqa: BLE001 - as in a program that hides what goes wrong
            return
    if words == "takes memory":
        b"x" * (60 * 2**20)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("refuses", "", id="a refusal in words is fine"),
        pytest.param("is silent", "an error without words", id="a refusal without words"),
        pytest.param("fails", "KeyError: 'x' (test_run.py", id="any other error"),
        pytest.param("warns", "RuntimeWarning: overflow", id="a warning"),
        pytest.param("swallows", "60 s on the clock", id="waiting for ever"),
        pytest.param("takes memory", " MB", id="too much memory"),
    ],
)
def test_the_fuzzer_itself(words: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if words == "swallows":  # on a busy machine, others may wait as long
        monkeypatch.setattr(run, "MOST_WAITING", 0.2)
    monkeypatch.setattr(run, "MOST_BYTES", 50 * 2**20)
    tally = fuzz(target_of(words), 0, range(3))
    assert [finding.what for finding in tally.findings if found not in finding.what] == []
    assert bool(tally.findings) == bool(found)
    assert all("python -m tests.fuzz --target toy --seed 0 --index" in str(finding) for finding in tally.findings)


def test_the_command_counts_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "30", "--target", "frames", "--target", "trees", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {each["target"]: each["cases"] for each in found["targets"]} == {"frames": 17, "trees": 14}
    assert main(["--index", "5", "--target", "trees"]) == 0
    assert "1 cases" in capsys.readouterr().out
