"""Mutation testing: change the code in small ways, and report every change that no test notices.

Usage: python scripts/mutants.py [MODULE ...]. MODULE is a path below src/drover, such as control or flow/watermarks.
Without MODULE, every module in MUTATED is tested, which takes hours.

Rule 1: mutmut works on a copy in build/mutants, so the tree itself is never changed. Rule 2: a module is tested by the
test file of its name, and by the further files that tests/mutants.toml lists. Rule 3: a surviving mutant is killed by a
better test, or tests/mutants.toml says why no test can kill it. Rule 4: the wording of texts is not mutated, and a
mutant that only changes the type of an array or `strict` of a zip is not reported: tests compare the words that matter,
and mypy knows the types.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SCRATCH: Final = ROOT / "build" / "mutants"
ACCEPTED: Final = ROOT / "tests" / "mutants.toml"
MUTATED: Final = ("control", "flow/state", "flow/watermarks", "diffusion", "hierarchy")
COPIED: Final = ("src", "tests", "docs", "examples", "scripts", "pyproject.toml", "README.md", "Makefile")
UNUSED: Final = ("cacheprovider", "xdist", "unraisableexception")  # plugins of pytest
NUMBER: Final = re.compile(r"__mutmut_\d+$")

# mutmut without its mutants of texts.
RUN: Final = """
from mutmut.mutation import mutators
operators = mutators.mutation_operators
operators[:] = [row for row in operators if row[1] is not mutators.operator_string]
from mutmut.__main__ import cli
cli()
"""
# A mutant is dead at the first failing example, so none is made smaller, and every run tries the same examples.
PROFILE: Final = """
from hypothesis import Phase
settings.register_profile(
    "mutants", settings.get_profile("drover"), derandomize=True, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("mutants")
"""
SEPARATOR: Final = "=" * 40 + "\n"
# One process for all diffs: `mutmut show` takes a second for each.
SHOW: Final = f"""
import sys
from mutmut.mutation.diff_apply import get_diff_for_mutant
for name in sys.argv[1:]:
    print(get_diff_for_mutant(name))
    print({SEPARATOR!r}, end="")
"""

Json = Mapping[str, Any]  # Any: as read from a file


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that no test kills: the function, and the code before and after the change."""

    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.function}\n    - {self.before}\n    + {self.after}"


def modules_of(names: Sequence[str]) -> list[Path]:
    """Return the source files that the names stand for, relative to src/drover; SystemExit if there is none."""
    found: list[Path] = []
    package = ROOT / "src" / "drover"
    for name in names:
        path = package / name.removesuffix(".py").replace(".", "/")
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        if not all(file.is_file() for file in files):
            raise SystemExit(f"there is no module {name!r} in src/drover. Give for example {MUTATED[0]}.")
        found += [
            file.relative_to(package) for file in files if file.name != "__init__.py" and "kernels" not in file.name
        ]
    return found


