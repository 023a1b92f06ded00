"""The server's certificate, and the CA of the clients that it accepts (mTLS), as files in one directory.

Crossplane and cert-manager may replace them while the server runs, for example after their Secret was
deleted. New connections use the new files; Crossplane could not connect otherwise.
"""

import ssl
import threading
from pathlib import Path
from typing import Any

import grpc
import structlog

from function.errors import StartupFailed

__all__ = ["CA", "CERTIFICATE", "KEY", "load_credentials"]

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"
"""Files in the directory with TLS certificates, as Crossplane mounts it."""

_log = structlog.get_logger("function")


def load_credentials(directory: Path) -> grpc.ServerCredentials:
    """Credentials for mTLS from tls.crt, tls.key and ca.crt. The server accepts only clients with a
    certificate of that CA. If the files change, connections that begin later use the new content.

    Raises:
        StartupFailed: a file is not readable or has the wrong content; the message names it.
    """
    files = _Files(directory)
    renewed: Any = files.renewed  # it may return None, which gRPC's type stubs do not know
    return grpc.dynamic_ssl_server_credentials(files.load(), renewed, require_client_authentication=True)


class _Files:
    """The content that new connections use. Thread-safe: each handshake may ask in a thread of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._used: tuple[bytes, ...] = ()
        self._problem = ""

    def load(self) -> grpc.ServerCertificateConfiguration:
        """Read the files. Raises StartupFailed."""
        content = self._read()
        _check(self._directory)
        if self._read() != content:
            raise StartupFailed(f"--tls-server-certs-dir: the files in {self._directory} are being replaced")
        self._used = content
        certificate, key, ca = content
        return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=ca)

    def renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """The content if it has changed; None to go on with the former one."""
        with self._lock:
            try:
                if self._read() == self._used:
                    return None
                renewed = self.load()
            except StartupFailed as error:
                # The files may not belong together yet. Each handshake asks, so log it once.
                if str(error) != self._problem:
                    _log.warning("cannot use the renewed certificate; the former one stays", error=str(error))
                self._problem = str(error)
                return None
            self._problem = ""
            _log.info("the certificate was renewed")
            return renewed

    def _read(self) -> tuple[bytes, ...]:
        return tuple(_read(self._directory / name) for name in (CERTIFICATE, KEY, CA))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StartupFailed(f"--tls-server-certs-dir: cannot read {path}: {error.strerror}") from error


def _check(directory: Path) -> None:
    """Check the files here, because gRPC accepts any content and then fails each handshake silently."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password argument, OpenSSL would prompt for the password of an encrypted key.
        context.load_cert_chain(directory / CERTIFICATE, directory / KEY, password="")
    except ssl.SSLError as error:
        names = f"{CERTIFICATE} and {KEY}"
        message = f"--tls-server-certs-dir: {names} in {directory} are not a certificate and its key: {error}"
        raise StartupFailed(message) from error
    try:
        context.load_verify_locations(directory / CA)
    except ssl.SSLError as error:
        message = f"--tls-server-certs-dir: {directory / CA} contains no CA certificate: {error}"
        raise StartupFailed(message) from error
