"""The option -o of a command: the form in which it prints."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click

__all__ = ["Form", "takes_form"]

Command = TypeVar("Command", bound=Callable[..., Any])


class Form(StrEnum):
    """The output format of a command."""

    TEXT = "text"
    """Text for people."""
    JSON = "json"
    YAML = "yaml"
    ZONE = "zone"
    """Lines of a zone file."""
    ROUTE53 = "route53"
    """A change batch of Route 53."""
    TERRAFORM = "terraform"


def takes_form(*forms: Form) -> Callable[[Command], Command]:
    """Add the option -o to a command; the first form is the default. The command gets it as `form`."""
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
