"""Whether the locked wheels have known advisories, and licences that the images may contain.

pip-audit asks OSV about each package; a licence is in the metadata of the package, as installed here.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import requests
from pip_audit._audit import Auditor
from pip_audit._dependency_source import DependencySourceError, RequirementSource
from pip_audit._service import OsvService, ResolvedDependency, ServiceError, VulnerabilityResult

from xpkg import wheels
from xpkg.errors import PackagingError
from xpkg.licences import problem

__all__ = ["OSV", "UnreachableError", "advisories", "audit", "licences"]

OSV: Final = OsvService.DEFAULT_OSV_URL
_SECONDS: Final = 15
"""How long to wait for an answer."""


class UnreachableError(Exception):
    """The service did not answer for each package."""


def audit(locks: Sequence[Path], cache: Path, url: str, say: Callable[[str], None]) -> int:
    """Check the wheels of locks, say what was found, and return an exit code.

    0: nothing found; 1: something found; 3: the advisories are unreachable, and nothing was found.

    Raises:
        PackagingError: a lock cannot be read.
    """
    names = {name for lock in locks for name in wheels.names(lock)}
    refused = list(licences(names))
    for line in refused:
        say(line)
    if not refused:
        say(f"licences: all of {len(names)} packages are allowed")
    known = 0
    try:
        for line in advisories(locks, cache, url):
            known += 1
            say(line)
    except UnreachableError as error:
        say(f"advisories unreachable: {error}")
        return 1 if refused or known else 3
    if not known:
        say(f"advisories: none for {len(names)} packages")
    return 1 if refused or known else 0


def licences(names: Iterable[str]) -> Iterator[str]:
    """A line for each package whose licence is missing or not allowed."""
    for name in sorted(names):
        try:
            wrong = problem(importlib.metadata.metadata(name).json)
        except importlib.metadata.PackageNotFoundError:
            wrong = "not installed here, so its licence is unknown; requirements/dev.in must contain it"
        if wrong:
            yield f"{name}: {wrong}"


def advisories(locks: Sequence[Path], cache: Path, url: str) -> Iterator[str]:
    """A line for each advisory that OSV at `url` knows of the packages of locks.

    Raises:
        UnreachableError: the service does not answer, or its answer is none of OSV's.
        PackagingError: a lock cannot be read.
    """
    source = RequirementSource(list(locks), require_hashes=True, disable_pip=True)
    service = OsvService(cache / "pip-audit", _SECONDS, url)
    try:
        for package, found in Auditor(service).audit(source):
            if not isinstance(package, ResolvedDependency):
                raise PackagingError(f"cannot check {package.name}: the locks have no version of it")
            for one in sorted(found, key=lambda one: str(one.id)):
                yield f"{package.name} {package.version}: {_told(one)}"
    except DependencySourceError as error:
        raise PackagingError(f"cannot read the locks: {error}") from error
    except (requests.RequestException, ServiceError, KeyError, TypeError) as error:
        raise UnreachableError(str(error.__cause__ or error)) from error


def _told(advisory: VulnerabilityResult) -> str:
    fixed = ", ".join(str(version) for version in advisory.fix_versions)
    return f"{advisory.id}: {advisory.description} ({f'fixed in {fixed}' if fixed else 'no fix'})"
