"""The parts of Route 53 that moto does not emulate: batches of changes, their ids, and their duration.

moto stores zones and record sets, and handles all other operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from moto.route53.models import FakeZone, RecordSet, route53_backends

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.protocol import restxml
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.protocol.operations import ROUTE53, Operation, service_model
from edgetenants_emulator.state.world import World
from edgetenants_emulator.zones import change_batches
from edgetenants_emulator.zones.authority import normal
from edgetenants_emulator.zones.change_batches import Key, Row
from edgetenants_emulator.zones.late_views import Former
from edgetenants_emulator.zones.zone_changes import Change, prior_request_not_complete

__all__ = [
    "MEMBERS",
    "NAMESPACE",
    "answer",
    "check_at_rest",
    "is_ours",
    "key_of",
    "record_of",
    "row_of",
    "with_change",
    "zone_of",
]

MEMBERS: Mapping[str, str] = {
    "Name": "name",
    "Type": "type",
    "TTL": "ttl",
    "ResourceRecords": "records",
    "SetIdentifier": "set_identifier",
    "Weight": "weight",
    "Region": "region",
    "HealthCheckId": "health_check_id",
    "AliasTarget": "alias_target",
    "Failover": "failover",
    "GeoLocation": "geo_location",
    "MultiValueAnswer": "multi_value_answer",
}
"""The members of a record set, with moto's names."""
NAMESPACE = "https://route53.amazonaws.com/doc/2013-04-01/"
# Operations that Route 53 executes one at a time per zone, without those for tags and traffic policies.
_SERIAL = frozenset(
    {
        "AssociateVPCWithHostedZone",
        "ChangeResourceRecordSets",
        "DeleteHostedZone",
        "DisassociateVPCFromHostedZone",
        "UpdateHostedZoneComment",
    }
)
_CHANGE_INFO = re.compile(rb"<ChangeInfo>.*?</ChangeInfo>", re.DOTALL)


def zone_of(operation: Operation) -> str:
    """The hosted zone that an operation locks; empty for other operations."""
    if operation.service != ROUTE53 or operation.name not in _SERIAL:
        return ""
    return operation.labels.get("Id", "").rpartition("/")[2]


def check_at_rest(world: World, zone_id: str) -> None:
    """Check that the previous change is complete, according to `route53_change_seconds`.

    Raises AwsError PriorRequestNotComplete.
    """
    last = world.zone_changes.last.get(zone_id)
    if last is not None and last + world.settings.route53_change_seconds > world.clock.now():
        raise prior_request_not_complete()


def is_ours(operation: Operation) -> bool:
    """Whether this module handles an operation instead of moto."""
    return operation.service == ROUTE53 and operation.name in _HANDLERS


def answer(world: World, account: str, operation: Operation, request: Request, request_id: str) -> Response:
    """Execute an operation. The caller holds the world's lock. If it raises AwsError, nothing has changed."""
    services = service_model(ROUTE53)
    assert services is not None  # noqa: S101 - botocore has a model of Route 53
    model = services.operation_model(operation.name)
    params = restxml.parse(model, request, operation.labels)
    result = _HANDLERS[operation.name](world, account, params)
    return restxml.serialize(model, result, request_id, NAMESPACE)


def with_change(world: World, account: str, operation: Operation, response: Response) -> Response:
    """moto's response with a new change instead of moto's constant one."""
    if response.status >= 400 or b"<ChangeInfo>" not in response.body:
        return response
    zone_id = operation.labels.get("Id", "").rpartition("/")[2]
    if operation.name == "DeleteHostedZone":
        world.zone_changes.forget_zone(zone_id)
    info = _info(world, world.zone_changes.enter(account, zone_id, world.clock.now()))
    written = "".join(f"<{name}>{value}</{name}>" for name, value in info.items() if value)
    body = _CHANGE_INFO.sub(f"<ChangeInfo>{written}</ChangeInfo>".encode(), response.body)
    return replace(response, body=body)


def key_of(record: RecordSet) -> Key:
    """The key of a record set of moto."""
    return normal(record.name), str(record.type), str(record.set_identifier or "")


