"""The calls to Route 53."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone, normal
from provider.dns.route53.calls import ListedZone, RecordPage, ZonePage

__all__ = ["Route53Calls"]

CLOUDFRONT_ZONE: Final = "Z2FDTNDATAQYW2"
"""The hosted zone id of every alias target in CloudFront (Route 53 API reference, AliasTarget)."""
_ROUTED: Final = (
    "SetIdentifier",
    "Weight",
    "Region",
    "Failover",
    "GeoLocation",
    "GeoProximityLocation",
    "MultiValueAnswer",
    "CidrRoutingConfig",
    "TrafficPolicyInstanceId",
    "HealthCheckId",
)
"""Members of record sets with a routing policy."""
_BUSY: Final = "PriorRequestNotComplete"
_BUSY_SECONDS: Final = 2.0
_FAILURES: Final[Mapping[str, Failure]] = {
    "NoSuchHostedZone": Failure.NO_ZONE,
    _BUSY: Failure.LATER,
}
_CHANGED: Final = (
    "already exists",
    "was not found",
    "do not match",
    "conflicts with other records",
)
"""What Route 53 says if the records are not as they were read. Other words mean that it stays refused,
such as a zone with as many records as it may have."""
_SEGMENT: Final = 255
"""Bytes of one character string of a TXT record (RFC 1035, section 3.3)."""


class Route53Calls:
    """Implements provider.dns.route53.calls.ZoneCalls on boto3. Thread-safe, as boto3's clients are."""

    def __init__(self, client: Any) -> None:
        """`client` is boto3's client of Route 53."""
        self._client = client

    def zones(self, marker: str) -> ZonePage:
        """ListHostedZones."""
        start = {"Marker": marker} if marker else {}
        with _dns_errors(), as_aws_errors("ListHostedZones"):
            answer: Mapping[str, Any] = self._client.list_hosted_zones(MaxItems="100", **start)
            with reading("ListHostedZones"):
                found = tuple(_zone(each) for each in answer["HostedZones"])
                return ZonePage(found, answer["NextMarker"] if answer.get("IsTruncated") else "")

    def zone(self, id_: str) -> ListedZone:
        """GetHostedZone."""
        with _dns_errors(), as_aws_errors("GetHostedZone"):
            answer: Mapping[str, Any] = self._client.get_hosted_zone(Id=id_)
            with reading("GetHostedZone"):
                return _zone(answer["HostedZone"])

    def records(self, zone: str, start: tuple[str, str, str] | None, size: int) -> RecordPage:
        """ListResourceRecordSets."""
        name, type_, set_id = start or ("", "", "")
        given = {
            "StartRecordName": name,
            "StartRecordType": type_,
            "StartRecordIdentifier": set_id,
        }
        options: Any = {key: value for key, value in given.items() if value}
        with _dns_errors(), as_aws_errors("ListResourceRecordSets"):
            answer: Mapping[str, Any] = self._client.list_resource_record_sets(
                HostedZoneId=zone, MaxItems=str(size), **options
            )
            with reading("ListResourceRecordSets"):
                found = tuple(_record(each) for each in answer["ResourceRecordSets"])
                return RecordPage(found, _next(answer))

    def change(self, zone: str, deletes: Sequence[RecordSet], creates: Sequence[RecordSet]) -> str:
        """ChangeResourceRecordSets. It sends no UPSERT: a DELETE of the exact values and a CREATE are refused
        if someone else changed the records meanwhile."""
        changes: Any = [
            *({"Action": "DELETE", "ResourceRecordSet": each.as_stored or _stored(each)} for each in deletes),
            *({"Action": "CREATE", "ResourceRecordSet": each.as_stored or _stored(each)} for each in creates),
        ]
        with _dns_errors(), as_aws_errors("ChangeResourceRecordSets"):
            answer: Mapping[str, Any] = self._client.change_resource_record_sets(
                HostedZoneId=zone, ChangeBatch={"Changes": changes}
            )
            with reading("ChangeResourceRecordSets"):
                return str(answer["ChangeInfo"]["Id"]).rpartition("/")[2]

    def is_insync(self, change: str) -> bool:
        """GetChange."""
        with _dns_errors():
            try:
                with as_aws_errors("GetChange"):
                    answer: Mapping[str, Any] = self._client.get_change(Id=change)
            except AwsError as error:
                if error.code == "NoSuchChange":
                    # Route 53 forgets a change some time after it is in sync.
                    return True
                raise
            with reading("GetChange"):
                return bool(answer["ChangeInfo"]["Status"] == "INSYNC")