def select_tests(modules: Sequence[Path], further: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the test files that kill the mutants of these modules; a module without one is an error."""
    found: dict[str, None] = {}
    for module in modules:
        own = Path("tests") / module.parent / f"test_{module.stem}.py"
        files = [str(own)] if (ROOT / own).is_file() else []
        files += further.get(module.with_suffix("").as_posix(), [])
        if not files:
            raise SystemExit(
                f"no test file for {module}: write {own}, or list others under [tests] in {ACCEPTED.name}."
            )
        found |= dict.fromkeys(files)
    return list(found)


def prepare(modules: Sequence[Path], tests: Sequence[str]) -> None:
    """Copy the tree to build/mutants, with mutmut's settings for these modules."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, SCRATCH / name, ignore=ignored)
        else:
            shutil.copy(source, SCRATCH / name)
    settings = {
        "source_paths": ["src/"],
        "only_mutate": [f"src/drover/{module.as_posix()}" for module in modules],
        "also_copy": [name for name in COPIED if name not in {"src", "tests", "pyproject.toml"}],
        "pytest_add_cli_args_test_selection": list(tests),
        # Slow tests would run once per mutant; a cache or a second process would disturb the forks. Looking for
        # unraisable exceptions collects garbage, which takes half of the time that pytest needs for a mutant.
        "pytest_add_cli_args": ["-m", "not slow", *(f"-pno:{name}" for name in UNUSED)],
        # Polars has threads, and a fork of a process with threads may hang; the fork server has run no test yet.
        "process_isolation": "forkserver",
        "use_git_change_detection": False,
        # A mutant that loops for ever would otherwise take fifteen times as long as its tests.
        "timeout_multiplier": 5.0,
    }
    lines = [f"{name} = {_toml(value)}" for name, value in settings.items()]
    with (SCRATCH / "tests" / "conftest.py").open("a", encoding="utf-8") as file:
        file.write(PROFILE)
    with (SCRATCH / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[tool.mutmut]", *lines, ""]))


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).replace("'", '"')


def mutmut(*arguments: str, quiet: bool = True) -> str:
    """Run mutmut in the scratch folder, and return what it prints."""
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(
        command,
        cwd=SCRATCH,
        check=False,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT,
    )
    if done.returncode and not quiet:
        raise SystemExit(f"mutmut ended with code {done.returncode}. Do the tests pass without a mutant?")
    return done.stdout or ""


def survivors() -> Iterator[Survivor]:
    """Yield the mutants that no test killed, without those that only change a type or `strict`."""
    results = (line.strip().partition(": ") for line in mutmut("results").splitlines())
    names = [name for name, _, verdict in results if verdict in {"survived", "no tests", "suspicious"}]
    command = [sys.executable, "-c", SHOW, *names]
    shown = subprocess.run(command, cwd=SCRATCH, check=True, text=True, stdout=subprocess.PIPE).stdout
    for name, diff in zip(names, shown.split(SEPARATOR), strict=False):
        found = survivor_of(name, diff)
        if essence(found.before) != essence(found.after):
            yield found


def essence(code: str) -> str:
    """Return code without types of arrays and `strict` of a zip.

    >>> essence('zip(a, b, strict=True)') == essence('zip(a, b, )')
    True
    >>> essence('np.zeros(n, dtype=np.int64)') == essence('np.zeros(n, dtype=None)')
    True
    """
    plain = re.sub(r"(dtype|strict)=[\w.]+", "", code)
    plain = re.sub(r"astype\([\w.]+\)", "astype()", plain)
    return re.sub(r", *\)", ")", plain)


def survivor_of(name: str, diff: str) -> Survivor:
    """Return a survivor from mutmut's name for it and from its diff."""
    changed = [line for line in diff.splitlines() if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}]
    before, after = (" ".join(line[1:].strip() for line in changed if line[0] == sign) for sign in "-+")
    return Survivor(function_of(name), before, after)


def function_of(name: str) -> str:
    """Return the full name of a mutated function.

    >>> function_of("drover.control.moves.x__gain__mutmut_3")
    'drover.control.moves._gain'
    >>> function_of("drover.control.moves.xǁMoveCostǁof__mutmut_1")
    'drover.control.moves.MoveCost.of'
    """
    plain = NUMBER.sub("", name)
    module, _, function = plain.rpartition(".")
    if function.startswith("xǁ"):
        return f"{module}.{function.removeprefix('xǁ').replace('ǁ', '.')}"
    return f"{module}.{function.removeprefix('x_')}"


def unexplained(found: Sequence[Survivor], accepted: Sequence[Json]) -> list[Survivor]:
    """Return the survivors that the table of accepted ones does not explain."""
    known = {(row["function"], row["before"], row["after"]) for row in accepted}
    return [each for each in found if (each.function, each.before, each.after) not in known]


def main(names: Sequence[str]) -> int:
    """Test the mutants of some modules; return 1 if one survives without an explanation."""
    table = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    modules = modules_of(names or MUTATED)
    prepare(modules, select_tests(modules, table.get("tests", {})))
    mutmut("run", "--max-children", str(os.cpu_count() or 1), quiet=False)
    found = list(survivors())
    left = unexplained(found, table.get("accepted", []))
    for each in left:
        print(each)
    print(f"{len(found)} mutants survived, {len(found) - len(left)} of them explained in {ACCEPTED.relative_to(ROOT)}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
