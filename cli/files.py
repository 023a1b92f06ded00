"""The input files of a command: as arguments, like `cat`, or with -f, like kubectl; and whether to trust what
teams wrote in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

__all__ = ["takes_files", "trusts_teams"]

P = ParamSpec("P")
R = TypeVar("R")

trusts_teams = click.option(
    "--allow-namespaced-identity", "trusted", is_flag=True,
    help="Let namespaced ProviderConfigs, which teams write, set an endpoint and use your own AWS identity, "
    "files and environment, as the provider's flag of this name does.",
)  # fmt: skip
_PATH = click.Path(path_type=Path, allow_dash=True)


def takes_files(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Pass all input files to the command as `files`, in order. At least one is required.

    Args:
        what: the help text of -f: what the files contain.
    """

    def decorate(command: Callable[P, R]) -> Callable[P, R]:
        @click.argument("arguments", metavar="[FILES]...", nargs=-1, type=_PATH)
        @click.option("-f", "--file", "named", metavar="PATH", multiple=True, type=_PATH, help=what)
        @wraps(command)
        def merged(*args: P.args, **kwargs: P.kwargs) -> R:
            named, arguments = kwargs.pop("named"), kwargs.pop("arguments")
            kwargs["files"] = (*named, *arguments)  # type: ignore[misc]  # both are tuples of paths
            if not kwargs["files"]:
                raise click.UsageError("expected files: YAML files, folders, or - for standard input")
            return command(*args, **kwargs)

        return merged

    return decorate