@contextmanager
def _dns_errors() -> Iterator[None]:
    """Raise DnsError for any failure of the call in the block."""
    try:
        yield
    except AwsError as error:
        raise _dns_error(error) from error


def _dns_error(error: AwsError) -> DnsError:
    words = f"Route 53: {error.code}: {error.words}".rstrip(".")
    after = _BUSY_SECONDS if error.code == _BUSY else error.after
    return DnsError(_failure(error), f"{error.operation}: {words}", after=after)


def _failure(error: AwsError) -> Failure:
    known = _FAILURES.get(error.code)
    if known is not None:
        return known
    if error.code == "InvalidChangeBatch":
        return Failure.CHANGED if any(each in error.words for each in _CHANGED) else Failure.REFUSED
    if error.not_permitted or error.bad_credentials:
        return Failure.NOT_PERMITTED
    if not error.made_nothing:
        return Failure.UNCERTAIN
    later = error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT)
    return Failure.LATER if later else Failure.REFUSED


def _zone(listed: Mapping[str, Any]) -> ListedZone:
    zone = Zone(str(listed["Id"]).rpartition("/")[2], normal(listed["Name"]))
    private = bool((listed.get("Config") or {}).get("PrivateZone"))
    return ListedZone(zone, private, int(listed.get("ResourceRecordSetCount") or 0))


def _next(answer: Mapping[str, Any]) -> tuple[str, str, str] | None:
    if not answer.get("IsTruncated"):
        return None
    return (
        str(answer["NextRecordName"]),
        str(answer.get("NextRecordType") or ""),
        str(answer.get("NextRecordIdentifier") or ""),
    )


def _record(listed: Mapping[str, Any]) -> RecordSet:
    target = listed.get("AliasTarget")
    texts = [str(each["Value"]) for each in listed.get("ResourceRecords") or ()]
    values = [target["DNSName"]] if target else texts
    return RecordSet(
        name=normal(str(listed["Name"])),
        type=str(listed["Type"]),
        values=tuple(sorted(_plain(str(listed["Type"]), each) for each in values)),
        ttl=None if target else int(listed.get("TTL") or 0),
        alias=bool(target),
        routed=any(listed.get(member) is not None for member in _ROUTED),
        as_stored=dict(listed),
    )


def _plain(type_: str, value: str) -> str:
    if type_ in ("TXT", "SPF"):
        return _unquoted(value)
    return normal(value) if type_ in ("A", "AAAA", "CNAME", "NS", "PTR") else value


def _stored(record: RecordSet) -> dict[str, Any]:
    if record.alias:
        target = {
            "HostedZoneId": CLOUDFRONT_ZONE,
            "DNSName": record.values[0],
            "EvaluateTargetHealth": False,
        }
        return {"Name": record.name, "Type": record.type, "AliasTarget": target}
    values = [_quoted(each) if record.type == "TXT" else each for each in record.values]
    rows = [{"Value": each} for each in values]
    return {"Name": record.name, "Type": record.type, "TTL": record.ttl or 0, "ResourceRecords": rows}


def _quoted(text: str) -> str:
    parts = [text[start : start + _SEGMENT] for start in range(0, len(text), _SEGMENT)] or [""]
    return " ".join(f'"{_escaped(part)}"' for part in parts)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _unquoted(value: str) -> str:
    """The text of the character strings of a TXT record, joined; Route 53 lists them as they were sent."""
    text, quoted, escaped = "", False, False
    for character in value:
        if escaped:
            text, escaped = text + character, False
        elif character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif quoted:
            text += character
    return text
