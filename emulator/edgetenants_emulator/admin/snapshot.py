"""Saves and loads the complete state as JSON: resources, certificates, zones, settings.

Time continues from the save. The clock itself never runs backwards, so virtual times are shifted instead.
Dates that AWS shows do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from edgetenants_emulator.admin import snapshot_dns, snapshot_moto
from edgetenants_emulator.certificates import lives
from edgetenants_emulator.cloudfront import domains
from edgetenants_emulator.configuration import distribution_config
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.past import Past
from edgetenants_emulator.state.records import (
    AnycastIpList,
    CertificateStatus,
    ConnectionGroup,
    Distribution,
    DomainStatus,
    Invalidation,
    ManagedCertificate,
    Renewal,
    Resource,
    Shelf,
    Tenant,
    Validity,
)
from edgetenants_emulator.state.world import World
from edgetenants_emulator.sts import session_ends

__all__ = ["load", "save"]

_FORMAT = 1


def save(world: World) -> dict[str, Any]:
    """The current state."""
    with world.lock:
        now = world.clock.now()
        return {
            "format": _FORMAT,
            "virtual": now,
            "unix": world.clock.unix(now),
            "settings": world.settings.as_json(),
            "distributions": [asdict(each) for each in world.distributions],
            "connectionGroups": [asdict(each) for each in world.groups],
            "anycastIpLists": [asdict(each) for each in world.anycast_lists],
            "tenants": [_tenant_row(each) for each in world.tenants],
            "managedCertificates": [_certificate_row(each) for each in _managed(world)],
            "pendingCertificates": [each.arn for each in world.pending_certificates],
            **snapshot_dns.save_book(world.book),
            "zoneChanges": snapshot_dns.save_changes(world.zone_changes),
            "sessions": session_ends.save(world),
            "certificates": snapshot_moto.save_certificates(),
            "zones": snapshot_moto.save_zones(),
        }


def load(world: World, saved: Mapping[str, Any]) -> None:
    """Replace the state with a saved one. ACM and Route 53 keep their other content.

    Raises ValueError for another format, KeyError or TypeError for anything that is not a saved state, and
    then does not change CloudFront's state.
    """
    if not isinstance(saved, Mapping):
        raise TypeError("expected an object")
    if saved.get("format") != _FORMAT:
        raise ValueError(f"format: expected {_FORMAT}, got {saved.get('format')!r}")
    with world.lock:
        later = world.clock.now() - saved["virtual"]
        settings = Settings().changed(saved["settings"])
        managed = {row["arn"]: _certificate(row, later) for row in saved["managedCertificates"]}
        pending = [managed[arn] for arn in saved["pendingCertificates"]]
        distributions = [_distribution(row, later) for row in saved["distributions"]]
        groups = [ConnectionGroup(**_later(row, later)) for row in saved["connectionGroups"]]
        lists = [AnycastIpList(**_later(row, later)) for row in saved.get("anycastIpLists", ())]
        tenants = [_tenant(row, later, managed) for row in saved["tenants"]]
        book = snapshot_dns.load_book(saved, later)
        changes = snapshot_dns.load_changes(saved.get("zoneChanges", {}), later)
        snapshot_moto.load_certificates(saved["certificates"], managed, world.clock)
        snapshot_moto.load_zones(saved["zones"])
        world.sessions = session_ends.load(saved.get("sessions", []), later)
        world.settings, world.pending_certificates = settings, pending
        world.certificate_dues, world.next_certificate_due = {}, float("inf")
        for certificate in managed.values():
            lives.resume(world, certificate)
        world.distributions, world.groups = _shelf(distributions), _shelf(groups)
        world.tenants, world.anycast_lists = _shelf(tenants), _shelf(lists)
        _hold_domains(world)
        world.past = Past()
        book.changes += world.book.changes  # observers of this number must notice a change
        world.book, world.zone_changes = book, changes
        world.clock.date(saved["unix"])


def _distribution(row: Mapping[str, Any], later: float) -> Distribution:
    invalidations = [_invalidation(each, later) for each in row.get("invalidations", ())]
    return Distribution(**{**_later(row, later), "invalidations": invalidations})


def _tenant_row(tenant: Tenant) -> dict[str, Any]:
    bare = replace(tenant, certificate=None)
    return {**asdict(bare), "certificate": tenant.certificate.arn if tenant.certificate else None}


def _tenant(row: Mapping[str, Any], later: float, managed: Mapping[str, ManagedCertificate]) -> Tenant:
    given = _later(row, later)
    given["domains"] = {name: DomainStatus(status) for name, status in row["domains"].items()}
    given["certificate"] = managed[row["certificate"]] if row["certificate"] else None
    given["activating"] = {name: at + later for name, at in row.get("activating", {}).items()}
    given["invalidations"] = [_invalidation(each, later) for each in row["invalidations"]]
    return Tenant(**given)


def _invalidation(row: Mapping[str, Any], later: float) -> Invalidation:
    moved = {name: row[name] + later for name in ("created", "completed_at")}
    return Invalidation(**{**row, **moved, "paths": tuple(row["paths"])})


def _certificate_row(certificate: ManagedCertificate) -> dict[str, Any]:
    row = asdict(certificate)
    del row["looked_at"]
    return {**row, "served": sorted(certificate.served)}


def _certificate(row: Mapping[str, Any], later: float) -> ManagedCertificate:
    times = ("requested", "proven_at", "issued", "due")
    moved = {name: row[name] + later for name in times if row.get(name) is not None}
    read: dict[str, Any] = {"status": CertificateStatus(row["status"]), "served": set(row["served"])}
    if row.get("validity"):
        read["validity"] = Validity(*(at + later for at in row["validity"].values()))
    if row.get("renewal"):
        told = {**row["renewal"], "waiting": tuple(row["renewal"].get("waiting", ()))}
        read["renewal"] = Renewal(**{**told, "updated": row["renewal"]["updated"] + later})
    return ManagedCertificate(**{**row, **moved, **read})


def _managed(world: World) -> Iterator[ManagedCertificate]:
    of_tenants = [tenant.certificate for tenant in world.tenants if tenant.certificate]
    others = [*world.pending_certificates, *world.certificate_dues.values()]
    yield from {each.arn: each for each in [*of_tenants, *others]}.values()


def _later(row: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return {**row, **{name: row[name] + seconds for name in ("created", "modified", "deployed_at")}}


def _shelf(resources: list[Any]) -> Shelf[Any]:
    shelf: Shelf[Resource] = Shelf()
    for each in sorted(resources, key=lambda resource: resource.number):
        shelf.add(each)
    return shelf


def _hold_domains(world: World) -> None:
    world.domains = {}
    for distribution in world.distributions:
        domains.hold(world, distribution.arn, distribution_config.aliases(distribution.config))
    for tenant in world.tenants:
        domains.hold(world, tenant.arn, tenant.domains)
