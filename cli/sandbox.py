"""`edgetenants sandbox`: bring a local world up, look at it, take it down."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

import click

from cli.output import Form, structured, takes_form
from sandbox import inventory as stock
from sandbox import logs as log_files
from sandbox import report
from sandbox.errors import WorldError
from sandbox.state import Crossplane, Layout, default_cache, sandboxes
from sandbox.world import Options, World, take_down

__all__ = ["sandbox"]

Command = Callable[..., Any]


def told(command: Command) -> Command:
    """Tell a WorldError in words, on stderr, with exit code 1."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except WorldError as e:
            raise click.ClickException(str(e)) from e

    return wrapped


name_option = click.option(
    "--name", default="default", show_default=True, help="Which sandbox; several run side by side."
)
form_option = takes_form(Form.TEXT, Form.JSON, Form.YAML)


@click.group()
def sandbox() -> None:
    """A whole local world: API server, Crossplane core, CloudFront emulator, function and provider."""


@sandbox.command()
@name_option
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Use a cluster of this kubeconfig; needs --context."
)
@click.option("--context", help="The context of --kubeconfig to use.")
@click.option("--i-own-this-cluster", is_flag=True, help="Go on though Crossplane runs in that cluster.")
@click.option(
    "--crossplane",
    type=click.Choice([each.value for each in Crossplane]),
    callback=lambda _context, _option, named: Crossplane(named),
    default=Crossplane.V2.value,
    show_default=True,
    help="Which core; with v1 the claim is the legacy one.",
)
@click.option("--legacy", is_flag=True, help="Activate the cluster-scoped managed resources too.")
@click.option("--control-plane-only", is_flag=True, help="Only an API server with its collector.")
@click.option(
    "--port",
    "ports",
    multiple=True,
    metavar="NAME=PORT",
    help="Use this port, e.g. emulator=5000; repeatable.",
)
@told
def up(name: str, ports: tuple[str, ...], **chosen: Any) -> None:
    """Bring a sandbox up. One that is up already is left as it is.

    The control plane is the cluster named with --kubeconfig and --context, or else etcd and kube-apiserver
    from KUBEBUILDER_ASSETS, or else one built from the published Kubernetes libraries. The KUBECONFIG of
    the environment is not used.
    """
    world = World.up(name=name, progress=click.echo, options=Options(ports=_pinned(ports), **chosen))
    click.echo(f'\nTo use it:  eval "$({world.hint("env")})"')
    click.echo(f"To look:    {world.hint('status')}\nTo end it:  {world.hint('down')}")


@sandbox.command()
@name_option
@click.option("--all", "everyone", is_flag=True, help="All sandboxes.")
@click.option(
    "--forget-cluster",
    is_flag=True,
    help="Do not clean up in the cluster of --kubeconfig: it is gone for good.",
)
@told
def down(name: str, everyone: bool, forget_cluster: bool) -> None:
    """Take a sandbox down: no process, no port, and in a cluster that was named no object that `up` made."""
    cache = default_cache()
    for layout in sandboxes(cache) if everyone else (Layout(cache, name),):
        take_down(layout, click.echo, forget_cluster=forget_cluster)


@sandbox.command()
@name_option
@form_option
@told
def status(name: str, form: Form) -> None:
    """Show the processes. Exits with 1 when one died, and shows its last lines."""
    found = report.status(World.load(name))
    _print(found, form)
    sys.exit(0 if found.healthy else 1)


@sandbox.command()
@name_option
@told
def env(name: str) -> None:
    """Print shell variables: eval "$(edgetenants sandbox env)" makes kubectl and aws use the sandbox."""
    click.echo(report.exports(World.load(name).environment()))


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@click.option("-f", "--follow", is_flag=True, help="Go on as more is written.")
@click.option("--tail", type=click.IntRange(min=0), help="Only that many lines from the end.")
@told
def logs(process: str, name: str, follow: bool, tail: int | None) -> None:
    """Print the log of a process, or of the API server's audit (`audit`)."""
    for text in log_files.read(World.load(name), process, tail=tail, follow=follow):
        click.echo(text, nl=False)


@sandbox.command()
@name_option
@form_option
@told
def inventory(name: str, form: Form) -> None:
    """Show what `up` made and what lives in it now: processes, objects, claims, tenants."""
    found = stock.take(World.load(name))
    _print(found, form)


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def restart(process: str, name: str) -> None:
    """Stop a process and start it again, also one that died."""
    world = World.load(name)
    world.processes.restart(process)
    click.echo(f"{process} runs, with pid {world.processes.pid(process)}")


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def stop(process: str, name: str) -> None:
    """Stop a process; `start` starts it again."""
    World.load(name).processes.stop(process)


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def start(process: str, name: str) -> None:
    """Start a process that was stopped or died, and wait until it is ready."""
    World.load(name).processes.start(process)


@sandbox.command()
@click.argument("process", metavar="NAME")
@name_option
@told
def kill(process: str, name: str) -> None:
    """SIGKILL a process, to see what comes of it."""
    World.load(name).processes.kill(process)


class _Found(Protocol):
    def text(self) -> str: ...

    def to_json(self) -> str: ...


def _print(found: _Found, form: Form) -> None:
    if form is Form.TEXT:
        click.echo(found.text())
    else:
        click.echo(structured(json.loads(found.to_json()), form), nl=False)


def _pinned(ports: tuple[str, ...]) -> dict[str, int]:
    pinned = {}
    for text in ports:
        process, _, port = text.partition("=")
        if not port.isdecimal() or not 1 <= int(port) <= 65535:
            raise WorldError(f"--port: {text!r} is not NAME=PORT, such as emulator=5000")
        pinned[process] = int(port)
    return pinned
