"""The command `edgetenants-emulator`."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

import click

from edgetenants_emulator import snapshot, unknowns
from edgetenants_emulator.server import EmulatorServer
from edgetenants_emulator.settings import Settings

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

    Settings come from the environment: EDGETENANTS_EMULATOR_SETTING_DEPLOY_TENANT_SECONDS=5.
    """
    if context.invoked_subcommand is None:
        _serve(host, port, rate, dns_port, state)


@main.command("unknowns")
def list_unknowns() -> None:
    """List what AWS does not say: how it is read here, what switches it, where that comes from."""
    click.echo(unknowns.as_text(_settings()), nl=False)


def _serve(host: str, port: int, rate: float, dns_port: int | None, state: Path | None) -> None:
    settings = _settings()
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    try:
        server = EmulatorServer(host, port, rate=rate, settings=settings, dns_port=dns_port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from error
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
            state.write_text(json.dumps(snapshot.save(server.world)))


def _load(server: EmulatorServer, state: Path) -> None:
    try:
        snapshot.load(server.world, json.loads(state.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"{state} is no state that was saved here: {error!r}") from error


def _settings() -> Settings:
    try:
        return Settings.from_environment(os.environ)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _exit(_signal: int, _frame: FrameType | None) -> None:
    # Held calls and long polls sit on daemon threads: they end with the process.
    raise SystemExit(0)


if __name__ == "__main__":
    main()
