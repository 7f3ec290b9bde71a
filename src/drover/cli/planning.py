"""What `drover plan` finds out and says; apart from the command, because it takes a second to import."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import click
import numpy as np
from numpy.random import default_rng

from drover.cli.headroom import table
from drover.cli.loads import knowledge, read_capacity, told_of
from drover.errors import nearest, shorten, visible
from drover.load.arrays import Ints
from drover.load.headroom import growth
from drover.load.profile import Profile
from drover.network.drawing.summary import count
from drover.network.model import Network
from drover.network.schema import known
from drover.placement.judge import Rejected, Verdict, compare, judge
from drover.placement.model import problem_of
from drover.placement.plan import Move, Plan, moves, round_robin, unit_of
from drover.placement.policy import propose
from drover.placement.problem import Groups, Problem
from drover.placement.score import Score, node_loads, score

SHOWN = 60  # characters of a node's units, and moves of a plan


@dataclass(frozen=True, slots=True)
class Question:
    """A network with what is known of it."""

    profile: Profile
    problem: Problem


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is to be said."""

    profile: Profile
    problem: Problem
    policy: str
    changes: bool  # whether there is a plan already; otherwise `before` deals the units out in turn, to compare with
    before: Plan
    after: Plan
    scores: tuple[Score, Score]
    verdicts: tuple[Verdict, ...]
    refusal: str | None
    moves: tuple[tuple[Move, str], ...]  # each with its reason


def ask(
    network: Network, rates: Sequence[str], statistics: str | None, capacity: Sequence[str], nodes: int
) -> Question:
    """Return what the options say of a network."""
    told = told_of(network, rates, statistics)
    return Question(told.profile, problem_of(told.profile, read_capacity(capacity, nodes), series=told.series))


def with_rules(question: Question, pins: Sequence[str], together: Sequence[str], apart: Sequence[str]) -> Problem:
    """Return the problem with pins such as `counts=0` and groups such as `busy,small`."""
    problem = question.problem
    pinned = np.array(problem.pinned)
    for text in pins:
        unit, _, node = text.rpartition("=")
        if not unit or not node.isascii() or not node.isdigit() or int(node) >= problem.n:
            raise click.BadParameter(f"{shorten(text)} is no UNIT=NODE; the nodes are 0 to {problem.n - 1}.")
        pinned[_unit(problem, unit)] = int(node)
    return replace(problem, pinned=pinned, together=_groups(problem, together), apart=_groups(problem, apart))


def _groups(problem: Problem, texts: Sequence[str]) -> Groups:
    return tuple(tuple(dict.fromkeys(_unit(problem, name) for name in text.split(","))) for text in texts)


def _unit(problem: Problem, name: str) -> int:
    if name not in problem.units:
        hint = visible(f"{nearest(name, problem.units)}Known: {known(problem.units)}.")
        raise click.BadParameter(f"{shorten(name)} is no unit of the network. {hint}")
    return problem.units.index(name)


def find(question: Question, problem: Problem, current: Plan | None, policy: str, seed: int) -> Answer:
    """Return the plan that a policy proposes, compared with the current one, or with units dealt out in turn."""
    before = current or round_robin(question.profile.network, problem.n)
    start = problem.places(before)
    asked = problem if current is None else replace(problem, current=start)
    places = propose(asked, policy, default_rng(seed))
    after = problem.plan(places, before.number + 1)
    scored = replace(problem, current=start)
    verdict = judge(problem, start, places)
    found = score(scored, start), score(scored, places)
    scores = _exact(question.profile, problem, found[0], before), _exact(question.profile, problem, found[1], after)
    sizes = dict(zip(problem.units, problem.state.tolist(), strict=True))
    made = () if current is None else moves(before, after, sizes)
    return Answer(
        question.profile,
        problem,
        policy,
        current is not None,
        before,
        after,
        scores,
        compare(*scores),
        verdict.reason if isinstance(verdict, Rejected) and current is not None else None,
        tuple((move, reason(scored, places, found[1], move)) for move in made),
    )


