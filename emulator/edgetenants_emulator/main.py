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
    context_settings={
        "auto_envvar_prefix": "EDGETENANTS_EMULATOR",
        "show_default": True,
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(package_name="edgetenants-emulator", allow_from_autoenv=False)
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on. All but loopback addresses are open to other hosts.",
)
@click.option(
    "--port", default=4599, type=click.IntRange(0, 65535), help="Port to listen on. 0 selects a free port."
)
@click.option("--rate", default=1.0, type=click.FloatRange(min=0), help="Virtual seconds per real second.")
@click.option(
    "--dns-port", type=click.IntRange(0, 65535), help="Port of the DNS server. Default: no DNS server."
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default=False,
    help="Load the state from this file if it exists, and save it there at exit. Settings in the file win.",
)
@click.pass_context
def main(
    context: click.Context, host: str, port: int, rate: float, dns_port: int | None, state: Path | None
) -> None:
    """Emulate CloudFront's multi-tenant API, as an endpoint for AWS SDKs with any credentials.

    Settings are environment variables, such as EDGETENANTS_EMULATOR_SETTING_DEPLOY_TENANT_SECONDS=5. The
    command `unknowns` lists the settings for behaviour that AWS does not document. GET /_edgetenants/ lists
    the admin API.
    """
    if context.invoked_subcommand is None:
        _serve(host, port, rate, dns_port, state)


@main.command("unknowns")
def list_unknowns() -> None:
    """List the emulator's choices for behaviour that AWS does not document, with settings and sources."""
    click.echo(catalog.as_text(_settings()), nl=False)


def _serve(host: str, port: int, rate: float, dns_port: int | None, state: Path | None) -> None:
    settings = _settings()
    if not math.isfinite(rate):
        raise click.ClickException(f"--rate: expected a number, such as 1, 60 or 0, got {rate}")
    if state and not state.absolute().parent.is_dir():
        raise click.ClickException(f"--state {state}: create the directory {state.absolute().parent} first")
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
    """Write a temporary file and rename it, so that a full disk does not damage the previous state."""
    temporary = state.with_name(f"{state.name}.new")
    try:
        temporary.write_text(json.dumps(snapshot.save(server.world)))
        temporary.replace(state)
    except OSError as error:
        raise click.ClickException(f"cannot save the state to {state}: {error.strerror}") from error


def _cannot_listen(host: str, port: int, error: OSError, option: str) -> str:
    """Why the emulator cannot listen on a port, and what to do."""
    advice = "set another --host: 127.0.0.1 is this machine only, 0.0.0.0 all of its addresses"
    if error.errno == errno.EADDRINUSE:
        advice = (
            f"another program uses the port, perhaps another emulator; set another {option}, or 0 for any"
        )
    elif error.errno == errno.EACCES:
        advice = f"ports below 1024 require privileges; set a higher {option}"
    return f"cannot listen on {host}:{port}: {error.strerror}; {advice}"


def _load(server: EmulatorServer, state: Path) -> None:
    try:
        snapshot.load(server.world, json.loads(state.read_text()))
    except OSError as error:
        raise click.ClickException(f"cannot read {state}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        message = f"{state} is not a saved state ({why}); move the file, or set another --state"
        raise click.ClickException(message) from error


def _settings() -> Settings:
    try:
        return Settings.from_environment(os.environ)
    except ValueError as error:
        message = f"environment variables {ENVIRONMENT_PREFIX}…: {error}"
        raise click.ClickException(message) from error


def _exit(_signal: int, _frame: FrameType | None) -> None:
    # Held calls and long polls run on daemon threads, which end with the process.
    raise SystemExit(0)


if __name__ == "__main__":
    main()
