"""The sandbox's certificates: one certificate authority, and one certificate per component.

    ca
    ├── apiserver            server, localhost and 127.0.0.1
    ├── admin                client, group system:masters (Kubernetes' own superuser group)
    ├── provider             client, user system:serviceaccount:crossplane-system:provider-edgetenants
    ├── function             server, localhost and 127.0.0.1
    └── crossplane           client of the function

The API server treats a ServiceAccount as a user of that name, whatever its credentials. With a certificate,
the provider has exactly the RBAC rules of its account, and needs no token.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme

__all__ = ["PROVIDER_USER", "Pair", "Pki", "at", "make"]

PROVIDER_USER = "system:serviceaccount:crossplane-system:provider-edgetenants"

# Go rejects a certificate whose subject alternative names are critical and empty.
_NOBODYS_HOST = "client.invalid"


@dataclass(frozen=True)
class Pair:
    """The files of a certificate, its key, and its certificate authority."""

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
    """The files have the names that the function's SDK expects: tls.crt, tls.key, ca.crt."""
    crossplane: Pair
    """The files have the names that Crossplane core expects: tls.crt, tls.key, ca.crt."""
    service_accounts: Pair
    """The key pair with which kube-apiserver signs ServiceAccount tokens."""


def at(directory: Path) -> Pki:
    """The paths of all certificates under `directory`, whether they exist or not."""
    ca = directory / "ca.crt"

    def pair(name: str) -> Pair:
        return Pair(directory / f"{name}.crt", directory / f"{name}.key", ca)

    def mounted(name: str) -> Pair:
        folder = directory / name
        return Pair(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")

    return Pki(
        ca=ca,
        apiserver=pair("apiserver"),
        admin=pair("admin"),
        provider=pair("provider"),
        service_accounts=pair("sa"),
        function=mounted("function"),
        crossplane=mounted("crossplane"),
    )


def make(directory: Path) -> Pki:
    """Create all certificates under `directory`. Only this user can read them."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = trustme.CA(organization_name="edgetenants sandbox")
    made = at(directory)
    _write(made.ca, authority.cert_pem.bytes())
    # The built API server also reads ca.crt and apiserver.* here; kube-apiserver gets the paths as flags.
    _write(directory / "client-ca.crt", authority.cert_pem.bytes())
    hosts = ("localhost", "127.0.0.1")

    def server(pair: Pair, name: str) -> None:
        _write_pair(pair, authority.issue_cert(*hosts, common_name=name), made.ca)

    def client(pair: Pair, name: str, group: str | None = None) -> None:
        leaf = authority.issue_cert(_NOBODYS_HOST, common_name=name, organization_name=group)
        _write_pair(pair, leaf, made.ca)

    server(made.apiserver, "apiserver")
    client(made.admin, "edgetenants-sandbox-admin", "system:masters")
    client(made.provider, PROVIDER_USER)
    client(made.service_accounts, "service-accounts")
    server(made.function, "function-edgetenants")
    client(made.crossplane, "crossplane")
    return made


def _write_pair(pair: Pair, leaf: trustme.LeafCert, ca: Path) -> None:
    pair.certificate.parent.mkdir(exist_ok=True, mode=0o700)
    _write(pair.certificate, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    _write(pair.key, leaf.private_key_pem.bytes())
    if pair.ca != ca:
        _write(pair.ca, ca.read_bytes())


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600, exist_ok=True)
    path.write_bytes(content)
