"""The locked wheels: what a lock names, and what pip installed of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement

from xpkg.errors import PackagingError
from xpkg.licences import licence

__all__ = ["Wheel", "installed", "names"]

_LINE: Final = re.compile(r"^(?=\S)(?!#)([^\\\n]+)", re.MULTILINE)
_IMAGE: Final = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
"""What markers of a lock are about: the image, whatever machine runs this."""


@dataclass(frozen=True)
class Wheel:
    """A wheel of an image."""

    name: str
    version: str
    sha256: str
    """The hash of the wheel's file, which is one of those in the lock."""
    licence: str | None
    """An SPDX expression; None where its metadata names no licence."""


def installed(report: Path) -> tuple[Wheel, ...]:
    """The wheels that pip installed, from the report that it wrote, by name."""
    wheels = (_wheel(entry) for entry in json.loads(report.read_text())["install"])
    return tuple(sorted(wheels, key=lambda wheel: wheel.name))


def _wheel(entry: dict[str, Any]) -> Wheel:
    metadata = entry["metadata"]
    sha256 = entry["download_info"]["archive_info"]["hashes"]["sha256"]
    return Wheel(metadata["name"], metadata["version"], sha256, licence(metadata))


def names(lock: Path) -> tuple[str, ...]:
    """The packages of a lock that an image has.

    Raises:
        PackagingError: a line is not `name==version`.
    """
    requirements = [_requirement(lock, line) for line in _LINE.findall(lock.read_text())]
    return tuple(one.name for one in requirements if one.marker is None or one.marker.evaluate(_IMAGE))


def _requirement(lock: Path, line: str) -> Requirement:
    try:
        return Requirement(line.strip())
    except InvalidRequirement as error:
        raise PackagingError(f"{lock}: expected `name==version`, got {line!r}: {error}") from error
