"""`edgetenants sandbox`: starts, inspects and removes a local environment."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from cli.forms import Form, takes_form
from sandbox.errors import WorldError
from sandbox.state import Crossplane, Layout, default_cache, sandboxes

if TYPE_CHECKING:
    from sandbox.world import World

__all__ = ["sandbox"]

Command = Callable[..., Any]


def told(command: Command) -> Command:
    """Print a WorldError to standard error, and exit with 1."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except WorldError as e:
            raise click.ClickException(str(e)) from e

    return wrapped


name_option = click.option(
    "--name", default="default", show_default=True, help="Name of the sandbox. Several can run at once."
)
form_option = takes_form(Form.TEXT, Form.JSON, Form.YAML)


@click.group()
def sandbox() -> None:
    """Run a local environment: API server, Crossplane core, CloudFront emulator, function and provider."""


@sandbox.command()
@name_option
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="Use a cluster of this kubeconfig. Requires --context.",
)
@click.option("--context", help="The context of --kubeconfig to use.")
@click.option("--i-own-this-cluster", is_flag=True, help="Continue even if Crossplane runs in that cluster.")
@click.option(
    "--crossplane",
    type=click.Choice([each.value for each in Crossplane]),
    callback=lambda _context, _option, named: Crossplane(named),
    default=Crossplane.V2.value,
    show_default=True,
    help="Version of Crossplane core. With v1, the claim is the legacy one.",
)
@click.option(
    "--legacy",
    is_flag=True,
    help="Also activate the cluster-scoped managed resources. With --packages, the claim is the legacy one.",
)
@click.option(
    "--packages",
    is_flag=True,
    help="Install the packages with Crossplane's package manager, from a registry.",
)
@click.option("--control-plane-only", is_flag=True, help="Start only the API server with garbage collection.")
@click.option(
    "--port",
    "ports",
    multiple=True,
    metavar="NAME=PORT",
    help="Port of a process, such as emulator=5000. Repeatable.",
)
@told
def up(name: str, ports: tuple[str, ...], **chosen: Any) -> None:
    """Start a sandbox. A running sandbox is left unchanged.

    The control plane is the cluster of --kubeconfig and --context, or else etcd and kube-apiserver from
    KUBEBUILDER_ASSETS, or else one built from the published Kubernetes libraries. The environment variable
    KUBECONFIG is not used.
    """
    from sandbox.world import Options, World

    world = World.up(name=name, progress=click.echo, options=Options(ports=_pinned(ports), **chosen))
    click.echo(f'\nTo use it:  eval "$({world.hint("env")})"')
    click.echo(f"To inspect: {world.hint('status')}\nTo remove:  {world.hint('down')}")


@sandbox.command()
@name_option
@click.option("--all", "everyone", is_flag=True, help="All sandboxes.")
@click.option(
    "--forget-cluster",
    is_flag=True,
    help="Do not clean up the cluster of --kubeconfig, because it no longer exists.",
)
@told
def down(name: str, everyone: bool, forget_cluster: bool) -> None:
    """Remove a sandbox: its processes, and the objects that `up` created in the cluster of --kubeconfig."""
    from sandbox.world import take_down

    cache = default_cache()
    for layout in sandboxes(cache) if everyone else (Layout(cache, name),):
        take_down(layout, click.echo, forget_cluster=forget_cluster)


@sandbox.command()
@name_option
@form_option
@told
def status(name: str, form: Form) -> None:
    """Show the processes. If a process died, show its last log lines and exit with 1."""
    from sandbox import report

    found = report.status(_world(name))
    _print(found, form)
    sys.exit(0 if found.healthy else 1)


@sandbox.command()
@name_option
@told
def env(name: str) -> None:
    """Print shell variables. eval "$(edgetenants sandbox env)" points kubectl and aws at the sandbox."""
    from sandbox import report

    click.echo(report.exports(_world(name).environment()))


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines.")
@click.option("--tail", type=click.IntRange(min=0), help="Print only this many lines from the end.")
@told
def logs(process: str, name: str, follow: bool, tail: int | None) -> None:
    """Print the log of a process, or the API server's audit log (`audit`)."""
    from sandbox import logs as log_files

    for text in log_files.read(_world(name), process, tail=tail, follow=follow):
        click.echo(text, nl=False)


@sandbox.command()
@name_option
@form_option
@told
def inventory(name: str, form: Form) -> None:
    """Show what `up` created and what exists now: processes, objects, claims, tenants."""
    from sandbox import inventory as stock

    found = stock.take(_world(name))
    _print(found, form)


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def restart(process: str, name: str) -> None:
    """Stop a process and start it again. Also restarts one that died."""
    world = _world(name)
    world.processes.restart(process)
    click.echo(f"{process} is running with pid {world.processes.pid(process)}")


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def stop(process: str, name: str) -> None:
    """Stop a process; `start` starts it again."""
    _world(name).processes.stop(process)


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def start(process: str, name: str) -> None:
    """Start a process that was stopped or died, and wait until it is ready."""
    _world(name).processes.start(process)


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def kill(process: str, name: str) -> None:
    """Send SIGKILL to a process, to test its recovery."""
    _world(name).processes.kill(process)


def _world(name: str) -> World:
    from sandbox.world import World

    return World.load(name)


class _Found(Protocol):
    def text(self) -> str: ...

    def to_json(self) -> str: ...


def _print(found: _Found, form: Form) -> None:
    if form is Form.TEXT:
        click.echo(found.text())
    else:
        from cli.output import structured

        click.echo(structured(json.loads(found.to_json()), form), nl=False)


def _pinned(ports: tuple[str, ...]) -> dict[str, int]:
    pinned = {}
    for text in ports:
        process, _, port = text.partition("=")
        if not port.isdecimal() or not 1 <= int(port) <= 65535:
            words = "expected NAME=PORT with a port from 1 to 65535, such as emulator=5000"
            raise WorldError(f"--port: {words}, got {text!r}")
        pinned[process] = int(port)
    return pinned
