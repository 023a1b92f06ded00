"""ACM certificates as CloudFront sees them: issued, in us-east-1, and the names that they cover.

moto stores the certificates and implements ACM's API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from moto.acm.exceptions import CertificateNotFound
from moto.acm.models import CertBundle, acm_backends

from edgetenants_emulator.clock import VirtualClock
from edgetenants_emulator.state import identifiers
from edgetenants_emulator.state.records import ManagedCertificate, Renewal

__all__ = ["count", "covers", "exists", "issue", "issued_names", "redirect", "request_managed", "show_users"]

REGION = "us-east-1"


def covers(names: Iterable[str], domain: str) -> bool:
    """Whether a certificate's names cover a domain. A wildcard matches exactly one label.

    >>> covers(["*.example.com"], "a.example.com"), covers(["*.example.com"], "a.b.example.com")
    (True, False)
    """
    wildcard = "*." + domain.partition(".")[2]
    return any(name.lower() in (domain, wildcard) for name in names)


def issued_names(account: str, arn: str | None) -> tuple[str, ...] | None:
    """The names on an issued certificate in us-east-1; None if the account has no such certificate."""
    if not arn:
        return None
    try:
        certificate = acm_backends[account][REGION].get_certificate(arn)
    except CertificateNotFound:
        return None
    if certificate.status != "ISSUED":
        return None
    return _names(certificate.cert)


@lru_cache(maxsize=1024)
def _names(pem: bytes) -> tuple[str, ...]:
    """The names on a certificate, parsed from its PEM, because versions of moto 5 store them differently."""
    certificate = x509.load_pem_x509_certificate(pem)
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = [str(each.value) for each in common]
    with suppress(x509.ExtensionNotFound):
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names += [str(each.value) for each in extension.value]
    return tuple(dict.fromkeys(names))


def issue(account: str, names: Sequence[str]) -> str:
    """Create a certificate for these names, issued immediately, and return its ARN."""
    backend = acm_backends[account][REGION]
    arn = backend.request_certificate(
        domain_name=names[0],
        idempotency_token=identifiers.request_id(),
        subject_alt_names=list(names[1:]),
        tags=[],
    )
    backend.get_certificate(arn).status = "ISSUED"
    return arn


class ManagedBundle(CertBundle):
    """A managed certificate in ACM. Its status follows CloudFront's, on the virtual clock."""

    managed: ManagedCertificate
    clock: VirtualClock

    def validate_pk(self) -> Any:
        """The private key. moto checks its numbers, too, which takes 40 ms."""
        return serialization.load_pem_private_key(
            self.key, password=None, unsafe_skip_rsa_key_validation=True
        )

    def check(self) -> None:
        """Copy the status. moto's default would be issued after a minute of real time."""
        self.status = self.managed.status.upper().replace("-", "_")

    def describe(self) -> dict[str, Any]:
        """moto's description, with ACM's additional fields of managed certificates."""
        described: dict[str, Any] = super().describe()
        detail = described["Certificate"]
        detail["ManagedBy"] = "CLOUDFRONT"
        detail["DomainValidationOptions"] = [self._option(domain) for domain in self.managed.tokens]
        if self.managed.failure_reason:
            detail["FailureReason"] = self.managed.failure_reason
        detail |= self._dates()
        if not self.managed.validity:
            for name in ("IssuedAt", "NotBefore", "NotAfter"):
                detail.pop(name, None)
        eligible = self.status == "ISSUED" and detail["InUseBy"]
        detail["RenewalEligibility"] = "ELIGIBLE" if eligible else "INELIGIBLE"
        if self.managed.renewal:
            detail["RenewalSummary"] = self._renewal(self.managed.renewal)
        return described

    def _dates(self) -> dict[str, float]:
        managed = self.managed
        times = {"CreatedAt": managed.requested, "IssuedAt": managed.issued}
        if managed.validity:
            times |= {"NotBefore": managed.validity.not_before, "NotAfter": managed.validity.not_after}
        return {name: self.clock.unix(at) for name, at in times.items() if at is not None}

    def _renewal(self, renewal: Renewal) -> dict[str, Any]:
        # ACM validates each name on its own.
        options = [
            {
                **self._option(name),
                "ValidationStatus": renewal.status if name in renewal.waiting else "SUCCESS",
            }
            for name in self.managed.tokens
        ]
        summary = {
            "RenewalStatus": renewal.status,
            "UpdatedAt": self.clock.unix(renewal.updated),
            "DomainValidationOptions": options,
        }
        return {**summary, "RenewalStatusReason": renewal.reason} if renewal.reason else summary

    def _option(self, domain: str) -> dict[str, Any]:
        source, target = redirect(self.managed, domain)
        status = {"ISSUED": "SUCCESS", "PENDING_VALIDATION": "PENDING_VALIDATION"}.get(self.status, "FAILED")
        return {
            "DomainName": domain,
            "ValidationDomain": domain,
            "ValidationStatus": status,
            "ValidationMethod": "HTTP",
            "HttpRedirect": {"RedirectFrom": source, "RedirectTo": target},
        }


