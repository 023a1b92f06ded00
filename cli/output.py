"""What commands print: objects as YAML or JSON, and comments beside them.

Names, parameters, tags and messages are written by others: by those who write claims, and by whoever may
tag in AWS. What is printed goes into `kubectl apply` and into the logs of CI. So no text leaves the place
where it is printed, for any reader of YAML 1.1 or 1.2 and for any reader of lines. What is for people alone
goes through `apis.errors.visible` for the same reason.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

import click
import yaml

from apis.errors import visible

__all__ = ["Form", "comment", "manifest", "structured", "takes_form"]

Command = TypeVar("Command", bound=Callable[..., Any])


class Form(StrEnum):
    """How a command prints what it found."""

    TEXT = "text"
    """For people."""
    JSON = "json"
    YAML = "yaml"


def takes_form(*forms: Form) -> Callable[[Command], Command]:
    """The option -o of a command; the first form is the default. The command gets it as `form`."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice([form.value for form in forms]),
        default=forms[0].value,
        show_default=True,
        callback=lambda _context, _option, chosen: Form(chosen),
        help="The output format.",
    )


_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NO_TEXTS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than a text."""


class _Dumper(yaml.SafeDumper):
    """Writes every text on one line: as a plain word where no reader can take it for anything else, else in
    double quotes, where each character that cannot be seen is an escape."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        # PyYAML takes marks that turn text round, and others that nobody sees, for printable.
        self.allow_unicode = text.isprintable()
        super().write_double_quoted(text, split)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXTS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def manifest(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """An object or a list (JSON as Python has it) as YAML. Each text has one line, however long it is."""
    plain = dict(value) if isinstance(value, Mapping) else list(value)
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, width=math.inf)


def structured(value: Mapping[str, Any] | Sequence[Any], form: Form) -> str:
    """An object or a list as JSON or YAML, with a line end."""
    return manifest(value) if form is Form.YAML else f"{json.dumps(value, indent=2)}\n"


def comment(text: str) -> str:
    """A comment of one line."""
    return f"# {visible(text)}\n"
