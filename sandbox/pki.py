"""The sandbox's certificates: one authority, and one certificate for each who has to prove who it is.

    ca
    ├── apiserver            server, localhost and 127.0.0.1
    ├── admin                client, group system:masters (Kubernetes' own superuser group)
    ├── provider             client, user system:serviceaccount:crossplane-system:provider-edgetenants
    ├── function             server, localhost and 127.0.0.1
    └── crossplane           client of the function

A ServiceAccount is a user of that name to the API server, whatever proves it; with a certificate the
provider runs under exactly the rules bound to its account, without token machinery.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme

__all__ = ["PROVIDER_USER", "Pair", "Pki", "make"]

PROVIDER_USER = "system:serviceaccount:crossplane-system:provider-edgetenants"

# Go refuses a certificate whose list of alternative names is critical and empty.
_NOBODYS_HOST = "client.invalid"


@dataclass(frozen=True)
class Pair:
    """A certificate with its key, as files, and the authority that it is trusted by."""

    certificate: Path
    key: Path
    ca: Path


@dataclass(frozen=True)
class Pki:
    """All certificates of a sandbox."""

    ca: Path
    apiserver: Pair
    admin: Pair
    provider: Pair
    function: Pair
    """In a directory with the names that the function's SDK reads: tls.crt, tls.key, ca.crt."""
    crossplane: Pair
    """In a directory with the names that Crossplane core reads: tls.crt, tls.key, ca.crt."""
    service_accounts: Pair
    """What kube-apiserver signs ServiceAccounts' tokens with."""


def make(directory: Path) -> Pki:
    """Make all certificates under `directory`, readable for this user only."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = trustme.CA(organization_name="edgetenants sandbox")
    ca = directory / "ca.crt"
    _write(ca, authority.cert_pem.bytes())
    # kube-apiserver names its own files; the built API server reads ca.crt and apiserver.* here too.
    _write(directory / "client-ca.crt", authority.cert_pem.bytes())
    hosts = ("localhost", "127.0.0.1")

    def server(name: str) -> trustme.LeafCert:
        return authority.issue_cert(*hosts, common_name=name)

    def client(name: str, group: str | None = None) -> trustme.LeafCert:
        return authority.issue_cert(_NOBODYS_HOST, common_name=name, organization_name=group)

    return Pki(
        ca=ca,
        apiserver=_pair(server("apiserver"), directory, "apiserver", ca),
        admin=_pair(client("edgetenants-sandbox-admin", "system:masters"), directory, "admin", ca),
        provider=_pair(client(PROVIDER_USER), directory, "provider", ca),
        service_accounts=_pair(client("service-accounts"), directory, "sa", ca),
        function=_mounted(server("function-edgetenants"), directory / "function", ca),
        crossplane=_mounted(client("crossplane"), directory / "crossplane", ca),
    )


def _pair(leaf: trustme.LeafCert, directory: Path, name: str, ca: Path) -> Pair:
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key", ca)
    _write(pair.certificate, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    _write(pair.key, leaf.private_key_pem.bytes())
    return pair


def _mounted(leaf: trustme.LeafCert, directory: Path, ca: Path) -> Pair:
    """A directory laid out as a mounted TLS Secret."""
    directory.mkdir(exist_ok=True, mode=0o700)
    own_ca = directory / "ca.crt"
    _write(own_ca, ca.read_bytes())
    return _pair(leaf, directory, "tls", own_ca)


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600, exist_ok=True)
    path.write_bytes(content)
