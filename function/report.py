"""The function as a step of an Operation: it reports the state of all claims in the Operation's output.

claims          number of claims
byPhase         number of claims in each phase: Live, WaitingForDNS, Failed, …
byReason        number of claims with each reason of Live
attention       the claims that need attention, failed ones first, the namespaces in turns: namespace, name,
                plan, reason, message, whether they are Blocked, Degraded, and synced (not paused)
notListed       number of such claims beyond mostRows
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import tenantreport
from apis.conditions import BlockedReason, ClaimConditionType, DegradedReason, LiveReason
from apis.errors import InvalidInput
from apis.tenantclaim import Phase
from apis.tenantreport import TenantReport
from edgetenants_runtime.api.conditions import ConditionType, SyncedReason
from function.protocol import structs

REQUIREMENT: Final = "claims"
LONGEST_MESSAGE: Final = 512
_LONGEST_REASON: Final = 64
"""Characters. No reason is longer, but who may write a status may write anything."""
_CALM: Final = frozenset({Phase.LIVE, Phase.SUSPENDED, Phase.DEPLOYING, Phase.PENDING})
_UNTOLD: Final = "Unknown"
_OTHER: Final = "Other"
"""A reason or phase that is none."""
_REFERRING: Final = frozenset(
    {
        BlockedReason.MISSING_DEPENDENCIES,
        BlockedReason.POLICY_DENIED,
        DegradedReason.DNS_RECORD_LOST,
    }
)
"""Reasons of conditions whose message refers to another condition."""


@dataclass(frozen=True)
class ReportedClaim:
    """One claim, read from its status."""

    namespace: str
    name: str
    plan: str
    phase: str
    conditions: Mapping[str, Struct]

    @property
    def reason(self) -> str:
        """Reason of the condition Live."""
        told = structs.text(self.conditions.get(ClaimConditionType.LIVE), "reason") or _UNTOLD
        return told if len(told) <= _LONGEST_REASON and told.isalnum() and told.isascii() else _OTHER

    def holds(self, type_: ClaimConditionType) -> bool:
        """Whether the condition is True."""
        return structs.text(self.conditions.get(type_), "status") == "True"

    @property
    def needs_somebody(self) -> bool:
        """Whether it needs attention, or has no phase yet."""
        return (
            self.outdated
            or self.phase not in set(_CALM)
            or self.holds(ClaimConditionType.BLOCKED)
            or self.holds(ClaimConditionType.DEGRADED)
        )

    @property
    def outdated(self) -> bool:
        """Whether Crossplane does not reconcile it, such as a paused one: its conditions may be old."""
        return structs.text(self.conditions.get(ConditionType.SYNCED), "status") == "False"

    @property
    def _teller(self) -> str:
        """The condition whose message has the cause; the others refer to it."""
        synced = structs.text(self.conditions.get(ConditionType.SYNCED), "reason")
        paused = synced == SyncedReason.RECONCILE_PAUSED
        if self.outdated and (paused or not self.holds(ClaimConditionType.DEGRADED)):
            return ConditionType.SYNCED
        if self._tells(ClaimConditionType.BLOCKED):
            return ClaimConditionType.BLOCKED
        calm = self.holds(ClaimConditionType.LIVE) or self.reason == LiveReason.SUSPENDED
        if self._tells(ClaimConditionType.DEGRADED) and calm:
            return ClaimConditionType.DEGRADED
        return ClaimConditionType.LIVE

    def _tells(self, type_: ClaimConditionType) -> bool:
        return self.holds(type_) and structs.text(self.conditions.get(type_), "reason") not in _REFERRING

    def row(self) -> dict[str, Any]:
        """Its row in the report."""
        said = structs.text(self.conditions.get(self._teller), "message")
        fields = {
            "namespace": self.namespace,
            "name": self.name,
            "plan": self.plan,
            "phase": self.phase,
            "reason": self.reason,
            "blocked": self.holds(ClaimConditionType.BLOCKED),
            "degraded": self.holds(ClaimConditionType.DEGRADED),
            "synced": not self.outdated,
            "message": said[:LONGEST_MESSAGE],
        }
        return {key: value for key, value in fields.items() if value != ""}


def is_asked(req: fnv1.RunFunctionRequest) -> bool:
    """Whether the step's input requests a report."""
    return structs.text(req.input, "kind") == tenantreport.KIND


