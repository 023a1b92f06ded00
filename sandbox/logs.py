"""Reading the logs of a sandbox."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import WorldError
from sandbox.world import World

__all__ = ["known", "read"]

_BLOCK = 1 << 16


def known(world: World) -> dict[str, Path]:
    """The log files by name: one for each process, `supervisor`, and `audit`."""
    return {file.stem: file for file in sorted(world.layout.logs.glob("*.log"))}


def read(world: World, name: str, *, tail: int | None = None, follow: bool = False) -> Iterator[str]:
    """The text of a log, from the last `tail` lines on, in pieces; with `follow` for ever.

    Raises:
        WorldError: there is no such log; the message lists those that there are.
    """
    files = known(world)
    if name not in files:
        raise WorldError(f"there is no log {name!r}; there are: {', '.join(files)}")
    return _pieces(files[name], tail, follow=follow)


def _pieces(file: Path, tail: int | None, *, follow: bool) -> Iterator[str]:
    with file.open("rb") as log:
        if tail is not None:
            log.seek(_start_of_tail(file, tail))
        while True:
            block = log.read(_BLOCK)
            if block:
                yield block.decode(errors="replace")
            elif not follow:
                return
            else:
                time.sleep(0.2)


def _start_of_tail(file: Path, lines: int) -> int:
    """The offset of the last `lines` lines, in bytes."""
    with file.open("rb") as log:
        position = log.seek(0, 2)
        seen = 0
        while position > 0:
            step = min(_BLOCK, position)
            position = log.seek(position - step)
            block = log.read(step)
            # The newline that ends the file ends its last line; it does not begin another.
            end = len(block) - 1 if seen == 0 and block.endswith(b"\n") else len(block)
            while (cut := block.rfind(b"\n", 0, end)) >= 0:
                seen += 1
                if seen == lines:
                    return position + cut + 1
                end = cut
        return 0
