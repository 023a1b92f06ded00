"""A rehearsal: runs the provider's own code, but records every call that writes instead of making it.

So it shows exactly what the provider would send, parameter by parameter. It makes the calls that read. A call
that writes and is not defined here is refused before it leaves the process (`hooks.only_reading`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import ExternalClient, FieldDiff, Observation
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules import policies
from provider.cloudfront.aws import calls, domain_calls, group_calls
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import only_reading
from provider.cloudfront.state.certificates import Request
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.group import Group, ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["NEW", "PlannedCall", "Recorder", "Rehearsal", "rehearse"]

NEW: Final = "(given by AWS)"
"""A placeholder for what only AWS knows: the id and the version of an object that would be created."""
_LONGEST: Final = 4096


@dataclass(frozen=True)
class PlannedCall:
    """A call that the provider would make."""

    action: str
    """Such as UpdateTenant."""
    operation: str
    """Such as cloudfront:UpdateDistributionTenant."""
    parameters: Mapping[str, Any]
    """In the form that boto3 expects."""
    why: str = ""

    def to_status(self) -> dict[str, str]:
        """Return an entry of status.plannedActions."""
        parameters = json.dumps(self.parameters, ensure_ascii=False, sort_keys=True)
        details = f"{self.why}: {parameters}" if self.why else parameters
        return {"action": self.action, "operation": self.operation, "details": _cut(details)}


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsed reconcile."""

    calls: tuple[PlannedCall, ...] = ()
    seen: Observation | None = None
    refusal: ExternalError | NotYet | None = None
    """Why it would stop, after those calls."""

    def to_status(self) -> list[dict[str, str]]:
        """Return status.plannedActions: the calls, and what would stop the reconcile after them."""
        told = [call.to_status() for call in self.calls]
        if self.refusal is None:
            return told
        action = "Wait" if isinstance(self.refusal, NotYet) else "Refused"
        # Omit the request id, which differs each time.
        words = self.refusal.message.partition(" (request id: ")[0]
        return [*told, {"action": action, "details": _cut(words)}]

    @property
    def diff(self) -> tuple[FieldDiff, ...]:
        """The differences that cause the writes."""
        return self.seen.diff if self.seen else ()


@dataclass
class Recorder:
    """A proxy for CloudFront: forwards reads, and records writes with a response like that of AWS.

    It forwards every method that it does not define: a read, or a write that `only_reading` refuses.
    """

    inner: CloudFront
    made: list[PlannedCall] = field(default_factory=list)
    _known: dict[str, ObservedTenant] = field(default_factory=dict)
    _read: dict[str, ObservedTenant] = field(default_factory=dict)
    _groups: dict[str, ObservedGroup] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def as_cloudfront(self) -> CloudFront:
        """This recorder as a CloudFront."""
        return cast(CloudFront, self)

    def get_tenant(self, identifier: str) -> ObservedTenant:
        """See CloudFront. Reads each identifier only once: one recorder serves one reconcile."""
        if identifier not in self._read:
            self._read[identifier] = self.inner.get_tenant(identifier)
        seen = self._read[identifier]
        self._known[seen.id] = seen
        return seen

    def create_tenant(self, tenant: Tenant) -> ObservedTenant:
        """See CloudFront."""
        self._note("CreateTenant", "CreateDistributionTenant", calls.creation(tenant))
        made = ObservedTenant(id=NEW, arn=NEW, name=tenant.name, etag=NEW, distribution_id="")
        return self._as_asked(made, tenant)

    def update_tenant(
        self,
        id_: str,
        etag: str,
        tenant: Tenant,
        emptied: frozenset[str] = frozenset(),
        request: Request | None = None,
    ) -> ObservedTenant:
        """See CloudFront."""
        before = self._known[id_]
        disables = before.enabled and tenant.enabled is False
        action = "DisableTenant" if disables else "UpdateTenant"
        self._note(action, "UpdateDistributionTenant", calls.update(id_, etag, tenant, emptied, request))
        return self._as_asked(replace(before, etag=NEW), tenant)

    def move_domain(self, domain: str, tenant: str, etag: str) -> str:
        """See CloudFront."""
        self._note("MoveDomain", "UpdateDomainAssociation", domain_calls.move(domain, tenant, etag))
        self._known[tenant] = self._known[tenant].given(domain, NEW)
        return NEW

    def delete_tenant(self, id_: str, etag: str) -> None:
        """See CloudFront."""
        self._note("DeleteTenant", "DeleteDistributionTenant", calls.deletion(id_, etag))

    def get_group(self, identifier: str) -> ObservedGroup:
        """See CloudFront."""
        if identifier not in self._groups:
            self._groups[identifier] = self.inner.get_group(identifier)
        seen = self._groups[identifier]
        self._groups[seen.id] = seen
        return seen

    def create_group(self, group: Group) -> ObservedGroup:
        """See CloudFront."""
        self._note("CreateGroup", "CreateConnectionGroup", group_calls.creation(group))
        made = ObservedGroup(id=NEW, arn=NEW, name=group.name, etag=NEW)
        return _group_as_asked(made, group)

    def update_group(self, id_: str, etag: str, group: Group, *, emptied: bool = False) -> ObservedGroup:
        """See CloudFront."""
        before = self._groups[id_]
        disables = before.enabled and group.enabled is False
        parameters = group_calls.update(id_, etag, group, emptied=emptied)
        self._note("DisableGroup" if disables else "UpdateGroup", "UpdateConnectionGroup", parameters)
        return _group_as_asked(replace(before, etag=NEW), group)

    def delete_group(self, id_: str, etag: str) -> None:
        """See CloudFront."""
        self._note("DeleteGroup", "DeleteConnectionGroup", calls.deletion(id_, etag))

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """See CloudFront."""
        self._note(_of("Tag", arn), "TagResource", calls.tagging(arn, tags))

    def untag(self, arn: str, keys: tuple[str, ...]) -> None:
        """See CloudFront."""
        self._note(_of("Untag", arn), "UntagResource", calls.untagging(arn, keys))

    def _note(self, action: str, operation: str, parameters: Mapping[str, Any]) -> None:
        self.made.append(PlannedCall(action, f"cloudfront:{operation}", parameters))

    def _as_asked(self, before: ObservedTenant, asked: Tenant) -> ObservedTenant:
        domains = asked.domains or frozenset(before.domains)
        after = replace(
            before,
            distribution_id=asked.distribution_id or before.distribution_id,
            connection_group_id=asked.connection_group_id or before.connection_group_id,
            domains={domain: before.domains.get(domain, "inactive") for domain in domains},
            enabled=before.enabled if asked.enabled is None else asked.enabled,
            parameters=asked.parameters,
            customizations=asked.customizations,
            status="InProgress",
        )
        self._known[after.id] = after
        return after