def run(req: fnv1.RunFunctionRequest) -> fnv1.RunFunctionResponse:
    """Return the report, or the requirements for it."""
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=req.meta.tag), desired=req.desired)
    if req.HasField("context"):
        rsp.context.CopyFrom(req.context)
    try:
        wanted = tenantreport.parse(structs.plain_object(req.input))
    except InvalidInput as error:
        _tell(rsp, fnv1.SEVERITY_FATAL, "InvalidInput", f"The function's input: {error}")
        return rsp
    _require(rsp, wanted)
    if REQUIREMENT not in req.required_resources:
        return rsp
    claims = [_read(item.resource) for item in req.required_resources[REQUIREMENT].items]
    report = derive(claims, wanted.most_rows)
    rsp.output.update(report)
    live = report["byPhase"].get(Phase.LIVE, 0)
    needing = len(report["attention"]) + report["notListed"]
    said = f"{report['claims']} claims: {live} live, {needing} need attention"
    _tell(rsp, fnv1.SEVERITY_NORMAL, "Reported", said)
    return rsp


def derive(claims: Iterable[ReportedClaim], most_rows: int) -> dict[str, Any]:
    """The report on claims. It does not depend on their order."""
    ordered = sorted(claims, key=lambda claim: (claim.namespace, claim.name))
    needing = [claim for claim in ordered if claim.needs_somebody]
    needing.sort(key=lambda claim: (claim.phase != Phase.FAILED, claim.phase, claim.reason))
    listed = _in_turns(needing)[:most_rows]
    listed.sort(key=lambda claim: claim.phase != Phase.FAILED)
    return {
        "claims": len(ordered),
        "byPhase": dict(sorted(Counter(claim.phase for claim in ordered).items())),
        "byReason": dict(sorted(Counter(claim.reason for claim in ordered).items())),
        "attention": [claim.row() for claim in listed],
        "notListed": len(needing) - len(listed),
    }


def _in_turns(claims: Iterable[ReportedClaim]) -> list[ReportedClaim]:
    """The first claim of each namespace, then the second of each, and so on: one namespace must not fill the
    report. In each turn, failed ones come first."""
    turns: Counter[str] = Counter()
    placed = []
    for claim in claims:
        placed.append((turns[claim.namespace], claim.phase != Phase.FAILED, claim))
        turns[claim.namespace] += 1
    return [claim for *_, claim in sorted(placed, key=lambda each: each[:2])]


def _require(rsp: fnv1.RunFunctionResponse, wanted: TenantReport) -> None:
    selector = rsp.requirements.resources[REQUIREMENT]
    selector.api_version, selector.kind = wanted.claims.api_version, wanted.claims.kind
    # Set even without labels: most versions of Crossplane refuse a selector with neither name nor labels.
    selector.match_labels.SetInParent()
    selector.match_labels.labels.update(wanted.claims.match_labels or {})
    if wanted.claims.namespace:
        selector.namespace = wanted.claims.namespace


def _read(resource: Struct) -> ReportedClaim:
    return ReportedClaim(
        namespace=structs.text(resource, "metadata", "namespace"),
        name=structs.text(resource, "metadata", "name"),
        plan=structs.text(resource, "spec", "plan"),
        phase=_phase(structs.text(resource, "status", "phase")),
        conditions={
            structs.text(each, "type"): each for each in structs.objects(resource, "status", "conditions")
        },
    )


def _phase(told: str) -> str:
    return told if told in set(Phase) else _OTHER if told else _UNTOLD


def _tell(rsp: fnv1.RunFunctionResponse, severity: fnv1.Severity, reason: str, message: str) -> None:
    rsp.results.append(fnv1.Result(severity=severity, reason=reason, message=message))
