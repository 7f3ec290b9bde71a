"""Processor time and memory of this process and its descendants: Java, and Python's workers.

On a shared machine, it says more about the work done than a clock does.
"""

from __future__ import annotations

import os
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat, after the name.
PARENT = 1
USER = 11
SYSTEM = 12
DEAD_USER = 13
DEAD_SYSTEM = 14
RESIDENT = 21


def processes(root: int | None = None) -> dict[int, list[str]]:
    """Return the fields of a process and of its descendants, by number; without `root`, of this process."""
    found: dict[int, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
    family = {os.getpid() if root is None else root}
    while grown := {pid for pid, fields in found.items() if int(fields[PARENT]) in family} - family:
        family |= grown
    return {pid: found[pid] for pid in family if pid in found}


def cpu_seconds(root: int | None = None) -> float:
    """Return the seconds that a process and its descendants have spent so far; without `root`, this process."""
    spent = (int(fields[i]) for fields in processes(root).values() for i in (USER, SYSTEM, DEAD_USER, DEAD_SYSTEM))
    return sum(spent) / TICK


def worker_bytes() -> dict[int, int]:
    """Return the resident memory of each Python process of Spark without children: the workers."""
    family = processes()
    parents = {int(fields[PARENT]) for fields in family.values()}
    return {
        pid: int(fields[RESIDENT]) * PAGE
        for pid, fields in family.items()
        if pid not in parents and b"pyspark" in Path(f"/proc/{pid}/cmdline").read_bytes()
    }


def family_bytes() -> int:
    """Return the memory of this process and its descendants; a page that several of them share counts once."""
    found = 0
    for pid in processes():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            continue
        found += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return found
