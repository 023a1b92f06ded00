"""A claim, its managed resources, a provider and CloudFront in small: what becomes of the function's answers,
step by step and in any order.

Status is as old as the last reconcile of its resource, and the control plane observes before it applies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from tests.unit.function import building

TAKE = "edgetenants.io/take-domains-from"


@dataclass
class Tenant:
    """A tenant in CloudFront."""

    id: str
    domains: set[str]
    deployed: bool = False
    rolling: bool = True
    checked: bool = False
    """Its DNS records are checked."""


@dataclass
class Managed:
    """A managed resource as the control plane has it, status and all."""

    name: str
    domains: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()
    external_name: str = ""
    generation: int = 1
    deleted: bool = False
    policies: tuple[str, ...] = ("*",)
    status: dict[str, Any] = field(default_factory=dict)


@dataclass
class Cloud:
    """The claim and all that comes of it."""

    gives: bool = True
    """CloudFront lets an enabled tenant give a domain away."""
    covers: bool = True
    """A certificate covers the parking domain."""
    refusal: str = "AWS refuses"
    """What a tenant says of a refusal, before its reason."""
    plan: dict[str, Any] = field(default_factory=lambda: {"parkingDomain": "*.parking.example.com"})
    domains: list[str] = field(default_factory=list)
    isolation: str = "Shared"
    on_delete: str = "Delete"
    confirmed: str = ""
    records: str = ""
    """The state of every routing record of a tenant that served when the isolation changed; a new tenant has
    not checked its own yet. Empty: nothing is checked, and the claim has no conditions."""
    told: list[dict[str, Any]] = field(default_factory=list)
    """The claim's conditions."""
    managed: dict[str, Managed] = field(default_factory=dict)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    """By external names."""
    made: int = 0
    tries: int = 0

    # The control plane.

    def ask(self) -> fnv1.RunFunctionResponse:
        """The function's answer to what is observed now."""
        allow = {"maxPerDomain": 100, **self.plan.get("allow", {})}
        return building.run(
            building.request(
                xr={
                    "metadata": {"annotations": {"edgetenants.io/confirm": self.confirmed}},
                    "status": {"conditions": self.told},
                },
                spec={"domains": self.domains, "isolation": self.isolation, "onDelete": self.on_delete},
                input_={"plans": {"standard": {**self.plan, "allow": allow}}},
                observed={name: _observed(each) for name, each in self.managed.items()},
            )
        )

    def apply(self, rsp: fnv1.RunFunctionResponse) -> None:
        """Have the managed resources as the answer wants them."""
        wanted = building.desired(rsp)
        if self.records:
            said = building.conditions(rsp).items()
            self.told = [building.condition(type_, *each) for type_, each in said]
        for name, resource in wanted.items():
            known = self.managed.setdefault(name, Managed(f"acme-{name}"))
            annotations = resource["metadata"]["annotations"]
            domains = frozenset(resource["spec"]["forProvider"]["domains"])
            known.generation += domains != known.domains
            known.domains = domains
            known.external_name = annotations["crossplane.io/external-name"]
            known.policies = tuple(resource["spec"].get("managementPolicies", ("*",)))
            known.takes = frozenset(filter(None, annotations.get(TAKE, "").split(",")))
        for name in self.managed.keys() - wanted.keys():
            self.managed[name].deleted = True

    # The provider.

    def reconcile(self, name: str) -> None:
        """One reconcile, from Get to status."""
        mr = self.managed[name]
        tenant = self.tenants.get(mr.external_name)
        if mr.deleted:
            if mr.policies == ("*",):
                self.tenants.pop(mr.external_name, None)
            del self.managed[name]
            return
        reason = self._create(mr) if tenant is None else self._update(mr, tenant)
        self._tell(mr, reason)

    def _create(self, mr: Managed) -> str:
        own = {domain for domain in mr.domains if self.holder(domain) is None}
        if any(not self._may_take(mr, domain) for domain in mr.domains - own):
            return "DomainConflict"
        if not own:
            return "ValidationFailed"
        if not self._covered(own):
            return "CertificateSANMismatch"
        self.made += 1
        self.tenants[mr.external_name] = Tenant(f"dt_{self.made}", own)
        return ""

    def _update(self, mr: Managed, tenant: Tenant) -> str:
        added = mr.domains - tenant.domains
        held = {domain for domain in added if self.holder(domain) is not None}
        if any(not self._may_take(mr, domain) for domain in held):
            return "DomainConflict"
        if not self._covered(added):
            return "CertificateSANMismatch"
        for domain in sorted(held):
            if not self.gives:
                return "DomainConflict"
            source = self.holder(domain)
            assert source is not None
            assert tenant.deployed, "a domain that moves to a tenant that is not rolled out goes dark"
            assert len(source.domains) > 1, "the last domain of a tenant is not moved away"
            source.domains.discard(domain)
            tenant.domains.add(domain)
        tenant.rolling |= tenant.domains != mr.domains
        tenant.domains = set(mr.domains)
        return ""

    def _may_take(self, mr: Managed, domain: str) -> bool:
        holder = self.holder(domain)
        return holder is not None and holder.id in mr.takes

    def _covered(self, domains: set[str] | frozenset[str]) -> bool:
        return self.covers or not any(domain.endswith(".parking.example.com") for domain in domains)

    def _tell(self, mr: Managed, reason: str) -> None:
        tenant = self.tenants.get(mr.external_name)
        ready = ("False", reason) if reason else ("True", "Available")
        if tenant is not None and not reason and not tenant.deployed:
            ready = ("False", "Deploying")
        synced = ("False", "ReconcileError") if reason else ("True", "ReconcileSuccess")
        told = [
            building.condition("Ready", *ready, self._words(reason), generation=mr.generation),
            building.condition("Synced", *synced, generation=mr.generation),
        ]
        if tenant is not None:
            deployed = ("False", "Deploying") if tenant.rolling else ("True", "Deployed")
            told.append(building.condition("Deployed", *deployed, generation=mr.generation))
        at_provider = {} if tenant is None else {
            "id": tenant.id,
            "enabled": True,
            "domains": [{"domain": each, "status": "active"} for each in sorted(tenant.domains)],
        }  # fmt: skip
        records = [
            {"name": each, "purpose": "Routing", "type": "CNAME", "value": building.ENDPOINT}
            for each in sorted(mr.domains)
        ]
        if self.records:
            state = self.records if tenant is not None and tenant.checked else "Unknown"
            records = [{**each, "state": state} for each in records]
        mr.status = {"conditions": told, "atProvider": at_provider, "dnsInstructions": records}

    def _words(self, reason: str) -> str:
        self.tries += 1
        return f"{self.refusal} ({reason}) (request id: {self.tries})" if reason else ""

    # CloudFront.

    def holder(self, domain: str) -> Tenant | None:
        """The tenant that has a domain."""
        return next((each for each in self.tenants.values() if domain in each.domains), None)

    def deploy(self) -> None:
        """Every tenant is rolled out."""
        for tenant in self.tenants.values():
            tenant.deployed, tenant.rolling = True, False

    @property
    def served(self) -> set[str]:
        """The domains for which CloudFront answers."""
        return {domain for each in self.tenants.values() if each.deployed for domain in each.domains}

    def check(self) -> None:
        """The records of every tenant are checked."""
        for tenant in self.tenants.values():
            tenant.checked = True

    @property
    def leaked(self) -> list[set[str]]:
        """The domains of each tenant without a managed resource that has none of the claim's domains."""
        managed = {each.external_name for each in self.managed.values()}
        alone = [each.domains for name, each in self.tenants.items() if name not in managed]
        return [each for each in alone if all(name.endswith(".parking.example.com") for name in each)]

    # All of them in turn.

    def round(self) -> fnv1.RunFunctionResponse:
        """All do what there is to do, once; the function's answer."""
        rsp = self.ask()
        self.apply(rsp)
        for name in sorted(self.managed):
            self.reconcile(name)
        self.leave()
        self.deploy()
        return rsp

    def leave(self) -> None:
        """What Crossplane no longer observes goes; here it observes all."""

    def settle(self, rounds: int = 80) -> fnv1.RunFunctionResponse:
        """Go on until nothing changes."""
        for _ in range(rounds):
            before = self.seen()
            rsp = self.round()
            if self.seen() == before:
                return rsp
        raise AssertionError(f"it does not settle: {self.seen()}")

    def seen(self) -> str:
        """All there is, to be compared."""
        return re.sub(
            "request id: [0-9]+", "", repr((sorted(self.managed.items()), sorted(self.tenants.items())))
        )


def _observed(mr: Managed) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": mr.name,
        "generation": mr.generation,
        "annotations": {"crossplane.io/external-name": mr.external_name},
    }
    if mr.deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "metadata": metadata,
        "spec": {"managementPolicies": list(mr.policies), "forProvider": {"domains": sorted(mr.domains)}},
        "status": mr.status,
    }