def request_managed(certificate: ManagedCertificate, transparency_logging: str, clock: VirtualClock) -> None:
    """Add a managed certificate to its account's ACM, and set its ARN."""
    bundle = ManagedBundle(
        account_id=certificate.account,
        region=REGION,
        certificate=_certificate(list(certificate.tokens)),
        private_key=_pem(_key()),
        cert_type="AMAZON_ISSUED",
        cert_status="PENDING_VALIDATION",
    )
    bundle.managed, bundle.clock = certificate, clock
    bundle.cert_options["CertificateTransparencyLoggingPreference"] = transparency_logging
    certificate.arn = bundle.arn
    # moto's API has no way to add an existing certificate object.
    acm_backends[certificate.account][REGION]._certificates[bundle.arn] = bundle  # noqa: SLF001


def _certificate(names: list[str]) -> bytes:
    """A certificate for these names. Its dates are replaced in each description."""
    # A common name has at most 64 characters. ACM leaves out a longer one.
    common = [x509.NameAttribute(x509.NameOID.COMMON_NAME, name) for name in names[:1] if len(name) <= 64]
    subject = x509.Name(common)
    issuer = x509.Name(
        [
            x509.NameAttribute(x509.NameOID.COUNTRY_NAME, "US"),
            x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Amazon"),
            x509.NameAttribute(x509.NameOID.COMMON_NAME, "Amazon"),
        ]
    )
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(_key().public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, names))), critical=False)
        .sign(_key(), hashes.SHA256())
    )
    return signed.public_bytes(serialization.Encoding.PEM)


@cache
def _key() -> rsa.RSAPrivateKey:
    """The key of all managed certificates. ACM does not export it, and a new one takes 50 ms."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def exists(certificate: ManagedCertificate) -> bool:
    """Whether the certificate still exists in ACM."""
    return certificate.arn in acm_backends[certificate.account][REGION]._certificates  # noqa: SLF001


def show_users(account: str, users: Mapping[str, list[str]]) -> None:
    """Set what ACM shows as the users of an account's certificates: resource ARNs by certificate ARN."""
    for arn, bundle in list(acm_backends[account][REGION]._certificates.items()):  # noqa: SLF001
        bundle.in_use_by = users.get(arn, [])


def count(account: str, *, with_managed: bool) -> int:
    """The number of certificates of an account in us-east-1, in any status."""
    held = list(acm_backends[account][REGION]._certificates.values())  # noqa: SLF001
    return sum(with_managed or not isinstance(each, ManagedBundle) for each in held)


def redirect(certificate: ManagedCertificate, domain: str) -> tuple[str, str]:
    """The source and target of the token's redirect, without a scheme, as in the API."""
    path = f".well-known/pki-validation/{certificate.tokens[domain]}.txt"
    target = f"validation.{REGION}.acm-validations.aws/{certificate.account}/{path}"
    return f"{domain}/{path}", target
