"""`drover run` as a process of its own, struck again and again while it runs: nothing is lost, nothing is doubled.

KILLS says how often, SEED which way, ENGINE on which engine; `make chaos` shows what happens.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from drover.control.engine_choice import DEFAULT_ENGINE, EngineChoice, engine_choice
from tests.spark.chaos.campaign import Campaign, Outcome
from tests.spark.chaos.figures import figures
from tests.spark.chaos.outputs import Difference
from tests.spark.chaos.strikes import Role, strikes

KILLS = int(os.environ.get("KILLS", "10"))
SEED = int(os.environ.get("SEED", "11"))
ENGINE = engine_choice(os.environ.get("ENGINE", DEFAULT_ENGINE))
# In one process there are no executors. A local cluster has two, and Spark itself repeats their tasks.
# Nodes that stay need a slot each: there are three, and one more reads.
LOCAL, CLUSTER = (
    ("local[4]", "local-cluster[2,2,1024]")
    if ENGINE is EngineChoice.RESIDENT
    else ("local[2]", "local-cluster[2,1,1024]")
)
MASTERS = {LOCAL: (Role.DRIVER, Role.JAVA, Role.DAEMON, Role.WORKER), CLUSTER: tuple(Role)}


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def strike_often(campaign: Campaign, master: str, kills: int) -> list[Outcome]:
    """Strike a run until so many strikes have hit."""
    outcomes: list[Outcome] = []
    campaign.start(master)
    for strike in strikes(MASTERS[master], SEED):
        outcomes.append(campaign.strike(strike, master))
        hits = sum(outcome.hit for outcome in outcomes)
        show(f"{hits:3} {outcomes[-1]}")
        if hits == kills:
            break
    return outcomes


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found as Linux tells of them")
def test_a_run_that_is_struck_again_and_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, SEED, str(ENGINE))
    outcomes: list[Outcome] = []
    try:
        for number, master in enumerate(MASTERS):
            if number:
                campaign.stop()
            outcomes += strike_often(campaign, master, (KILLS + number) // len(MASTERS))
        difference = campaign.end()
        left = campaign.leftovers()
    finally:
        campaign.kill()
    show(figures(outcomes))
    show(f"seed {SEED}: {campaign.place().batch + 1} batches, {campaign.fed} files of each source")
    assert difference == Difference(0, 0)
    assert [outcome.difference for outcome in outcomes if outcome.difference != Difference(0, 0)] == []
    assert all(outcome.commits > 0 for outcome in outcomes)
    assert [process.command for process in left] == []
