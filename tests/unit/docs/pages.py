"""The commands on the pages for users."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    {
        ROOT / "README.md",
        ROOT / "emulator" / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "how-to").glob("*.md"),
        *(ROOT / "examples").glob("**/README.md"),
    }
)
PROGRAMS = (
    "edgetenants",
    "edgetenants-emulator",
    "edgetenants-function",
    "edgetenants-provider",
    "edgetenants-sources",
    "kubectl",
    "make",
)
_ENDS = {"|", ">", ";", "&", "&&", "(", ")"}


@dataclass(frozen=True)
class Command:
    """A command that a page shows, without what follows a pipe and without its comment."""

    page: Path
    program: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return shlex.join((self.program, *self.words))

    @classmethod
    def all_in(cls, page: Path, text: str, *programs: str) -> Iterator[Command]:
        """The commands of a page that run one of the programs."""
        for line in re.findall(r"^ *\$ (.*)$", text, re.MULTILINE):
            for words in _commands(line):
                program = Path(words[0]).name
                if program in (programs or PROGRAMS):
                    yield cls(page, program, tuple(words[1:]))


def _commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    redirected = False
    for word in lexer:
        if word in _ENDS:
            if words:
                yield words
            words, redirected = [], word == ">"
        elif redirected:
            redirected = False
        else:
            words.append(word)
    if words:
        yield words


COMMANDS = [each for page in PAGES for each in Command.all_in(page, page.read_text())]
