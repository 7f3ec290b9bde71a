"""Rewrite the tables of docs/explanation/placement.md and herding.md: `python -m benchmarks.page`, half an hour."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from benchmarks.compare import Outcome

DOCS = Path(__file__).parents[1] / "docs" / "explanation"
PAGES = {"placement.md": ("placement", "resilience", "optimum", "steadiness"), "herding.md": ("herding",)}


def fill(text: str, name: str, table: str) -> str:
    """Return the page with a new table in the block that follows the command that prints it."""
    block = re.compile(rf"(```console\n\$ python -m benchmarks {name}\n).*?(```)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"the page has no block for {name}: ```console, then $ python -m benchmarks {name}")
    lines = "\n".join(line.rstrip() for line in table.strip().splitlines())
    return block.sub(lambda found: f"{found[1]}{lines}\n{found[2]}", text)


def main() -> None:
    for page, names in PAGES.items():
        for name in names:
            outcome: Outcome = import_module(f"benchmarks.{name}").bench(False)
            path = DOCS / page
            path.write_text(fill(path.read_text(encoding="utf-8"), name, outcome.table()), encoding="utf-8")


if __name__ == "__main__":
    main()
