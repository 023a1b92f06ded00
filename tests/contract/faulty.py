"""A tenant and its connection group through their phases, with one call of one phase disturbed."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from edgetenants_runtime.errors import ExternalError
from tests.contract.admin import RefusedError
from tests.contract.lives import DISTRIBUTION, GroupLife, Life, Recorded
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.fake_cloudfront import Killed
from tests.unit.provider.world import managed

FRONT, NAME = "shop.front", "shop.acme"
ADDED = "shop.example.com"
PASSES = 40
DOMAIN = "www.customer.test"


class Disturbance(StrEnum):
    """What happens to a call."""

    THROTTLED = "throttled"
    """RefusedError once: too many."""
    BROKEN = "broken"
    """Answered 500 once; nothing was done."""
    LOST = "lost"
    """Done, and the connection is lost before the answer."""
    OUTDATED = "outdated"
    """RefusedError once, as if the ETag were an old one."""
    DENIED = "denied"
    """RefusedError until it is permitted."""
    KILLED = "killed"
    """The process dies before the call."""
    KILLED_AFTER = "killed after"
    """The process dies when the call has had its effect."""


_ORDERS: dict[Disturbance, dict[str, Any]] = {
    Disturbance.THROTTLED: {"action": "throttle"},
    Disturbance.BROKEN: {"action": "internal-error"},
    Disturbance.LOST: {"action": "reset", "when": "after"},
    Disturbance.OUTDATED: {"error": {"code": "PreconditionFailed", "status": 412}},
    Disturbance.DENIED: {"error": {"code": "AccessDenied", "status": 403}, "every": True},
}


class Faulty(Recorded):
    """The calls, one of which may be disturbed."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._fault, self._deadly, self.deaths = "", "", 0
        for client in self.clients:
            client.meta.events.register("before-call", self._before)
            client.meta.events.register("after-call", self._after)
        self.sent: list[tuple[str, int]] = []
        """Each call that was answered, with its HTTP status."""

    def disturb(self, operation: str, how: Disturbance) -> None:
        """The next call of an operation."""
        if how in _ORDERS:
            self._fault = self.admin("POST", "faults", {"operation": operation, **_ORDERS[how]})["id"]
        else:
            self._deadly = f"{operation} {'after' if how is Disturbance.KILLED_AFTER else 'before'}"

    def forgive(self) -> None:
        """What was refused is permitted; it stays known that it was."""
        self.admin("DELETE", "faults")
        self._fault, self.deaths = "", self.deaths + 1

    def permit(self) -> None:
        """The disturbance ends."""
        self.admin("DELETE", "faults")
        self._fault = self._deadly = ""

    @property
    def struck(self) -> bool:
        """The call was made, and disturbed."""
        if not self._fault:
            return self.deaths > 0
        return bool(self.admin("GET", f"faults/{self._fault}")["struck"])

    def _before(self, model: Any, **_: Any) -> None:
        self._die(f"{model.name} before")

    def _after(self, model: Any, http_response: Any, **_: Any) -> None:
        self.sent.append((model.name, http_response.status_code))
        self._die(f"{model.name} after")

    def _die(self, here: str) -> None:
        if here == self._deadly:
            self._deadly, self.deaths = "", self.deaths + 1
            raise Killed


@dataclass
class Stage:
    """Both managed resources and what they lead to."""

    aws: Faulty
    group: GroupLife
    tenant: Life | None = None
    serves: bool = False
    """The tenant's web server has the validation tokens."""

    @property
    def both(self) -> list[Life]:
        return [self.group, *([self.tenant] if self.tenant else [])]

    @property
    def there(self) -> Life:
        assert self.tenant is not None
        return self.tenant

    def step(self) -> list[str]:
        """Time passes, and each is reconciled; the errors that were met."""
        met = []
        self.aws.deploy()
        if self.serves:
            self._serve()
        for life in self.both:
            life.clock.advance(60)
            if life.gone:
                continue
            try:
                life.reconcile()
            except Killed:
                for each in self.both:
                    each.restart()
            if isinstance(life.error, ExternalError):
                told = [c["reason"] for c in life.status.get("conditions", ()) if c["status"] == "False"]
                met.append(f"{life.error} {told}")
        return met

    def _serve(self) -> None:
        # RefusedError where none was asked for.
        with contextlib.suppress(RefusedError):
            self.aws.admin("PATCH", f"managed-certificates/{NAME}", {"served": True})

    def objects(self) -> list[dict[str, Any]]:
        return [copy.deepcopy(life.obj) for life in self.both]


def begin(aws: Faulty) -> Stage:
    return Stage(aws, GroupLife(manifest(), aws))


def again(aws: Faulty, objects: list[dict[str, Any]]) -> Stage:
    """After a restart of the provider."""
    lives = [copy.deepcopy(each) for each in objects]
    return Stage(aws, GroupLife(lives[0], aws), Life(lives[1], aws) if lives[1:] else None)


# The phases: what is done, and what must come of it.


def _make_group(_: Stage) -> None:
    pass


