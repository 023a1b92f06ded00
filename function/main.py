"""The command `edgetenants-function`: flags, signals, exit codes.

Spans are sent where OTEL_EXPORTER_OTLP_ENDPOINT is set.
Exit codes: 0 stopped by SIGTERM or SIGINT, 1 could not start, 2 wrong flags.
"""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import structlog
from crossplane.function import cli as sdk

from edgetenants_runtime import logs
from function import server, tracing
from function.errors import StartupFailed
from function.metrics import Metrics
from function.server import MEBIBYTE, Server, Settings

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_RECEIVE_MEBIBYTES: Final = 32
"""Crossplane sends requests of any size; gRPC's own limit of 4 MiB is soon reached by composites with many
resources."""

_log = structlog.get_logger("function")


@click.command(
    name="edgetenants-function",
    context_settings={
        "default_map": {"max_recv_message_size": _RECEIVE_MEBIBYTES},
        "help_option_names": ["--help", "-h"],
    },
)
@sdk.standard_options
@click.option(
    "--metrics-address",
    envvar="EDGETENANTS_FUNCTION_METRICS_ADDRESS",
    metavar="HOST:PORT",
    help="Serve Prometheus' /metrics there; nowhere without it.",
)
def main(  # noqa: PLR0913, PLR0917 - one for each flag
    debug: bool,
    address: str,
    tls_certs_dir: str | None,
    insecure: bool,
    max_recv_message_size: int,
    max_send_message_size: int | None,
    metrics_address: str | None,
) -> None:
    """Compose managed resources for TenantClaims, as Crossplane asks over gRPC.

    Serves until SIGTERM or SIGINT, finishes the calls that are under way, and exits with 0.
    """
    logs.configure(logs.LogFormat.CONSOLE if debug else logs.LogFormat.JSON, debug=debug)
    if not insecure and not tls_certs_dir:
        raise click.UsageError(
            "expected --tls-server-certs-dir DIRECTORY (or TLS_SERVER_CERTS_DIR) for mTLS, or --insecure"
        )
    try:
        with signals_blocked():
            settings = Settings(
                address=address,
                credentials=None if insecure else server.load_credentials(Path(tls_certs_dir or "")),
                max_receive_bytes=max_recv_message_size * MEBIBYTE,
                max_send_bytes=(max_send_message_size or max_recv_message_size) * MEBIBYTE,
            )
            metrics, tracer = Metrics(), tracing.tracer(os.environ)
            if metrics_address:
                _log.info("serving metrics", port=metrics.serve(metrics_address))
            serve(Server(settings, metrics=metrics, tracer=tracer), address)
            tracer.stop()
    except StartupFailed as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block the signals that stop, in this thread and in those that it starts, so that `serve` receives them.

    Around all that uses gRPC: its threads start with the first credentials, and a signal that comes while the
    main thread does something else goes to any thread that does not block it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(running: Server, address: str) -> None:
    """Serve until a signal asks to stop, then drain. The signals are blocked by now.

    Raises:
        StartupFailed: the address cannot be listened on.
    """
    port = running.start()
    # What is loaded by now stays; a collection that went through it would hold up a call.
    gc.collect()
    gc.freeze()
    _log.info("serving", address=address, port=port)
    received = signal.Signals(signal.sigwait(_SIGNALS))
    _log.info("stopping; another signal ends at once", signal=received.name)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    running.stop()
    _log.info("stopped")


if __name__ == "__main__":
    main()
