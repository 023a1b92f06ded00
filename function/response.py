"""The answer: what was found and what is wanted, written into protobuf."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis.conditions import BlockedReason, ClaimConditionType, DegradedReason
from function import structs
from function.claim import Composite
from function.conditions import Told
from function.errors import Refused
from function.live import Finding

LONGEST_MESSAGE: Final = 4096
"""Characters of a message; a claim can have 500 wrong domains, and nobody reads further."""


def begin(req: fnv1.RunFunctionRequest, ttl: float) -> fnv1.RunFunctionResponse:
    """An answer that passes on what others want and the context.

    Args:
        req: what is answered.
        ttl: how long the answer may be reused, in seconds.
    """
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=req.meta.tag), desired=req.desired)
    if req.HasField("context"):
        rsp.context.CopyFrom(req.context)
    set_ttl(rsp, ttl)
    return rsp


def set_ttl(rsp: fnv1.RunFunctionResponse, seconds: float) -> None:
    """Say how long the answer may be reused."""
    rsp.meta.ttl.FromMilliseconds(round(seconds * 1000))


def put(rsp: fnv1.RunFunctionResponse, name: str, resource: Struct, *, ready: bool) -> None:
    """Want a composed resource, instead of what an earlier step wanted under its name."""
    wanted = rsp.desired.resources[name]
    wanted.Clear()
    wanted.resource.CopyFrom(resource)
    wanted.ready = fnv1.READY_TRUE if ready else fnv1.READY_FALSE


def keep(rsp: fnv1.RunFunctionResponse, name: str, seen: Struct, *, ready: bool) -> None:
    """Want a composed resource as it stands in the control plane."""
    kept = Struct()
    for key in ("apiVersion", "kind", "spec"):
        if key in seen.fields:
            kept.fields[key].CopyFrom(seen.fields[key])
    annotations = structs.child(seen, "metadata", "annotations")
    if annotations is not None:
        kept.get_or_create_struct("metadata").get_or_create_struct("annotations").CopyFrom(annotations)
    put(rsp, name, kept, ready=ready)


def set_status(rsp: fnv1.RunFunctionResponse, fields: Mapping[str, Any]) -> None:
    """Want these fields of the composite's status, beside those that earlier steps want."""
    rsp.desired.composite.resource.get_or_create_struct("status").update(dict(fields))


def set_live(
    rsp: fnv1.RunFunctionResponse, composite: Composite, finding: Finding, *, tell: bool = True
) -> None:
    """Set the condition Live, and tell an event where it changed, unless nobody is to be told."""
    _condition(rsp, composite, ClaimConditionType.LIVE, finding.live, (finding.reason, finding.message))
    if tell and composite.live != ("True" if finding.live else "False", finding.reason):
        severity = fnv1.SEVERITY_WARNING if finding.failed else fnv1.SEVERITY_NORMAL
        _result(rsp, composite, severity, finding.reason, finding.message)


def set_conditions(rsp: fnv1.RunFunctionResponse, composite: Composite, told: Iterable[Told]) -> None:
    """Set the conditions beside Live, and tell an event where one has just become so that Live says nothing
    of it."""
    for each in told:
        _condition(rsp, composite, each.type, each.holds, (each.reason, each.message))
        news = composite.condition(each.type) != ("True" if each.holds else "False", each.reason)
        if news and each.holds and each.reason in _ALARMING:
            _result(rsp, composite, fnv1.SEVERITY_WARNING, each.reason, each.message)


_ALARMING: Final = frozenset({BlockedReason.AWAITING_APPROVAL, DegradedReason.DRIFTED})


def warn(rsp: fnv1.RunFunctionResponse, reason: str, message: str) -> None:
    """Tell an event to the platform team, who read those of the composite."""
    _result(rsp, None, fnv1.SEVERITY_WARNING, reason, message)


def refuse(rsp: fnv1.RunFunctionResponse, composite: Composite, refusal: Refused) -> None:
    """Set the condition Live and end the pipeline; what exists stays as it is."""
    _condition(rsp, composite, ClaimConditionType.LIVE, False, (refusal.reason, refusal.message))
    _result(rsp, composite, fnv1.SEVERITY_FATAL, refusal.reason, refusal.message)


def _condition(
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    type_: ClaimConditionType,
    holds: bool,
    says: tuple[str, str],
) -> None:
    rsp.conditions.append(
        fnv1.Condition(
            type=type_.value,
            status=fnv1.STATUS_CONDITION_TRUE if holds else fnv1.STATUS_CONDITION_FALSE,
            reason=str(says[0]),
            message=_cut(says[1]),
            target=_target(composite),
        )
    )


def _result(
    rsp: fnv1.RunFunctionResponse,
    composite: Composite | None,
    severity: fnv1.Severity,
    reason: str,
    message: str,
) -> None:
    rsp.results.append(
        fnv1.Result(severity=severity, reason=str(reason), message=_cut(message), target=_target(composite))
    )


def _target(composite: Composite | None) -> fnv1.Target:
    """The claim hears too, where there is one: its author acts."""
    return fnv1.TARGET_COMPOSITE_AND_CLAIM if composite and composite.claim else fnv1.TARGET_COMPOSITE


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
