"""What moves as one: super-operators of tiny units on the same node, and every other unit by itself.

Rule 1: everybody who chooses moves asks here, and a limit on moves counts what is found here. Plans, records and prices
have single units. Rule 2: units in their cool-down and instances of spread joins are in no super-operator.
"""

from __future__ import annotations

from drover.control.context import ControlContext
from drover.placement.plan import instance_name
from drover.placement.problem import PlacementProblem
from drover.placement.rules import Fused
from drover.placement.super_operators import fuse_tiny


def single_units(context: ControlContext) -> frozenset[str]:
    """Return the units that are placed and moved by themselves, whatever their load is."""
    resting = context.state.resting(context.settings.cool_down)
    spread = context.deployment.plan.instances.items()
    instances = (instance_name(join, k) for join, made in spread for k in range(1 + len(made.others)))
    return frozenset({*resting, *instances})


def fused_units(context: ControlContext, problem: PlacementProblem) -> Fused:
    """Return the problem of the current plan with its super-operators, which is used to choose moves."""
    return fuse_tiny(problem, stay=True, alone=single_units(context))
