from __future__ import annotations

import json
from dataclasses import replace

from drover.flow.parking import ParkedOperator
from drover.web.report import RunFiles, build_report, summary_data, summary_sentences
from tests.web.sample_run import proposal, run_files


def sentences(given: RunFiles) -> tuple[str, ...]:
    return summary_sentences(build_report(given))


def test_the_summary_of_a_small_run() -> None:
    assert sentences(run_files()) == (
        "In 12 periods of 25 s in total, 24 batches read 12,078 rows: 487 per second.",
        "Plan 3 places 6 units on 3 nodes. The control loop runs in mode auto.",
        "The control loop made 1 move in 1 plan change. It refused 1 proposed plan and 3 single moves.",
        "1 plan change came from outside the control loop.",
        (
            "The most loaded node is node 2, at 41.2 % of its capacity. It carries 29.2 % of the total load; "
            "its fair share is 20.0 %."
        ),
        "A batch took 306 ms on average. The slowest took 512 ms, at 0:24.8.",
        "Rows of a source went to 1.07 nodes on average; the router sent 678 kB in total.",
        "All rates together can grow by a factor of 1.14 before node 2 is full.",
        "The source with the least headroom is east: alone, it can grow by a factor of 1.2 before node 2 is full.",
    )


def test_an_empty_checkpoint_has_a_summary() -> None:
    assert sentences(RunFiles("x")) == (
        "No period has been measured yet.",
        "The control loop made 0 moves in 0 plan changes. It refused 0 proposed plans and 0 single moves.",
    )


def test_overloaded_nodes_are_named() -> None:
    given = run_files()
    assert given.settings is not None
    tight = replace(given, settings=replace(given.settings, capacity=(0.01, 0.01, 0.01)))
    assert any(each.startswith("Overloaded: nodes 0, 1, 2. All rates must shrink by") for each in sentences(tight))


def test_a_waiting_proposal_and_drained_nodes_are_named() -> None:
    given = run_files()
    state = replace(given.saved.state, waiting=proposal())
    saved = replace(given.saved, state=state, drained=frozenset({2}))
    found = sentences(replace(given, saved=saved))
    assert f"Proposal p5 is waiting to be applied: {proposal().reason}." in found
    assert "Drained: node 2." in found


def test_parked_operators_are_named() -> None:
    parked = ParkedOperator("ValueError: no", holds=True, since=3, rows=2, bytes=40)
    given = replace(run_files(), parked={"scored": parked})
    assert "Operator scored is parked since batch 3: ValueError: no. It holds 2 rows, 40 bytes." in sentences(given)
    assert summary_data(build_report(given))["parked"]["scored"]["rows"] == 2


def test_programs_get_the_same_as_json() -> None:
    found = summary_data(build_report(run_files()))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {name: found[name] for name in ("periods", "batches", "rows", "changes", "moves", "refused")} == {
        "periods": 12,
        "batches": 24,
        "rows": 12_078,
        "changes": 2,
        "moves": 1,
        "refused": 1,
    }
    assert found["headroom"]["first_node"] == 2
    assert found["headroom"]["weakest_source"] == "east"


def test_unknown_values_are_null() -> None:
    found = summary_data(build_report(RunFiles("x")))
    assert (found["plan"], found["headroom"], found["queries"], found["loads"]) == (None, None, None, [])
