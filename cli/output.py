"""What commands print: objects as YAML, and comments beside them.

Names, parameters, tags and messages are written by others: by those who write claims, and by whoever may
tag in AWS. What is printed goes into `kubectl apply` and into the logs of CI. So no text leaves the place
where it is printed, for any reader of YAML 1.1 or 1.2 and for any reader of lines. What is for people alone
goes through `apis.errors.visible` for the same reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from apis.errors import visible

__all__ = ["comment", "manifest"]

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


def manifest(value: Mapping[str, Any]) -> str:
    """An object (JSON as Python has it) as YAML, each text on a line of its own however long it is."""
    return yaml.dump(dict(value), Dumper=_Dumper, sort_keys=False, width=math.inf)


def comment(text: str) -> str:
    """A comment of one line."""
    return f"# {visible(text)}\n"