def _group_made(stage: Stage) -> bool:
    return stage.group.done() and bool(stage.group.status["atProvider"].get("routingEndpoint"))


def _make_tenant(stage: Stage) -> None:
    asked = {
        "distributionId": DISTRIBUTION,
        "connectionGroupId": stage.group.status["atProvider"]["id"],
        "domains": [DOMAIN],
        "managedCertificateRequest": {"validationTokenHost": "self-hosted"},
        "tags": {"team": "shop"},
    }
    stage.tenant = Life(managed(asked), stage.aws)


def _make_tenant_at_default(stage: Stage) -> None:
    _make_tenant(stage)
    stage.there.edit(connectionGroupId=None)


def _tenant_made(stage: Stage) -> bool:
    made = bool(stage.there.status.get("atProvider", {}).get("id"))
    return made and stage.there.condition("CertificateReady")[1] == "PendingValidation"


def _lead_dns(stage: Stage) -> None:
    endpoint = stage.group.status["atProvider"]["routingEndpoint"]
    for domain in (DOMAIN, ADDED):
        stage.aws.admin("POST", "records", {"name": domain, "type": "CNAME", "values": [endpoint]})
    stage.serves = True


def _attached(stage: Stage) -> bool:
    return stage.there.done() and stage.there.condition("CertificateReady")[1] == "Validated"


def _change(stage: Stage) -> None:
    stage.serves = True
    stage.there.edit(
        parameters={"tenantName": "b"}, domains=[DOMAIN, ADDED], enabled=True, tags={"stage": "live"}
    )
    stage.group.edit(ipv6Enabled=False, tags={"a": "1"})


def _changed(stage: Stage) -> bool:
    # Without a call: it would be met by the disturbance.
    tags = stage.there.mr.at_provider.get("tags") or {}
    return all(life.done() for life in stage.both) and "stage" in tags


def as_changed(stage: Stage) -> bool:
    """AWS has what the update asked for."""
    # What AWS tells of tags may lag behind.
    stage.aws.deploy()
    seen = stage.aws.calls.get_tenant(NAME)
    tags = stage.aws.calls.tags(seen.arn)
    return (
        seen.parameters == {"tenantName": "b"}
        and set(seen.domains) == {DOMAIN, ADDED}
        and tags.get("stage") == "live"
        and "team" not in tags
        and not (group := stage.aws.calls.get_group(FRONT)).ipv6_enabled
        and stage.aws.calls.tags(group.arn).get("a") == "1"
    )


def _delete_both(stage: Stage) -> None:
    for life in stage.both:
        life.delete()


def _deleted(stage: Stage) -> bool:
    return all(life.gone for life in stage.both)


@dataclass(frozen=True)
class Phase:
    """A piece of the life."""

    act: Callable[[Stage], None]
    done: Callable[[Stage], bool]
    tenants: int
    groups: int
    calls: str
    """What is called in it, undisturbed."""


_CREATING = """GetConnectionGroup GetDistributionTenant GetDistribution
    CreateDistributionTenant"""
PHASES = {
    "group": Phase(_make_group, _group_made, 0, 1, "GetConnectionGroup CreateConnectionGroup"),
    "create": Phase(_make_tenant, _tenant_made, 1, 1, _CREATING),
    "attach": Phase(
        _lead_dns,
        _attached,
        1,
        1,
        """GetConnectionGroup GetDistributionTenant GetManagedCertificateDetails DescribeCertificate
        ListTagsForResource UpdateDistributionTenant VerifyDnsConfiguration""",
    ),
    "update": Phase(
        _change,
        _changed,
        1,
        1,
        """GetConnectionGroup ListDistributionTenants ListTagsForResource UpdateConnectionGroup TagResource
        GetDistributionTenant GetDistribution UpdateDistributionTenant UntagResource
        GetManagedCertificateDetails DescribeCertificate""",
    ),
    "delete": Phase(
        _delete_both,
        _deleted,
        0,
        0,
        """GetConnectionGroup ListDistributionTenants GetDistributionTenant ListTagsForResource
        UpdateDistributionTenant DeleteDistributionTenant UpdateConnectionGroup DeleteConnectionGroup""",
    ),
}
"""In order."""
BESIDES = {
    "default group": Phase(_make_tenant_at_default, _tenant_made, 1, 1, f"{_CREATING} ListConnectionGroups")
}
"""Begun where the creation begins."""


def go(stage: Stage, phase: Phase) -> list[str]:
    """Until what must come of the phase has come; the errors met."""
    met: list[str] = []
    for _ in range(PASSES):
        met += stage.step()
        if phase.done(stage):
            return met
    raise AssertionError(
        f"{met[-3:]} {[(life.events, life.status.get('conditions')) for life in stage.both]}"
    )


def check(stage: Stage, phase: Phase) -> None:
    """Nothing is doubled, left behind or missing."""
    state = stage.aws.admin("GET", "state")
    tenants = [t["Name"] for t in state["tenants"]]
    assert tenants == [NAME] * phase.tenants, tenants
    groups = [g["Name"] for g in state["connectionGroups"] if not g.get("IsDefault")]
    assert groups == [FRONT] * phase.groups
