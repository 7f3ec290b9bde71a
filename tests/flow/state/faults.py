"""A local disk that fails or dies at a chosen step, and leaves behind what a real one would."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystemHandler, LocalFileSystem, PyFileSystem

Mode = Literal["die", "fail"]


class Dead(Exception):  # noqa: N818 - it stands for the end of the process
    """The process is gone: nothing after it happens, no cleaning up either."""


class Disk(FileSystemHandler):  # type: ignore[misc]  # pyarrow ships no types
    """Passes everything on, and counts the steps that change something.

    At step `at` it fails once (a full disk) or dies for good. Killed in the middle of a write, half of the bytes are
    there. `kind` is what the file system calls itself; as "s3", a file appears when it is closed.
    """

    def __init__(self, at: int | None = None, mode: Mode = "die", kind: str = "disk") -> None:
        self.base = LocalFileSystem()
        self.at = at
        self.mode = mode
        self.kind = kind
        self.steps = 0
        self.dead = False

    def step(self) -> bool:
        """Count a step; say whether this is the one that goes wrong."""
        if self.dead:
            raise Dead
        self.steps += 1
        return self.at is not None and self.steps == self.at + 1

    def break_down(self) -> None:
        if self.mode == "fail":
            raise OSError(28, "No space left on device")
        self.dead = True
        raise Dead

    def change(self, name: str, *args: Any, **options: Any) -> None:
        """One change goes wrong before it has happened, the next one after it."""
        if self.step():
            self.break_down()
        getattr(self.base, name)(*args, **options)
        if self.step():
            self.break_down()

    def read(self, name: str, *args: Any) -> Any:
        if self.dead:
            raise Dead
        return getattr(self.base, name)(*args)

    def get_type_name(self) -> str:
        return self.kind

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.read("get_file_info", paths)

    def get_file_info_selector(self, selector: FileSelector) -> Any:
        return self.read("get_file_info", selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self.change("create_dir", path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self.change("delete_dir", path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self.change("delete_dir_contents", path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self.change("delete_file", path)

    def move(self, src: str, dest: str) -> None:
        self.change("move", src, dest)

    def copy_file(self, src: str, dest: str) -> None:
        self.change("copy_file", src, dest)

    def open_input_stream(self, path: str) -> Any:
        return self.read("open_input_stream", path)

    def open_input_file(self, path: str) -> Any:
        return self.read("open_input_file", path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002 - pyarrow's signature
        if self.step():
            self.break_down()
        return pa.PythonFile(Output(self, path), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


class Output(io.RawIOBase):
    """A file being written."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk, self.path = disk, Path(path)
        self.whole = b""
        if disk.kind != "s3":
            if not self.path.parent.is_dir():
                raise FileNotFoundError(2, "No such file or directory", path)
            self.path.write_bytes(b"")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        fatal = self.disk.step()
        self._put(bytes(data)[: len(data) // 2] if fatal else bytes(data))
        if fatal:
            self.disk.break_down()
        return len(data)

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self.disk.kind == "s3" and not self.disk.dead:
            if self.disk.step():
                self.disk.break_down()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(self.whole)

    def _put(self, data: bytes) -> None:
        self.whole += data
        if self.disk.kind != "s3":
            with self.path.open("ab") as file:
                file.write(data)


def broken(at: int | None, mode: Mode = "die", kind: str = "disk") -> tuple[PyFileSystem, Disk]:
    """A file system, and the disk beneath it that counts."""
    disk = Disk(at, mode, kind)
    return PyFileSystem(disk), disk
