"""Parses the JSON of a seed. Errors contain the path of the invalid member."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state.world import DEFAULT_ACCOUNT

__all__ = ["DistributionOrder", "ParameterOrder", "SeedOrder", "parse"]

_ACCOUNT = re.compile(r"[0-9]{12}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DOMAIN = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})+")

T = TypeVar("T")


@dataclass(frozen=True)
class ParameterOrder:
    """A parameter that a distribution defines."""

    name: str
    required: bool = False
    default: str = ""
    """The default value; empty for none."""


@dataclass(frozen=True)
class DistributionOrder:
    """A multi-tenant distribution."""

    id: str
    certificate_domains: tuple[str, ...] = ()
    """The domains of its certificate. If empty, it has no certificate."""
    parameters: tuple[ParameterOrder, ...] = ()


@dataclass(frozen=True)
class SeedOrder:
    """The content of a seed."""

    account: str
    distributions: tuple[DistributionOrder, ...]


def parse(wanted: Any) -> SeedOrder:
    """Parse a seed. Raises AwsError InvalidArgument with the path of the invalid member."""
    members = _object("", wanted, ("account", "distributions"))
    account = _text("account", members.get("account", DEFAULT_ACCOUNT), _ACCOUNT, "twelve digits in a string")
    made = _list("distributions", members.get("distributions", []), _distribution)
    ids = [each.id for each in made]
    if twice := next((each for each in ids if ids.count(each) > 1), None):
        raise _wrong("distributions", f"duplicate id {twice}")
    return SeedOrder(account, made)


def _distribution(path: str, wanted: Any) -> DistributionOrder:
    members = _object(path, wanted, ("id", "certificateDomains", "parameters"))
    if "id" not in members:
        raise _wrong(f"{path}.id", "required")
    return DistributionOrder(
        _text(f"{path}.id", members["id"], _ID, "1 to 64 letters, digits, dashes and underscores"),
        _list(f"{path}.certificateDomains", members.get("certificateDomains", []), _domain),
        _list(f"{path}.parameters", members.get("parameters", []), _parameter),
    )


def _domain(path: str, wanted: Any) -> str:
    return _text(path, wanted, _DOMAIN, "a domain, or one with a wildcard: *.example.com")


def _parameter(path: str, wanted: Any) -> ParameterOrder:
    members = _object(path, wanted, ("name", "required", "default"))
    if "name" not in members:
        raise _wrong(f"{path}.name", "required")
    required, default = members.get("required", False), members.get("default", "")
    if not isinstance(required, bool):
        raise _wrong(f"{path}.required", f"expected true or false, got {required!r}")
    if not isinstance(default, str):
        raise _wrong(f"{path}.default", f"expected a string, got {default!r}")
    name = members["name"]
    if not isinstance(name, str):
        raise _wrong(f"{path}.name", f"expected a string, got {name!r}")
    return ParameterOrder(name, required, default)


def _object(path: str, wanted: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(wanted, Mapping):
        raise _wrong(path, f"expected an object with {', '.join(known)}, got {wanted!r}")
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise _wrong(f"{path}.{name}".lstrip("."), f"unknown member; {meant}")
    return wanted


def _list(path: str, wanted: Any, read: Callable[[str, Any], T]) -> tuple[T, ...]:
    if not isinstance(wanted, list):
        raise _wrong(path, f"expected a list, got {wanted!r}")
    return tuple(read(f"{path}[{number}]", each) for number, each in enumerate(wanted))


def _text(path: str, wanted: Any, pattern: re.Pattern[str], meaning: str) -> str:
    if not isinstance(wanted, str) or not pattern.fullmatch(wanted):
        raise _wrong(path, f"expected {meaning}, got {wanted!r}")
    return wanted


def _wrong(path: str, why: str) -> AwsError:
    return AwsError(ErrorCode.INVALID_ARGUMENT, f"{path or 'seed'}: {why}.")
