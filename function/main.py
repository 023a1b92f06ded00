"""The command `edgetenants-function`: flags, signals, exit codes.

It sends spans if OTEL_EXPORTER_OTLP_ENDPOINT is set.
Exit codes: 0 stopped by SIGTERM or SIGINT, 1 cannot start, 2 wrong flags.
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

from edgetenants_runtime import logs, open_files
from function.errors import StartupFailed
from function.serving import certificates, tracing
from function.serving.metrics import Metrics
from function.serving.server import MEBIBYTE, Server, Settings

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_RECEIVE_MEBIBYTES: Final = 16
"""Crossplane sends requests of any size; a composite with many resources soon exceeds gRPC's default limit of
4 MiB."""

_log = structlog.get_logger("function")


@click.command(
    name="edgetenants-function",
    context_settings={
        "default_map": {"max_recv_message_size": _RECEIVE_MEBIBYTES},
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(package_name="edgetenants")
@sdk.standard_options
@click.option(
    "--metrics-address",
    envvar="EDGETENANTS_FUNCTION_METRICS_ADDRESS",
    metavar="HOST:PORT",
    help="Address for Prometheus metrics (/metrics) and liveness (/healthz). Unset: neither is served.",
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
    """Compose managed resources for TenantClaims, as a composition function that Crossplane calls over gRPC.

    Serves until SIGTERM or SIGINT, finishes the calls in progress, and exits with 0.
    """
    logs.configure(logs.LogFormat.CONSOLE if debug else logs.LogFormat.JSON, debug=debug)
    if not insecure and not tls_certs_dir:
        raise click.UsageError(
            "expected --tls-server-certs-dir DIRECTORY (or TLS_SERVER_CERTS_DIR) for mTLS, or --insecure"
        )
    open_files.raise_limit()
    try:
        with signals_blocked():
            settings = Settings(
                address=address,
                credentials=None if insecure else certificates.load_credentials(Path(tls_certs_dir or "")),
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
    """Block SIGTERM and SIGINT in this thread and in the threads that it starts, so that `serve` receives
    them.

    Use it around all gRPC code: gRPC starts threads with the first credentials, and while the main thread is
    busy, a signal goes to any thread that does not block it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(running: Server, address: str) -> None:
    """Serve until SIGTERM or SIGINT, then drain. The caller must have blocked these signals.

    Raises:
        StartupFailed: the server cannot listen on the address.
    """
    port = running.start()
    # Objects loaded so far stay for good; collections skip them, so that they do not delay calls.
    gc.collect()
    gc.freeze()
    _log.info("serving", address=address, port=port)
    received = signal.Signals(signal.sigwait(_SIGNALS))
    _log.info("stopping; a second signal exits immediately", signal=received.name)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    running.stop()
    _log.info("stopped")


if __name__ == "__main__":
    main()
