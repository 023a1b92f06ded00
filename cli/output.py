"""The output of commands: objects as YAML or JSON, and comments.

Names, parameters, tags and messages are untrusted: the authors of claims and anyone who can set tags in AWS
write them, and users pipe the output into `kubectl apply` and CI logs. So no string can break out of the line
and value where it is printed, for any YAML 1.1 or 1.2 parser and any tool that reads lines. For the same
reason, text output goes through `apis.errors.visible`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from apis.errors import visible
from cli.forms import Form

__all__ = ["comment", "manifest", "structured"]

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NO_TEXTS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some YAML parsers do not read as a string."""


class _Dumper(yaml.SafeDumper):
    """Writes every string on one line: plain if every parser reads it as a string, or else in double quotes
    with each invisible character escaped."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        # PyYAML treats bidirectional marks and other invisible characters as printable.
        self.allow_unicode = text.isprintable()
        super().write_double_quoted(text, split)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXTS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def manifest(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """An object or a list (JSON values in Python) as YAML. Each string is on one line, however long it is."""
    plain = dict(value) if isinstance(value, Mapping) else list(value)
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, width=math.inf)


def structured(value: Mapping[str, Any] | Sequence[Any], form: Form) -> str:
    """An object or a list as JSON or YAML, with a newline at the end."""
    return manifest(value) if form is Form.YAML else f"{json.dumps(value, indent=2)}\n"


def comment(text: str) -> str:
    """A one-line comment."""
    return f"# {visible(text)}\n"
