"""Every command and every Python block of README and docs is run, page by page."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from pyspark.sql import SparkSession

from drover import runs
from drover.cli import drover
from drover.spark.bind import start
from tests.docs.markdown import DOCS, ROOT, Block, blocks, inline_code, pages
from tests.docs.session import Session, Stop, assert_like, environment

README = ROOT / "README.md"
TUTORIAL = DOCS / "tutorial" / "index.md"
MOST_EXEMPTIONS = 24


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT))


def blocks_of(page: Path) -> list[Block]:
    return list(blocks(page.read_text(encoding="utf-8")))


def runnable() -> Iterator[object]:
    """The pages that have something to run or to check."""
    for page in pages():
        if page != TUTORIAL and any(block.language != "text" for block in blocks_of(page)):
            marks = [pytest.mark.slow] if page == README else []  # it starts programs of its own
            yield pytest.param(page, id=name_of(page), marks=marks)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, where the page is read."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def in_process(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Stop]:
    """`drover run` in the background, on the Spark of the tests."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the other tests need it, too

    def begin(arguments: list[str]) -> Stop:
        assert len(arguments) == 1, f"only `drover run FILE` can run beside the tests, not {arguments}"
        return start(spark, runs.load(arguments[0])).stop

    return begin


def process(arguments: list[str]) -> Stop:
    """`drover run` in the background, as a process of its own, which Ctrl-C stops."""
    folder = Path.cwd()
    log = (folder / "run.log").open("w", encoding="utf-8")
    command = [sys.executable, "-m", "drover", "run", *arguments]
    running = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=log, stderr=log)

    def interrupt() -> None:
        running.send_signal(signal.SIGINT)
        code = running.wait(timeout=120)
        log.close()
        assert code == 0, (folder / "run.log").read_text(encoding="utf-8")

    return interrupt


def read(page: Path, session: Session) -> None:
    """Run the blocks of a page in order."""
    try:
        for block in blocks_of(page):
            if not block.exempt:
                session.run(block)
    finally:
        session.close()


@pytest.mark.parametrize("page", list(runnable()))
def test_blocks_do_what_the_page_says(page: Path, folder: Path, in_process: Callable[[list[str]], Stop]) -> None:
    before = set(ROOT.iterdir())
    read(page, Session(folder, in_process))
    assert set(ROOT.iterdir()) == before  # nothing is left where Spark was started


@pytest.mark.slow
def test_the_tutorial_works_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read(TUTORIAL, Session(tmp_path, process, alone=True))


def exemptions() -> list[object]:
    return [
        pytest.param(block, id=f"{name_of(page)}:{block.line}")
        for page in pages()
        for block in blocks_of(page)
        if block.exempt
    ]


@pytest.mark.parametrize("block", exemptions())
def test_a_block_that_is_not_run_here_says_why(block: Block) -> None:
    kind, _, reason = block.note.partition(": ")
    if kind == "not run":
        assert len(reason.split()) >= 3, f"{reason!r} is no reason"
    else:
        text = (ROOT / reason).read_text(encoding="utf-8")  # a test
        assert "def test_" in text


def test_few_blocks_are_not_run() -> None:
    assert len(exemptions()) <= MOST_EXEMPTIONS


def inline_commands() -> list[object]:
    found = {(name_of(page), code) for page in pages() for code in inline_code(page.read_text(encoding="utf-8"))}
    return [pytest.param(code, id=f"{page} {code}") for page, code in sorted(found) if code.startswith("drover ")]


@pytest.mark.parametrize("code", inline_commands())
def test_a_command_in_the_text_exists(code: str) -> None:
    words = shlex.split(code)[1:]
    command: click.Command = drover
    path = "drover"
    while words and isinstance(command, click.Group) and not words[0].isupper() and words[0] != "...":
        assert words[0] in command.commands, f"{path} has no command {words[0]!r}"
        path = f"{path} {words[0]}"
        command = command.commands[words.pop(0)]
    options = {name for parameter in command.params for name in parameter.opts} | {"--help", "-h", "--version"}
    assert {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)} <= options
    if path == "drover experiment run":
        assert words[0].isupper() or (DOCS / "experiments" / f"{words[0]}.md").exists()


def inline_benchmarks() -> list[str]:
    found = {code for page in pages() for code in inline_code(page.read_text(encoding="utf-8"))}
    return sorted(code for code in found if code.startswith("python -m "))


@pytest.mark.parametrize("code", inline_benchmarks())
def test_a_module_in_the_text_exists(code: str) -> None:
    module, *rest = code.split()[2:]
    if module == "benchmarks" and rest and rest[0].islower():
        module = f"benchmarks.{rest[0]}"
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()


@pytest.mark.parametrize(
    ("wanted", "found", "like"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("a ...\nb", "a 12 s\nb", True),
        ("a\n...\nz", "a\nb\nc\nz", True),
        ("a\n", "a\nb\n", False),
    ],
)
def test_output_is_compared(wanted: str, found: str, like: bool) -> None:
    if like:
        assert_like(wanted, found, "block")
    else:
        with pytest.raises(AssertionError, match="the page shows"):
            assert_like(wanted, found, "block")


def test_blocks_are_found_with_language_title_and_note() -> None:
    text = '<!-- not run: needs a cluster -->\n```sh\ndrover x\n```\n\ntext\n\n```yaml title="a.yaml"\na: 1\n```\n'
    first, second = blocks(text)
    assert (first.language, first.text, first.exempt) == ("sh", "drover x\n", True)
    assert (second.language, second.title, second.note, second.line) == ("yaml", "a.yaml", "", 9)


def test_a_session_notices_a_block_that_fails(folder: Path) -> None:
    session = Session(folder, process)
    with pytest.raises(AssertionError, match="ended with 1"):
        session.run(Block(1, "sh", "drover check no-such-file.yaml\n"))
    with pytest.raises(ZeroDivisionError):
        session.run(Block(1, "python", "1 / 0\n"))
    with pytest.raises(AssertionError, match="the page shows"):
        session.run(Block(1, "console", "$ echo one\ntwo\n"))
    with pytest.raises(AssertionError, match="operators"):
        session.run(Block(1, "yaml", "drover: 1\nname: x\nsources: {}\noperators: {f: {kind: filter}}\n"))
