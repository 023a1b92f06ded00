"""The command `edgetenants-emulator`."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import sys
from pathlib import Path
from types import FrameType

import click

from edgetenants_emulator.admin import snapshot
from edgetenants_emulator.server import DnsPortError, EmulatorServer
from edgetenants_emulator.settings import ENVIRONMENT_PREFIX, Settings
from edgetenants_emulator.unknowns import catalog

__all__ = ["main"]


@click.group(
    invoke_without_command=True,
    context_settings={"auto_envvar_prefix": "EDGETENANTS_EMULATOR", "show_default": True},
)
@click.option("--host", default="127.0.0.1", help="Address to listen on; all but loopback is open to others.")
@click.option("--port", default=4599, type=click.IntRange(0, 65535), help="Port; 0 takes a free one.")
@click.option("--rate", default=1.0, type=click.FloatRange(min=0), help="Virtual seconds per real second.")
@click.option("--dns-port", type=click.IntRange(0, 65535), help="Port of the DNS server; none without it.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default=False,
    help="File that the state is loaded from, if it is there, and saved to at the end; its settings win.",
)
@click.pass_context
def main(
    context: click.Context, host: str, port: int, rate: float, dns_port: int | None, state: Path | None
) -> None:
    """CloudFront's multi-tenant API on this machine: the endpoint for an AWS SDK with any keys.

    Settings come from the environment: EDGETENANTS_EMULATOR_SETTING_DEPLOY_TENANT_SECONDS=5. Those that
    switch what AWS does not say are listed by `unknowns`. GET /_edgetenants/ lists the admin API.
    """
    if context.invoked_subcommand is None:
        _serve(host, port, rate, dns_port, state)


@main.command("unknowns")
def list_unknowns() -> None:
    """List what AWS does not say: how it is read here, what switches it, where that comes from."""
    click.echo(catalog.as_text(_settings()), nl=False)


def _serve(host: str, port: int, rate: float, dns_port: int | None, state: Path | None) -> None:
    settings = _settings()
    if not math.isfinite(rate):
        raise click.ClickException(f"--rate is a number, such as 1, 60 or 0, not {rate}")
    if state and not state.absolute().parent.is_dir():
        raise click.ClickException(f"--state {state}: make the directory {state.absolute().parent} first")
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    try:
        server = EmulatorServer(host, port, rate=rate, settings=settings, dns_port=dns_port)
    except DnsPortError as error:
        raise click.ClickException(
            f"DNS {_cannot_listen(host, dns_port or 0, error, '--dns-port')}"
        ) from error
    except OSError as error:
        raise click.ClickException(_cannot_listen(host, port, error, "--port")) from error
    if state and state.exists():
        _load(server, state)
    click.echo(
        f"edgetenants-emulator: CloudFront, ACM, Route 53, STS on {server.url} (admin: /_edgetenants/)"
    )
    if server.dns:
        click.echo("edgetenants-emulator: DNS on {}:{}".format(*server.dns.address))
    sys.stdout.flush()
    try:
        server.serve()
    finally:
        if state:
            _save(server, state)


def _save(server: EmulatorServer, state: Path) -> None:
    """Write beside the file and put it in its place: a full disk leaves the former state as it was."""
    beside = state.with_name(f"{state.name}.new")
    try:
        beside.write_text(json.dumps(snapshot.save(server.world)))
        beside.replace(state)
    except OSError as error:
        raise click.ClickException(f"the state is not saved to {state}: {error.strerror}") from error


def _cannot_listen(host: str, port: int, error: OSError, option: str) -> str:
    """Why a port is not to be had, and what to do."""
    advice = "give another --host: 127.0.0.1 is this machine alone, 0.0.0.0 all of its addresses"
    if error.errno == errno.EADDRINUSE:
        advice = (
            f"another program has the port, perhaps another emulator: give another {option}, 0 for a free one"
        )
    elif error.errno == errno.EACCES:
        advice = f"ports below 1024 are the system's: give a {option} above"
    return f"cannot listen on {host}:{port}: {error.strerror}; {advice}"


def _load(server: EmulatorServer, state: Path) -> None:
    try:
        snapshot.load(server.world, json.loads(state.read_text()))
    except OSError as error:
        raise click.ClickException(f"{state} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        message = f"{state} is no state that was saved here ({why}); move it away, or give another --state"
        raise click.ClickException(message) from error


def _settings() -> Settings:
    try:
        return Settings.from_environment(os.environ)
    except ValueError as error:
        message = f"in the environment, {ENVIRONMENT_PREFIX}…: {error}"
        raise click.ClickException(message) from error


def _exit(_signal: int, _frame: FrameType | None) -> None:
    # Held calls and long polls sit on daemon threads: they end with the process.
    raise SystemExit(0)


if __name__ == "__main__":
    main()
