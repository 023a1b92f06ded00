"""The CloudFront resources that use a certificate. ACM shows them (InUseBy) and refuses to delete a used
one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.protocol.exchange import Request
from edgetenants_emulator.protocol.operations import Operation
from edgetenants_emulator.state.world import World

__all__ = ["by_certificate", "certificate_arn", "tell_acm"]

_SHOWN_BY = frozenset({"DeleteCertificate", "DescribeCertificate", "ListCertificates"})


def by_certificate(world: World, account: str) -> dict[str, list[str]]:
    """By certificate ARN: the account's distributions and tenants that have this certificate set."""
    found: dict[str, list[str]] = {}
    for distribution in world.distributions.of(account):
        if distribution.certificate_arn:
            found.setdefault(distribution.certificate_arn, []).append(distribution.arn)
    for tenant in world.tenants.of(account):
        arn = certificate_arn(tenant.customizations)
        if arn:
            found.setdefault(arn, []).append(tenant.arn)
    return found


def tell_acm(world: World, account: str, operation: Operation, request: Request) -> None:
    """Update the users of certificates in ACM, before a call to ACM.

    Raises AwsError ResourceInUseException for a delete of a used certificate.
    """
    if operation.name not in _SHOWN_BY:
        return
    with world.lock:
        users = by_certificate(world, account)
        acm.show_users(account, users)
    if operation.name != "DeleteCertificate":
        return
    try:
        arn = request.json().get("CertificateArn")
    except (ValueError, AttributeError):
        return  # moto reports the error
    if users.get(arn):
        message = f"Certificate {arn} in account {account} is in use."
        raise AwsError("ResourceInUseException", message, 400)


def certificate_arn(customizations: Mapping[str, Any]) -> str | None:
    """The ARN of the tenant's own certificate."""
    arn: str | None = customizations.get("Certificate", {}).get("Arn")
    return arn