def row_of(record: RecordSet) -> dict[str, Any]:
    """A record set of moto, by the model's names."""
    row = {name: getattr(record, attribute) for name, attribute in MEMBERS.items()}
    kept = {name: value for name, value in row.items() if value not in (None, [], {})}
    # moto wraps only the SOA that it creates itself.
    kept["ResourceRecords"] = [v["Value"] if isinstance(v, dict) else v for v in record.records or ()]
    return kept


def record_of(row: Row) -> RecordSet:
    """A record set of moto with these members."""
    kind: Any = RecordSet  # abstract for type checkers, but moto creates instances
    made: RecordSet = kind(dict(row))
    return made


def _change_record_sets(world: World, account: str, params: Mapping[str, Any]) -> dict[str, Any]:
    zone = _zone(account, params["HostedZoneId"])
    batch = params["ChangeBatch"]
    changes = batch.get("Changes") or []
    if not changes:
        raise AwsError("InvalidInput", "Invalid request: a ChangeBatch has at least one change", 400)
    _check_health_checks(account, changes)
    present = {key_of(record): record for record in zone.rrsets}
    rows = {key: row_of(record) for key, record in present.items()}
    after = change_batches.apply(zone.name.rstrip(".").lower(), rows, changes)
    _store(world, zone, present, rows, after)
    now = world.clock.now()
    world.zone_changes.last[zone.resource_id] = now
    change = world.zone_changes.enter(account, zone.resource_id, now, batch.get("Comment", ""))
    return {"ChangeInfo": _info(world, change)}


def _store(
    world: World,
    zone: FakeZone,
    present: Mapping[Key, RecordSet],
    before: Mapping[Key, Row],
    after: Mapping[Key, Row],
) -> None:
    """Store the record sets in moto's zone, and record what they replace."""
    now, history = world.clock.now(), world.zone_changes.history(zone.resource_id)
    settings = world.settings
    history.forget(now, max(settings.route53_insync_seconds, settings.dns_propagation_seconds))
    for key in before.keys() | after.keys():
        if before.get(key) is not after.get(key):
            history.note(key, Former(now, present.get(key)))
    zone.rrsets = [present[key] if row is before.get(key) else record_of(row) for key, row in after.items()]
    # This must be last: readers detect changes of a zone by the length of this list.
    zone.rr_changes.append({"ResourceRecordSet": {"Name": zone.name, "Type": "SOA"}, "Action": "UPSERT"})


def _get_change(world: World, account: str, params: Mapping[str, Any]) -> dict[str, Any]:
    wanted = params["Id"].rpartition("/")[2]
    change = world.zone_changes.changes.get(wanted)
    if change is None or change.account != account:
        raise AwsError("NoSuchChange", f"Could not find resource with ID: {wanted}", 404)
    return {"ChangeInfo": _info(world, change)}


def _info(world: World, change: Change) -> dict[str, Any]:
    synced = change.submitted + world.settings.route53_insync_seconds <= world.clock.now()
    return {
        "Id": f"/change/{change.id}",
        "Status": "INSYNC" if synced else "PENDING",
        "SubmittedAt": world.clock.stamp(change.submitted),
        "Comment": change.comment or None,
    }


def _zone(account: str, zone_id: str) -> FakeZone:
    bare = zone_id.rpartition("/")[2]
    zone: FakeZone | None = route53_backends[account]["aws"].zones.get(bare)
    if zone is None:
        raise AwsError("NoSuchHostedZone", f"No hosted zone found with ID: {bare}", 404)
    return zone


def _check_health_checks(account: str, changes: list[Row]) -> None:
    known = route53_backends[account]["aws"].health_checks
    for change in changes:
        wanted = change["ResourceRecordSet"].get("HealthCheckId")
        if wanted and change["Action"] != "DELETE" and wanted not in known:
            raise AwsError("NoSuchHealthCheck", f"A health check with id {wanted} does not exist.", 404)


_HANDLERS: dict[str, Callable[[World, str, Mapping[str, Any]], dict[str, Any]]] = {
    "ChangeResourceRecordSets": _change_record_sets,
    "GetChange": _get_change,
}
