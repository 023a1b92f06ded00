"""A CA, a server and a client certificate, once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
import trustme


@dataclass(frozen=True)
class Pki:
    """Certificates as files for the server and as credentials for callers."""

    directory: Path
    """tls.crt, tls.key and ca.crt, as Crossplane mounts them."""
    crossplane: grpc.ChannelCredentials
    """A caller with a certificate of the CA."""
    stranger: grpc.ChannelCredentials
    """A caller with a certificate of another CA."""
    nobody: grpc.ChannelCredentials
    """A caller without a certificate."""


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    ca, other = trustme.CA(), trustme.CA()
    directory = tmp_path_factory.mktemp("certs")
    server = ca.issue_cert("localhost", "127.0.0.1")
    server.private_key_pem.write_to_path(directory / "tls.key")
    server.cert_chain_pems[0].write_to_path(directory / "tls.crt")
    ca.cert_pem.write_to_path(directory / "ca.crt")
    root = ca.cert_pem.bytes()
    return Pki(
        directory,
        _caller(ca, root),
        _caller(other, root),
        grpc.ssl_channel_credentials(root_certificates=root),
    )


def _caller(ca: trustme.CA, root: bytes) -> grpc.ChannelCredentials:
    leaf = ca.issue_cert("crossplane")
    chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)
    return grpc.ssl_channel_credentials(root, leaf.private_key_pem.bytes(), chain)
