"""Reads the logs of a sandbox."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import WorldError
from sandbox.world import World

__all__ = ["known", "read"]

_BLOCK = 1 << 16


def known(world: World) -> dict[str, Path]:
    """The log files by name: one per process, `supervisor`, and `audit`."""
    return {file.stem: file for file in sorted(world.layout.logs.glob("*.log"))}


def read(world: World, name: str, *, tail: int | None = None, follow: bool = False) -> Iterator[str]:
    """The text of a log, starting at the last `tail` lines, in parts; with `follow`, it does not end.

    Raises:
        WorldError: the log does not exist; the message lists the existing ones.
    """
    if name == "audit":
        return _pieces(world.audit_log, tail, follow=follow)
    files = known(world)
    if name not in files:
        raise WorldError(f"log {name!r} not found; logs: {', '.join(files)}")
    return _pieces(files[name], tail, follow=follow)


def _pieces(file: Path, tail: int | None, *, follow: bool) -> Iterator[str]:
    # The end of a block may split a character.
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with file.open("rb") as log:
        if tail is not None:
            log.seek(_start_of_tail(file, tail))
        while True:
            block = log.read(_BLOCK)
            if block:
                yield decoder.decode(block)
            elif not follow:
                return
            else:
                time.sleep(0.2)


def _start_of_tail(file: Path, lines: int) -> int:
    """The offset in bytes of the last `lines` lines."""
    with file.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        if lines == 0 or size == 0:
            return size
        # A newline at the end of the file ends the last line; it does not start another.
        log.seek(size - 1)
        position = size - 1 if log.read(1) == b"\n" else size
        seen = 0
        while position > 0:
            step = min(_BLOCK, position)
            position = log.seek(position - step)
            block = log.read(step)
            cut = len(block)
            while (cut := block.rfind(b"\n", 0, cut)) >= 0:
                seen += 1
                if seen == lines:
                    return position + cut + 1
        return 0
