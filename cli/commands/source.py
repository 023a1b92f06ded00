"""`edgetenants source`: options and help. It imports cli/source when it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from cli.forms import Form, takes_form

__all__ = ["source"]

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("targets", metavar="FILE|NAME...", nargs=-1, required=True),
    click.option(
        "-n", "--namespace", show_default="default",
        help="The namespace of NAME, and of objects in files that name none. A TenantSource of a file "
        "that names another one is refused.",
    ),
    click.option(
        "--allowed-database-hosts", "databases", metavar="HOST:PORT,...", default="",
        envvar="EDGETENANTS_SOURCES_ALLOWED_DATABASE_HOSTS",
        help="Databases to connect to, as the flag of edgetenants-sources. Without it: none.",
    ),
    click.option(
        "--allowed-http-hosts", "hosts", metavar="HOST[:PORT],...", default="",
        envvar="EDGETENANTS_SOURCES_ALLOWED_HTTP_HOSTS",
        help="Hosts of HTTP APIs to call, as the flag of edgetenants-sources. Without it: none.",
    ),
    click.option(
        "--allowed-http-networks", "networks", metavar="NETWORK,...", default="",
        envvar="EDGETENANTS_SOURCES_ALLOWED_HTTP_NETWORKS",
        help="Networks that these hosts may be in, as the flag of edgetenants-sources. Without it: public "
        "addresses.",
    ),
    click.option(
        "--sources-namespace", "of_process", default="crossplane-system", show_default=True,
        help="The namespace of edgetenants-sources, which has its record of rows that are gone.",
    ),
    click.option(
        "--timeout", type=click.FloatRange(min=30), metavar="SECONDS", default=600.0, show_default=True,
        help="Time limit of one read.",
    ),
    click.option(
        "--kubeconfig", type=click.Path(path_type=Path),
        help="Default: the kubeconfig that kubectl would use.",
    ),
    click.option("--context", help="The context of the kubeconfig to use."),
    takes_form(Form.TEXT, Form.JSON, Form.YAML),
)  # fmt: skip


def _takes_options(command: Command) -> Command:
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


@click.group()
def source() -> None:
    """Show what a TenantSource would do with its rows, and which are wrong."""


@source.command()
@click.option(
    "--exit-code", "strict", is_flag=True,
    help="Exit with 1 also if an object would be created, changed or removed.",
)  # fmt: skip
@_takes_options
def preview(**given: Any) -> None:
    """Show which objects edgetenants-sources would create, change and remove. It writes nothing.

    FILE has TenantSources, and may have the ConfigMaps and Secrets that they name; else these are read in the
    cluster. NAME is a TenantSource of the cluster. The rows are read from their real store. The output says
    what could not be read, and has keys, names and fields, but no values of other columns.

    The exit code is 1 if a spec or a row is invalid, or a removal waits for a confirmation, and 2 if a file,
    the rows, or the objects of a cluster that NAME, --context or --kubeconfig asks for cannot be read.
    """
    _run(**given)


@source.command()
@_takes_options
def check(**given: Any) -> None:
    """Check all rows, and list those that are wrong by key, with the field and what was expected.

    It reads as `edgetenants source preview` does. The exit code is 1 if a spec or a row is invalid, and 2 if
    a file, the rows, or the objects of a cluster that NAME, --context or --kubeconfig asks for cannot be
    read.
    """
    _run(**given, checks=True)


def _run(**given: Any) -> None:
    try:
        from cli.source.command import Asked, run
    except ImportError as error:
        message = f"the command needs the extra sources (pip install 'edgetenants[sources]'): {error}"
        raise click.ClickException(message) from error
    run(Asked(**given))
