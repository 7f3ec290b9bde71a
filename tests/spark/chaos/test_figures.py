from __future__ import annotations

from tests.spark.chaos.campaign import Outcome
from tests.spark.chaos.figures import figures
from tests.spark.chaos.outputs import Difference
from tests.spark.chaos.strikes import Role, Strike, Way


def outcome(role: Role, way: Way, seconds: float, *, hit: bool = True, restarted: bool = False) -> Outcome:
    return Outcome("local[2]", Strike(role, way, 0.5, 1.0, 0.0), 3, hit, restarted, Difference(1, 2), seconds)


def test_a_line_for_each_process_and_way() -> None:
    outcomes = [
        outcome(Role.WORKER, Way.KILL, 4.0),
        outcome(Role.JAVA, Way.INTERRUPT, 0.5, hit=False),
        outcome(Role.DRIVER, Way.KILL, 9.0, restarted=True),
        outcome(Role.WORKER, Way.KILL, 1.0, restarted=True),
        outcome(Role.WORKER, Way.KILL, 2.0),
    ]
    assert figures(outcomes).splitlines()[2:] == [
        "| driver, Python | SIGKILL | 1 | 3 | 0 | 1 | 1 | 2 | 9.0 | 9.0 |",
        "| driver, JVM | SIGINT twice | ignored |  |  |  |  |  |  |  |",
        "| Python worker | SIGKILL | 3 | 3 | 2 | 1 | 3 | 6 | 2.0 | 4.0 |",
        "| all |  | 4 | 3 | 2 | 2 | 4 | 8 | 3.0 | 9.0 |",
    ]


def test_a_strike_in_words() -> None:
    assert str(outcome(Role.DRIVER, Way.KILL, 9.0, restarted=True)) == (
        "local[2]: driver, Python: SIGKILL, 0.50 s after a commit (3 commits before): after a restart, next commit "
        "after 9.0 s; 1 lost, 2 doubled"
    )