def _of(action: str, arn: str) -> str:
    return f"{action}{'Group' if ':connection-group/' in arn else 'Tenant'}"


def _group_as_asked(before: ObservedGroup, asked: Group) -> ObservedGroup:
    return replace(
        before,
        ipv6_enabled=before.ipv6_enabled if asked.ipv6_enabled is None else asked.ipv6_enabled,
        enabled=before.enabled if asked.enabled is None else asked.enabled,
        anycast_ip_list_id=asked.anycast_ip_list_id or before.anycast_ip_list_id,
        status="InProgress",
    )


def rehearse(client: ExternalClient, mr: Managed, recorded: Recorder) -> Rehearsal:
    """Reconcile a managed resource once with a client, as the runtime would.

    Args:
        client: a client that uses `recorded`.
        mr: the managed resource, with its references resolved.
        recorded: receives the client's calls.

    Raises:
        policies.UnsupportedPolicies: the runtime would not act on the resource.
    """
    seen: Observation | None = None
    refusal: ExternalError | NotYet | None = None
    try:
        with only_reading():
            seen = client.observe(mr)
            _act(client, mr, seen)
    except (ExternalError, NotYet) as stopped:
        refusal = stopped
    except AwsError as error:
        refusal = ExternalError(str(error))
    held = any(each.reason == Reason.DELETION_HELD for each in (refusal.conditions if refusal else ()))
    made = tuple(replace(call, why=_why(call, mr, seen, held=held)) for call in recorded.made)
    return Rehearsal(made, seen, refusal)


def _act(client: ExternalClient, mr: Managed, seen: Observation) -> None:
    may = policies.permissions(mr.management_policies, mr.deletion_policy)
    if mr.paused:
        return
    if mr.deleted:
        if seen.exists and may.delete:
            client.delete(mr, seen)
    elif not seen.exists:
        if may.create:
            client.create(mr, seen)
    elif not seen.up_to_date and may.update:
        client.update(mr, seen)


def _why(call: PlannedCall, mr: Managed, seen: Observation | None, *, held: bool) -> str:
    if mr.deleted and held:
        return "the tenant follows spec.forProvider.enabled while its deletion is on hold"
    if mr.deleted:
        return "the resource is being deleted"
    if call.action in ("CreateTenant", "CreateGroup"):
        return "it does not exist"
    return _told(seen, tags=call.action.startswith(("Tag", "Untag")))


def _told(seen: Observation | None, *, tags: bool) -> str:
    differing = [d for d in (seen.diff if seen else ()) if d.field.startswith("tags") is tags]
    return ", ".join(f"{d.field} {d.observed} → {d.desired}" for d in differing)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
