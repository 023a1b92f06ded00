"""A hosted zone of the emulator's Route 53, as its owner sees it with the AWS SDK."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

__all__ = ["HostedZone"]

_OF_THE_ZONE = frozenset({"NS", "SOA"})
"""Types that Route 53 itself makes in each zone."""


@dataclass(frozen=True)
class HostedZone:
    """A public hosted zone."""

    client: Any
    id: str
    """Without the prefix `/hostedzone/`."""

    @classmethod
    def create(cls, endpoint: str, name: str) -> HostedZone:
        """Create a zone in the sandbox's account."""
        client = _client(endpoint)
        made = client.create_hosted_zone(Name=name, CallerReference=uuid.uuid4().hex)
        return cls(client, _plain(made["HostedZone"]["Id"]))

    @classmethod
    def find(cls, endpoint: str, name: str) -> HostedZone:
        """Return the zone of that name; raises LookupError if there is none."""
        client = _client(endpoint)
        for zone in client.list_hosted_zones_by_name(DNSName=name)["HostedZones"]:
            if zone["Name"] == f"{name}.":
                return cls(client, _plain(zone["Id"]))
        raise LookupError(f"no hosted zone {name}")

    def records(self) -> list[str]:
        """Its records in words, without those that Route 53 itself makes."""
        sets = self.client.list_resource_record_sets(HostedZoneId=self.id)["ResourceRecordSets"]
        return [_words(each) for each in sets if each["Type"] not in _OF_THE_ZONE]


def _client(endpoint: str) -> Any:
    session = boto3.Session("sandbox", "any", region_name="us-east-1")
    return session.client("route53", endpoint_url=endpoint, config=Config(proxies={}))


def _plain(id_: str) -> str:
    return id_.rpartition("/")[2]


def _words(record: dict[str, Any]) -> str:
    alias = record.get("AliasTarget")
    values = [alias["DNSName"]] if alias else [each["Value"] for each in record["ResourceRecords"]]
    return f"{record['Name'].rstrip('.')} {record['Type']} {', '.join(values)}"