def _exact(profile: Profile, problem: Problem, found: Score, plan: Plan) -> Score:
    """Return a score with the headroom that `drover headroom` tells: the linear model takes joins for linear."""
    units = {operator.name: unit_of(operator) for operator in profile.network.operators}
    if not all(plan.node_of.get(unit, problem.n) < problem.n for unit in units.values()):
        return found
    return replace(found, headroom=growth(profile, units, plan.node_of, problem.capacity).factor)


def reason(problem: Problem, places: Ints, now: Score, move: Move) -> str:
    """Return what would be worse if a unit had stayed, in words: of all goals the one that would change most."""
    if move.source is None or move.source >= problem.n:
        return "it had no node"
    undone = np.array(places)
    undone[problem.units.index(move.unit)] = move.source
    worse = [verdict for verdict in compare(now, score(problem, undone)) if verdict.change == "worse"]
    if not worse:
        return "makes room for others"
    most = max(worse, key=lambda verdict: abs(math.log((verdict.after + 1e-9) / (verdict.before + 1e-9))))
    return f"without it, {most.goal.words} would be {most.after:.4g} instead of {most.before:.4g}"


def lines(answer: Answer) -> Iterator[str]:
    """Yield what a person reads."""
    name, nodes = visible(answer.profile.network.name), count(answer.problem.n, "node")
    made = f"{count(len(answer.moves), 'move')} from plan {answer.before.number}" if answer.changes else "a first plan"
    yield f"{name} on {nodes}, by {answer.policy}: {made}"
    yield ""
    yield from table(["node", "load", "capacity", "used", "units"], list(_node_rows(answer)))
    yield ""
    former = "before" if answer.changes else "in turn"
    yield from table(["goal", former, "planned", "verdict"], [_goal_row(verdict) for verdict in answer.verdicts])
    yield ""
    for move, why in answer.moves[:SHOWN]:
        yield f"{visible(str(move))}; {why}"
    if len(answer.moves) > SHOWN:
        yield f"... and {len(answer.moves) - SHOWN} more moves"
    if answer.refusal is not None:
        yield f"the judge refuses this change: {visible(answer.refusal)}"
    elif answer.changes:
        yield "the judge accepts this change"
    yield from knowledge(answer.profile)


def _node_rows(answer: Answer) -> Iterator[list[str]]:
    problem = answer.problem
    loads = node_loads(problem, problem.places(answer.after))
    for i, (load, capacity) in enumerate(zip(loads, problem.capacity, strict=True)):
        units = ", ".join(visible(unit) for unit, node in answer.after.node_of.items() if node == i)
        shown = units if len(units) <= SHOWN else f"{units[: SHOWN - 3]}..."
        yield [str(i), f"{load:.4g}", f"{capacity:g}", f"{load / capacity:.1%}", shown or "-"]


def _goal_row(verdict: Verdict) -> list[str]:
    values = ("-" if math.isnan(value) else f"{value:.4g}" for value in (verdict.before, verdict.after))
    missed = "" if verdict.goal.met(verdict.after) else f", beyond {verdict.goal.limit:g}"
    return [verdict.goal.words, *values, f"{verdict.change}{missed}"]


def plan_data(answer: Answer) -> dict[str, object]:
    """Return a plan as a plan file has it."""
    return {"number": answer.after.number, "nodes": answer.after.nodes, "node_of": dict(answer.after.node_of)}


def as_data(answer: Answer) -> dict[str, object]:
    """Return what a program reads: a plan file with more in it; what is not known, or has no limit, is null."""
    problem = answer.problem
    loads = node_loads(problem, problem.places(answer.after))
    before, after = ({key: _finite(value) for key, value in asdict(each).items()} for each in answer.scores)
    return plan_data(answer) | {
        "network": answer.profile.network.name,
        "policy": answer.policy,
        "accepted": answer.refusal is None,
        "reason": answer.refusal,
        "loads": loads.tolist(),
        "capacity": problem.capacity.tolist(),
        "before": before,
        "after": after,
        "goals": [
            {"goal": each.goal.measure, "change": each.change, "met": each.goal.met(each.after)}
            for each in answer.verdicts
        ],
        "moves": [
            {"unit": move.unit, "source": move.source, "target": move.target, "bytes": move.bytes, "why": why}
            for move, why in answer.moves
        ],
        "known": answer.profile.counts(),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
