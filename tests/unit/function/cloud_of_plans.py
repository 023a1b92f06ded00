"""The small cloud, and besides: distributions, plans, the claim's connection group, and what Crossplane no
longer observes: resources that an answer omits, whose deletion may be on hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from tests.unit.function import building
from tests.unit.function.cloud import TAKE, Cloud, Managed, Tenant

GROUP = "connection-group"


@dataclass
class Placed(Managed):
    """A managed resource with what its plan decides."""

    distribution: str = ""
    own_group: bool = False
    plan: str = ""
    replacing: str = ""
    config: dict[str, Any] | None = None

    def observed(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"domains": sorted(self.domains), "distributionId": self.distribution}
        if self.own_group:
            parameters["connectionGroupIdSelector"] = {"matchControllerRef": True}
        annotations = {
            "crossplane.io/external-name": self.external_name,
            "edgetenants.io/plan": self.plan or None,
            "edgetenants.io/replacing": self.replacing or None,
        }
        metadata = {"name": self.name, "generation": self.generation, "annotations": annotations}
        if self.deleted:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        spec: dict[str, Any] = {"managementPolicies": list(self.policies), "forProvider": parameters}
        if self.config:
            spec["providerConfigRef"] = self.config
        return {"metadata": metadata, "spec": spec, "status": self.status}


@dataclass
class PlacedTenant(Tenant):
    """A tenant in CloudFront with its place."""

    distribution: str = ""
    own_group: bool = False


@dataclass
class CloudOfPlans(Cloud):
    """A claim whose plan changes, and that changes its plan."""

    plan: dict[str, Any] = field(default_factory=dict)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Further plans."""
    chosen: str = "standard"
    dedicated: bool | None = None
    group: bool = False
    """Whether the connection group is composed; it exists at once."""
    leaving: list[Placed] = field(default_factory=list)
    """Resources that Crossplane has deleted and no longer observes."""
    holds: bool = False
    """Whether their deletions are on hold."""

    def ask(self) -> fnv1.RunFunctionResponse:
        plans = {
            name: {"distributionId": "E1", **plan, "allow": {"maxPerDomain": 100, "override": ["connection"]}}
            for name, plan in {"standard": self.plan, **self.others}.items()
        }
        spec = {"plan": self.chosen, "domains": self.domains, "isolation": self.isolation}
        if self.dedicated is not None:
            spec["connection"] = {"dedicated": self.dedicated}
        placed: Any = self.managed.items()
        observed: dict[str, Any] = {name: each.observed() for name, each in placed}
        if self.group:
            serves = [building.condition("Ready", "True", "Available")]
            observed[GROUP] = {
                "kind": "ConnectionGroup",
                "spec": {"forProvider": {"distributionId": None, "domains": None}},
                "status": {"atProvider": {"id": "cg_1"}, "conditions": serves},
            }
        xr = {"metadata": {"annotations": {"edgetenants.io/confirm": self.confirmed}}}
        input_ = {"plans": plans}
        return building.reconcile(building.request(xr=xr, spec=spec, input_=input_, observed=observed))

    def apply(self, rsp: fnv1.RunFunctionResponse) -> None:
        wanted = building.desired(rsp)
        self.group = wanted.pop(GROUP, None) is not None
        for name, resource in wanted.items():
            known = self.managed.setdefault(name, Placed(f"acme-{name}"))
            annotations, parameters = resource["metadata"]["annotations"], resource["spec"]["forProvider"]
            place = (parameters["distributionId"], "connectionGroupIdSelector" in parameters)
            domains = frozenset(parameters["domains"])
            known.generation += (domains, *place) != (known.domains, known.distribution, known.own_group)
            known.domains, (known.distribution, known.own_group) = domains, place
            known.external_name = annotations["crossplane.io/external-name"]
            known.plan = annotations.get("edgetenants.io/plan", "")
            known.replacing = annotations.get("edgetenants.io/replacing", "")
            known.takes = frozenset(filter(None, annotations.get(TAKE, "").split(",")))
            known.config = resource["spec"].get("providerConfigRef")
        for name in self.managed.keys() - wanted.keys():
            gone = self.managed.pop(name)
            gone.deleted = True
            self.leaving.append(gone)

    def leave(self) -> None:
        """What was deleted goes, unless its deletion is on hold."""
        if not self.holds:
            for each in self.leaving:
                self.tenants.pop(each.external_name, None)
            self.leaving.clear()

    def _create(self, mr: Placed) -> str:
        reason = super()._create(mr)
        if not reason:
            made = self.tenants[mr.external_name]
            self.tenants[mr.external_name] = PlacedTenant(
                made.id, made.domains, distribution=mr.distribution, own_group=mr.own_group
            )
        return reason

    def _update(self, mr: Placed, tenant: PlacedTenant) -> str:
        tenant.distribution, tenant.own_group = mr.distribution, mr.own_group
        return super()._update(mr, tenant)

    def _tell(self, mr: Placed, reason: str) -> None:
        super()._tell(mr, reason)
        tenant = self.tenants.get(mr.external_name)
        if tenant is not None:
            mr.status["atProvider"]["distributionId"] = tenant.distribution

    def places(self) -> dict[str, tuple[str, bool]]:
        """Of each domain that is served, its distribution, and whether it is in the claim's own group."""
        served = (each for each in self.tenants.values() if each.deployed)
        return {
            domain: (each.distribution, each.own_group) for each in served for domain in sorted(each.domains)
        }

    def seen(self) -> str:
        return f"{super().seen()} {self.group} {self.leaving}"
