"""scripts/setup.sh on pretended machines: a Python is a script that answers as told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "setup.sh"
TOOLS = ("cat", "date", "dirname", "grep", "mkdir", "rm", "sh", "tail", "cp", "chmod")

# Answers the questions of setup.sh: version, ensurepip, `-m venv` (copies itself into .venv) and `-m pip`.
PYTHON = """\
#!/bin/sh
case "$*" in
*version_info*) exit {old} ;;
*ensurepip*) exit {no_venv} ;;
-V) echo "Python 3.12.0" ;;
*"-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
*"-m pip"*) echo "Collecting numpy==2.0 (from the lock)"; exit {pip_fails} ;;
esac
"""


class Machine:
    """A checkout with a lock, on a PATH of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root / "my checkout"
        self.path = root / "bin"
        (self.root / "scripts").mkdir(parents=True)
        (self.root / "scripts" / "setup.sh").write_bytes(SCRIPT.read_bytes())
        (self.root / "requirements.lock").write_text("numpy==2.0\n", encoding="utf-8")
        self.path.mkdir()
        for tool in TOOLS:
            (self.path / tool).symlink_to(next(p for p in (Path("/usr/bin", tool), Path("/bin", tool)) if p.exists()))

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / ".drover-setup"

    def install(self, name: str, *, old: bool = False, no_venv: bool = False, pip_fails: bool = False) -> None:
        python = self.path / name
        python.write_text(PYTHON.format(old=int(old), no_venv=int(no_venv), pip_fails=int(pip_fails)), encoding="utf-8")
        python.chmod(0o755)

    def setup(self) -> subprocess.CompletedProcess[str]:
        command = [self.path / "sh", self.root / "scripts" / "setup.sh"]
        return subprocess.run(command, env={"PATH": str(self.path)}, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_a_new_enough_python_it_says_so(machine: Machine) -> None:
    machine.install("python3", old=True)
    done = machine.setup()
    assert done.returncode != 0
    assert "no Python 3.11 or newer found" in done.stderr


def test_without_ensurepip_it_names_the_package_to_install(machine: Machine) -> None:
    machine.install("python3", no_venv=True)
    done = machine.setup()
    assert done.returncode != 0
    assert "apt install python3-venv" in done.stderr
    assert not machine.stamp.exists()


def test_a_python_without_venv_is_skipped(machine: Machine) -> None:
    machine.install("python3", old=True)
    machine.install("python3.13", no_venv=True)
    machine.install("python3.12")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "bin/python3.12 (Python 3.12.0)" in done.stderr
    assert "1 of at most 1: numpy==2.0" in done.stderr


def test_the_stamp_names_the_tree_it_was_made_in(machine: Machine) -> None:
    machine.install("python3")
    assert machine.setup().returncode == 0
    assert machine.stamp.read_text(encoding="utf-8") == f"{machine.root.resolve()}\n"
    assert "bringing .venv up to date" in machine.setup().stderr
    machine.stamp.write_text("/somewhere/else\n", encoding="utf-8")
    assert "building .venv" in machine.setup().stderr


def test_a_failed_install_leaves_no_stamp_and_shows_the_log(machine: Machine) -> None:
    machine.install("python3")
    assert machine.setup().returncode == 0
    machine.install("python3", pip_fails=True)
    (machine.root / ".venv" / "bin" / "python").write_bytes((machine.path / "python3").read_bytes())
    done = machine.setup()
    assert done.returncode != 0
    assert "pip failed" in done.stderr
    assert "Collecting numpy==2.0 (from the lock)" in done.stderr
    assert not machine.stamp.exists()
