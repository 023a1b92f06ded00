"""The command `edgetenants-emulator`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import click

from edgetenants_emulator import unknowns
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
@click.pass_context
def main(context: click.Context, host: str, port: int, rate: float, dns_port: int | None) -> None:
    """CloudFront's multi-tenant API on this machine: the endpoint for an AWS SDK with any keys.

    Settings come from the environment: EDGETENANTS_EMULATOR_SETTING_DEPLOY_TENANT_SECONDS=5.
    """
    if context.invoked_subcommand is None:
        _serve(host, port, rate, dns_port)


@main.command("unknowns")
def list_unknowns() -> None:
    """List what AWS does not say: how it is read here, what switches it, where that comes from."""
    click.echo(unknowns.as_text(_settings()), nl=False)


def _serve(host: str, port: int, rate: float, dns_port: int | None) -> None:
    settings = _settings()
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    try:
        server = EmulatorServer(host, port, rate=rate, settings=settings, dns_port=dns_port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from error
    click.echo(
        f"edgetenants-emulator: CloudFront, ACM, Route 53, STS on {server.url} (admin: /_edgetenants/)"
    )
    if server.dns:
        click.echo("edgetenants-emulator: DNS on {}:{}".format(*server.dns.address))
    sys.stdout.flush()
    server.serve()


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
