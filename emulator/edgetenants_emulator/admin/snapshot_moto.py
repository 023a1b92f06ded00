"""moto's part of a saved state: ACM certificates in us-east-1 and Route 53 zones, of all accounts.

The rest of moto's state (IAM, STS, other services) is not saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moto.acm.models import CertBundle, TagHolder, acm_backends
from moto.route53.models import FakeZone, route53_backends

from edgetenants_emulator.certificates.acm import REGION, ManagedBundle
from edgetenants_emulator.clock import VirtualClock
from edgetenants_emulator.dns.route53 import MEMBERS
from edgetenants_emulator.state.records import ManagedCertificate

__all__ = ["load_certificates", "load_zones", "save_certificates", "save_zones"]


def save_certificates() -> list[dict[str, Any]]:
    """Each certificate with its private key. The emulator generated it, so it is worthless elsewhere."""
    return [
        {
            "account": account,
            "arn": bundle.arn,
            "certificate": bundle.cert.decode(),
            "key": bundle.key.decode(),
            "type": bundle.type,
            "status": bundle.status,
            "options": bundle.cert_options,
        }
        for account, backends in list(acm_backends.items())
        for region, backend in list(backends.items())
        if region == REGION
        for bundle in list(backend._certificates.values())  # noqa: SLF001 - moto's API gives no keys
    ]


def load_certificates(
    saved: Iterable[Mapping[str, Any]], managed: Mapping[str, ManagedCertificate], clock: VirtualClock
) -> None:
    """Restore certificates, and replace those that ACM already has."""
    for each in saved:
        kind = ManagedBundle if each["arn"] in managed else CertBundle
        there: dict[str, CertBundle] = acm_backends[each["account"]][REGION]._certificates  # noqa: SLF001
        bundle = _again(there.get(each["arn"]), each, kind) or _parsed(each, kind)
        if isinstance(bundle, ManagedBundle):
            bundle.managed, bundle.clock = managed[each["arn"]], clock
        there[bundle.arn] = bundle


def _parsed(saved: Mapping[str, Any], kind: type[CertBundle]) -> CertBundle:
    return kind(
        saved["account"],
        saved["certificate"].encode(),
        saved["key"].encode(),
        region=REGION,
        arn=saved["arn"],
        cert_type=saved["type"],
        cert_status=saved["status"],
        cert_options=dict(saved["options"]),
    )


def _again(there: CertBundle | None, saved: Mapping[str, Any], kind: type[CertBundle]) -> CertBundle | None:
    """The existing certificate if ACM still has it, because parsing a key also validates it and takes tens of
    milliseconds."""
    as_saved = (saved["certificate"].encode(), saved["key"].encode())
    if there is None or (there.cert, there.key) != as_saved:
        return None
    # Whether CloudFront manages the certificate may differ between the emulators.
    bundle = object.__new__(kind)
    bundle.__dict__.update(there.__dict__)
    bundle.type, bundle.status, bundle.cert_options = saved["type"], saved["status"], dict(saved["options"])
    bundle.tags, bundle.in_use_by = TagHolder(), []
    return bundle


def save_zones() -> list[dict[str, Any]]:
    """Each hosted zone with its records."""
    return [
        {
            "account": account,
            "id": zone.resource_id,
            "name": zone.name,
            "private": zone.private_zone,
            "callerReference": zone.caller_reference,
            "comment": zone.comment,
            "records": [{key: getattr(r, name) for key, name in MEMBERS.items()} for r in zone.rrsets],
        }
        for account, backends in list(route53_backends.items())
        for backend in list(backends.values())
        for zone in list(backend.zones.values())
    ]


def load_zones(saved: Iterable[Mapping[str, Any]]) -> None:
    """Restore zones under their ids, and replace those that Route 53 already has."""
    for each in saved:
        backend = route53_backends[each["account"]]["aws"]
        backend.zones.pop(each["id"], None)
        zone: FakeZone = backend.create_hosted_zone(
            each["name"], each["private"], each["callerReference"], comment=each["comment"]
        )
        del backend.zones[zone.resource_id]
        zone.resource_id = each["id"]
        zone.rrsets = []
        for record in each["records"]:
            zone.add_rrset({key: value for key, value in record.items() if value is not None})
        backend.zones[each["id"]] = zone
