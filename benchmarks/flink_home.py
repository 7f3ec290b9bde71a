"""Flink in a folder of its own, made on demand in the user's cache: its jars, the Parquet format, and our program.

Rule 1: Flink's jars are PyPI's `apache-flink-libraries`, which `apache-flink` installs, too. PyFlink itself is not
needed, because the work is SQL and Java. The Parquet format comes from Maven Central by Ivy, which is in PySpark's jars
as Hadoop's classes are. So mirrors and proxies are set up as for Spark's own `spark.jars.packages`.
Rule 2: the folder is complete or absent; its name has the version of Flink and a hash of our program.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyspark

from benchmarks.sides import say
from drover.errors import DroverError
from drover.spark.java import JavaHome, cache_directory, choose_java

VERSION = "2.3.0"
PROGRAM = Path(__file__).with_name("flink_peer")
PARQUET = ("org.apache.flink", "flink-sql-parquet", VERSION)
PARQUET_SHA256 = "f30617f4a5a6d437750f155ff72178ab34439aec91df64d96621c260559ba5fd"
PATIENCE = 600  # seconds: the jars have 330 MB
OPENED = (
    "java.lang",
    "java.util",
    "java.util.concurrent",
    "java.nio",
    "java.net",
    "java.time",
)  # as Flink's scripts do


@dataclass(frozen=True, slots=True)
class FlinkHome:
    """A Flink that is ready to run."""

    java: Path
    class_path: str

    def command(self, options: tuple[str, ...], *arguments: str) -> list[str]:
        """Return the command that starts our program."""
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        return [str(self.java), *opened, *options, "-cp", self.class_path, "FlinkPeer", *arguments]


def _libraries() -> Path:
    return cache_directory(os.environ).parent / f"flink-{VERSION}"


def is_there() -> bool:
    """Return whether Flink has been fetched."""
    return _libraries().exists()


def flink_home() -> FlinkHome:
    """Return Flink; the first call fetches and compiles it."""
    java = choose_java(os.environ)
    sources = sorted(PROGRAM.glob("*.java"))
    key = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    libraries = _libraries()
    classes = libraries.with_name(f"{libraries.name}-program-{key}")
    if not libraries.exists():
        _build(libraries, lambda folder: _fetch(java, folder))
    if not classes.exists():
        _build(classes, lambda folder: _compile(java, libraries, sources, folder))
    return FlinkHome(java.executable, os.pathsep.join([str(classes), *_jars(libraries)]))


def _build(final: Path, fill: Callable[[Path], None]) -> None:
    aside = Path(tempfile.mkdtemp(prefix=".building-", dir=final.parent))
    try:
        fill(aside)
        aside.rename(final)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fetch(java: JavaHome, folder: Path) -> None:
    say(f"fetching Flink {VERSION}: 330 MB from PyPI, 9 MB from Maven Central; only this once")
    package = f"apache-flink-libraries=={VERSION}"
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "pypi"), package])
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    fetch = (str(java.executable), "-jar", str(ivy), "-cache", str(folder / "ivy"), "-notransitive")
    # Ivy writes nothing if the name has no pattern. `default` has neither sources nor documentation.
    _run([*fetch, "-dependency", *PARQUET, "-confs", "default", "-retrieve", str(folder / "[artifact].[ext]")])
    shutil.rmtree(folder / "ivy")
    if (found := hashlib.sha256(_parquet(folder).read_bytes()).hexdigest()) != PARQUET_SHA256:
        raise DroverError(
            f"Flink's Parquet format has the SHA-256 {found}, but must have {PARQUET_SHA256}. "
            "Look for the repository that Ivy took it from, and do not use it."
        )


def _parquet(libraries: Path) -> Path:
    return libraries / f"{PARQUET[1]}.jar"


def _jars(libraries: Path) -> list[str]:
    hadoop = Path(pyspark.__file__).parent / "jars"
    found = [*libraries.glob("pypi/pyflink/lib/*.jar"), _parquet(libraries), *hadoop.glob("hadoop-client-*.jar")]
    return sorted(map(str, found))


def _compile(java: JavaHome, libraries: Path, sources: list[Path], folder: Path) -> None:
    compiler = java.path / "bin" / "javac"
    if not compiler.exists():
        raise DroverError(
            f"Java at {java.path} has no compiler (bin/javac), which Flink's side of the benchmark needs. "
            "Install a JDK of version 17 or 21 and set JAVA_HOME to it."
        )
    _run([str(compiler), "-cp", os.pathsep.join(_jars(libraries)), "-d", str(folder), *map(str, sources)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise DroverError(
            f"`{Path(command[0]).name} ...` ended with {done.returncode}: {done.stderr.strip()[-2000:]} "
            "Flink's side needs PyPI, Maven Central and a JDK once; the other benchmarks do without."
        )
