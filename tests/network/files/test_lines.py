from __future__ import annotations

from drover.errors import Fault
from drover.network.check import MOST_FAULTS
from drover.network.files.document import read_document
from drover.network.files.lines import by_line, placed

TEXT = """\
name: n
outputs: [a, b]
operators:
  f:
    kind: filter
"""


def line_of(*path: str | int) -> int | None:
    root = read_document(TEXT).root
    assert root is not None
    (fault,) = placed([Fault(path, "x", "rule", "way out")], root)
    return fault.line


def test_a_fault_gets_the_line_of_the_most_specific_node() -> None:
    assert line_of("name") == 1
    assert line_of("outputs", 1) == 2
    assert line_of("operators", "f", "kind") == 5
    assert line_of("operators", "f", "where") == 4
    assert line_of("nothing") == 1


def test_faults_are_sorted_listed_once_and_limited() -> None:
    faults = [Fault(("a",), str(line), "rule", "way out", line) for line in range(MOST_FAULTS + 5, 0, -1)]
    listed = by_line([*faults, *faults])
    assert [fault.line for fault in listed[:3]] == [1, 2, 3]
    assert len(listed) == MOST_FAULTS + 1
    assert "5 more faults" in str(listed[-1])
