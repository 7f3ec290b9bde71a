"""The work and the output of `drover plan`; apart from the command, because its imports take a second."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import click
import numpy as np
from numpy.random import default_rng

from drover.cli.headroom import table
from drover.cli.load_options import origin_lines, read_capacity, read_load_options
from drover.errors import nearest, shorten, visible
from drover.load.arrays import Ints
from drover.load.headroom import growth
from drover.load.profile import Profile
from drover.network.model import Network
from drover.network.schema import known
from drover.placement.judge import Rejected, Verdict, compare, judge
from drover.placement.model import problem_of
from drover.placement.plan import Move, Plan, moves, round_robin, unit_of
from drover.placement.problem import Groups, PlacementProblem
from drover.placement.score import PlanScore, node_loads, score
from drover.placement.super_operators import fuse_tiny, propose_fused
from drover.wording import NAMED, count, named

SHOWN = 60  # characters of a node's units, and moves of a plan


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What to plan for: the profile of a network, and its placement problem."""

    profile: Profile
    problem: PlacementProblem


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan and how it compares with the one before."""

    profile: Profile
    problem: PlacementProblem
    policy: str
    changes: bool  # whether there was a plan before; otherwise `before` is round-robin, for comparison
    before: Plan
    after: Plan
    scores: tuple[PlanScore, PlanScore]
    verdicts: tuple[Verdict, ...]
    refusal: str | None
    moves: tuple[tuple[Move, str], ...]  # each with its reason


def read_request(
    network: Network, rates: Sequence[str], statistics: str | None, capacity: Sequence[str], nodes: int
) -> PlanRequest:
    """Return the request that the options describe."""
    options = read_load_options(network, rates, statistics)
    problem = problem_of(options.profile, read_capacity(capacity, nodes), series=options.series)
    return PlanRequest(options.profile, problem)


def with_rules(
    request: PlanRequest, pins: Sequence[str], together: Sequence[str], apart: Sequence[str]
) -> PlacementProblem:
    """Return the problem with pins such as `counts=0` and groups such as `busy,small`."""
    problem = request.problem
    pinned = np.array(problem.pinned)
    for text in pins:
        unit, _, node = text.rpartition("=")
        if not unit or not node.isascii() or not node.isdigit() or int(node) >= problem.n:
            raise click.BadParameter(
                f"{shorten(text)} is not of the form UNIT=NODE; the nodes are 0 to {problem.n - 1}."
            )
        pinned[_unit(problem, unit)] = int(node)
    return replace(problem, pinned=pinned, together=_groups(problem, together), apart=_groups(problem, apart))


def _groups(problem: PlacementProblem, texts: Sequence[str]) -> Groups:
    return tuple(tuple(dict.fromkeys(_unit(problem, name) for name in text.split(","))) for text in texts)


def _unit(problem: PlacementProblem, name: str) -> int:
    if name not in problem.units:
        hint = visible(f"{nearest(name, problem.units)}Known: {known(problem.units)}.")
        raise click.BadParameter(f"{shorten(name)} is not a unit of the network. {hint}")
    return problem.units.index(name)


def make_report(
    request: PlanRequest, problem: PlacementProblem, current: Plan | None, policy: str, seed: int
) -> PlanReport:
    """Return the plan that a policy proposes, compared with the current plan, or else with round-robin."""
    before = current or round_robin(request.profile.network, problem.n)
    start = problem.places(before)
    given = problem if current is None else replace(problem, current=start)
    places = propose_fused(given, policy, default_rng(seed))
    after = problem.plan(places, before.number + 1)
    scored = replace(problem, current=start)
    verdict = judge(problem, start, places)
    found = score(scored, start), score(scored, places)
    scores = _exact(request.profile, problem, found[0], before), _exact(request.profile, problem, found[1], after)
    sizes = dict(zip(problem.units, problem.state.tolist(), strict=True))
    made = () if current is None else moves(before, after, sizes)
    return PlanReport(
        request.profile,
        problem,
        policy,
        current is not None,
        before,
        after,
        scores,
        compare(*scores),
        verdict.reason if isinstance(verdict, Rejected) and current is not None else None,
        tuple(_with_reasons(scored, places, found[1], made)),
    )


def _with_reasons(
    problem: PlacementProblem, places: Ints, now: PlanScore, made: Sequence[Move]
) -> Iterator[tuple[Move, str]]:
    """Yield each move with its reason, which the moves of a super-operator share."""
    owner = dict(zip(problem.units, fuse_tiny(problem, stay=True).owner.tolist(), strict=True))
    groups: dict[tuple[int, int], list[Move]] = {}
    for move in made:
        groups.setdefault((owner[move.unit], move.target), []).append(move)
    why = {key: reason(problem, places, now, *group) for key, group in groups.items()}
    yield from ((move, why[owner[move.unit], move.target]) for move in made)


def _exact(profile: Profile, problem: PlacementProblem, found: PlanScore, plan: Plan) -> PlanScore:
    """Return a score with the exact headroom, as in `drover headroom`: the linear model treats joins as linear."""
    units = {operator.name: unit_of(operator) for operator in profile.network.operators}
    if not all(plan.node_of.get(unit, problem.n) < problem.n for unit in units.values()):
        return found
    return replace(found, headroom=growth(profile, units, plan.node_of, problem.capacity).factor)


def reason(problem: PlacementProblem, places: Ints, now: PlanScore, move: Move, *others: Move) -> str:
    """Return what would be worse if the units had stayed: the goal that would change most."""
    if move.source is None or move.source >= problem.n:
        return "it had no node"
    undone = np.array(places)
    undone[np.isin(problem.units, [move.unit, *(other.unit for other in others)])] = move.source
    worse = [verdict for verdict in compare(now, score(problem, undone)) if verdict.change == "worse"]
    if not worse:
        return "makes room for others"
    most = max(worse, key=lambda verdict: abs(math.log((verdict.after + 1e-9) / (verdict.before + 1e-9))))
    return f"without it, {most.goal.words} would be {most.after:.4g} instead of {most.before:.4g}"


def lines(answer: PlanReport) -> Iterator[str]:
    """Yield the output for people."""
    name = visible(answer.profile.network.name)
    nodes = count(answer.problem.n, "node")
    made = f"{count(len(answer.moves), 'move')} from plan {answer.before.number}" if answer.changes else "a first plan"
    yield f"{name} on {nodes}, by {answer.policy}: {made}"
    yield ""
    yield from table(["node", "load", "capacity", "used", "units"], list(_node_rows(answer)))
    yield ""
    former = "before" if answer.changes else "round-robin"
    yield from table(["goal", former, "planned", "verdict"], [_goal_row(verdict) for verdict in answer.verdicts])
    yield ""
    moved = list(_move_lines(answer.moves))
    yield from moved[:SHOWN]
    if len(moved) > SHOWN:
        yield f"... and {len(moved) - SHOWN} more lines of moves"
    if answer.refusal is not None:
        yield f"the judge rejects this change: {visible(answer.refusal)}"
    elif answer.changes:
        yield "the judge accepts this change"
    yield from origin_lines(answer.profile)


def _move_lines(made: Sequence[tuple[Move, str]]) -> Iterator[str]:
    """Yield a line for each move; more than a few with the same reason share one."""
    groups: dict[tuple[int | None, int, str], list[Move]] = {}
    for move, why in made:
        groups.setdefault((move.source, move.target, why), []).append(move)
    for (_, _, why), group in groups.items():
        if len(group) <= NAMED:
            yield from (f"{visible(str(move))}; {why}" for move in group)
        else:
            many = replace(group[0], unit=named([move.unit for move in group]))
            yield f"{visible(str(many))}; {why}"


def _node_rows(answer: PlanReport) -> Iterator[list[str]]:
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


def plan_data(answer: PlanReport) -> dict[str, object]:
    """Return the plan in the form of a plan file."""
    return {"number": answer.after.number, "nodes": answer.after.nodes, "node_of": dict(answer.after.node_of)}


def as_data(answer: PlanReport) -> dict[str, object]:
    """Return the output for programs: a plan file with more fields; unknown and unlimited values are null."""
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
