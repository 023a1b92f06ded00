"""The sandbox's certificates: one certificate authority, and one certificate per component.

    ca
    ├── apiserver            server, localhost and 127.0.0.1
    ├── admin                client, group system:masters (Kubernetes' own superuser group)
    ├── provider             client, user system:serviceaccount:crossplane-system:provider-edgetenants
    ├── function             server, localhost and 127.0.0.1
    ├── crossplane           client of the function
    └── core-webhooks        server, the name of their Service

The API server treats a ServiceAccount as a user of that name, whatever its credentials. With a certificate,
the provider has exactly the RBAC rules of its account, and needs no token.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.manifests import WEBHOOKS_HOST

__all__ = ["PROVIDER_USER", "SOURCES_USER", "Pair", "Pki", "at", "client", "issued", "make"]

PROVIDER_USER = "system:serviceaccount:crossplane-system:provider-edgetenants"
SOURCES_USER = "system:serviceaccount:crossplane-system:edgetenants-sources"

_CA_KEY = "ca.key"
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
    webhooks: Pair
    """Of core's webhooks, in files of the same names."""
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
        webhooks=mounted("core-webhooks"),
    )


def make(directory: Path) -> Pki:
    """Create all certificates under `directory`. Only this user can read them."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = trustme.CA(organization_name="edgetenants sandbox")
    made = at(directory)
    _write(made.ca, authority.cert_pem.bytes())
    _write(directory / _CA_KEY, authority.private_key_pem.bytes())
    # The built API server also reads ca.crt and apiserver.* here; kube-apiserver gets the paths as flags.
    _write(directory / "client-ca.crt", authority.cert_pem.bytes())
    loopback = ("localhost", "127.0.0.1")

    def server(pair: Pair, name: str, *hosts: str) -> None:
        _write_pair(pair, authority.issue_cert(*hosts, common_name=name), made.ca)

    def of_client(pair: Pair, name: str, group: str | None = None) -> None:
        leaf = authority.issue_cert(_NOBODYS_HOST, common_name=name, organization_name=group)
        _write_pair(pair, leaf, made.ca)

    server(made.apiserver, "apiserver", *loopback)
    of_client(made.admin, "edgetenants-sandbox-admin", "system:masters")
    of_client(made.provider, PROVIDER_USER)
    of_client(made.service_accounts, "service-accounts")
    server(made.function, "function-edgetenants", *loopback)
    of_client(made.crossplane, "crossplane")
    server(made.webhooks, "crossplane-webhooks", WEBHOOKS_HOST)
    return made


def issued(directory: Path, *hosts: str, common_name: str) -> dict[str, bytes]:
    """A certificate for a server, as the files of a Secret: tls.crt, tls.key, ca.crt."""
    leaf = _authority(directory).issue_cert(*hosts, common_name=common_name)
    certificate = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    return {
        "tls.crt": certificate,
        "tls.key": leaf.private_key_pem.bytes(),
        "ca.crt": at(directory).ca.read_bytes(),
    }


def client(directory: Path, user: str) -> Pair:
    """A certificate of the sandbox's authority for a user of the API server."""
    name = user.rpartition(":")[2]
    ca = at(directory).ca
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key", ca)
    key = ec.generate_private_key(ec.SECP256R1())
    # X.509 allows 64 characters, which the names of ServiceAccounts exceed; the API server takes more.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user, _validate=False)])
    authority = x509.load_pem_x509_certificate(ca.read_bytes())
    signing = serialization.load_pem_private_key((directory / _CA_KEY).read_bytes(), None)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(authority.subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=365))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(cast("ec.EllipticCurvePrivateKey", signing), hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    _write(pair.certificate, certificate.public_bytes(pem))
    private = serialization.PrivateFormat.PKCS8
    _write(pair.key, key.private_bytes(pem, private, serialization.NoEncryption()))
    return pair


def _authority(directory: Path) -> trustme.CA:
    return trustme.CA.from_pem(at(directory).ca.read_bytes(), (directory / _CA_KEY).read_bytes())


def _write_pair(pair: Pair, leaf: trustme.LeafCert, ca: Path) -> None:
    pair.certificate.parent.mkdir(exist_ok=True, mode=0o700)
    _write(pair.certificate, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    _write(pair.key, leaf.private_key_pem.bytes())
    if pair.ca != ca:
        _write(pair.ca, ca.read_bytes())


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600, exist_ok=True)
    path.write_bytes(content)
