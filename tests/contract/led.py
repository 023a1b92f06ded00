"""Tenants whose DNS records the provider makes in Route 53, on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account.sessions import Accounts
from tests.contract.account import SESSION
from tests.contract.emulated import ACCOUNT, DISTRIBUTION, Emulated, config
from tests.contract.reconciled import Reconciled
from tests.unit.provider.world import managed

_NUMBERS = count()
DNS = {"configRef": {"kind": "ClusterProviderConfig", "name": "dns"}}


class Zone:
    """A hosted zone, as its owner sees it."""

    def __init__(self, aws: Emulated, name: str, account: str = ACCOUNT, **settings: Any) -> None:
        self.client = SESSION.client(
            "route53",
            endpoint_url=aws.url,
            region_name="us-east-1",
            aws_access_key_id=account,
            aws_secret_access_key="any",
        )
        made = self.client.create_hosted_zone(Name=name, CallerReference=str(next(_NUMBERS)), **settings)
        self.name, self.id = name, made["HostedZone"]["Id"].rpartition("/")[2]
        aws.zones.append(self)

    def remove(self) -> None:
        """The owner deletes the zone with all that it has."""
        try:
            rows = self.client.list_resource_record_sets(HostedZoneId=self.id)["ResourceRecordSets"]
        except self.client.exceptions.NoSuchHostedZone:
            return
        own = [row for row in rows if row["Type"] not in ("NS", "SOA")]
        changes = [{"Action": "DELETE", "ResourceRecordSet": row} for row in own]
        if changes:
            self.client.change_resource_record_sets(HostedZoneId=self.id, ChangeBatch={"Changes": changes})
        self.client.delete_hosted_zone(Id=self.id)

    @property
    def records(self) -> dict[tuple[str, str], str]:
        """By name and type: the values, or the target of an alias. Without those of the zone's own."""
        rows = self.client.list_resource_record_sets(HostedZoneId=self.id)["ResourceRecordSets"]
        found = {
            (row["Name"].removesuffix(".").replace("\\052", "*"), row["Type"]): " ".join(
                each["Value"] for each in row.get("ResourceRecords", ())
            )
            or row["AliasTarget"]["DNSName"].removesuffix(".")
            for row in rows
        }
        return {
            key: value for key, value in found.items() if key not in ((self.name, "NS"), (self.name, "SOA"))
        }

    def put(self, name: str, type_: str, *values: str, action: str = "UPSERT", ttl: int = 300) -> None:
        """The owner of the zone makes, changes or deletes (`action`) records."""
        row = {
            "Name": name,
            "Type": type_,
            "TTL": ttl,
            "ResourceRecords": [{"Value": each} for each in values],
        }
        change = {"Action": action, "ResourceRecordSet": row}
        self.client.change_resource_record_sets(HostedZoneId=self.id, ChangeBatch={"Changes": [change]})

    def empty(self, name: str) -> None:
        """The owner deletes the record sets of a name."""
        rows = self.client.list_resource_record_sets(HostedZoneId=self.id)["ResourceRecordSets"]
        mine = [row for row in rows if row["Name"] == f"{name}."]
        changes = [{"Action": "DELETE", "ResourceRecordSet": row} for row in mine]
        self.client.change_resource_record_sets(HostedZoneId=self.id, ChangeBatch={"Changes": changes})


def dns_config(aws: Emulated, *zones: Zone, account: str | None = None, **dns: Any) -> ResolvedConfig:
    """A provider config whose `dns` has these zones; without zones, all of the account."""
    given = config(aws.url)
    named = {"zones": [{"id": zone.id} for zone in zones]} if zones else {}
    spec = {
        **given.spec,
        "dns": {"route53": named, **dns},
        "rateLimits": {"cloudfront": 1000, "route53": 1000},
    }
    key = ProviderConfigKey("ClusterProviderConfig", "dns", "")
    credentials = given.credentials
    if account:
        credentials = f"[default]\naws_access_key_id = {account}\naws_secret_access_key = any\n".encode()
    return replace(given, key=key, spec=spec, uid="u-dns", credentials=credentials)


class Led(Reconciled):
    """A tenant with `dns`. Its clock goes with the emulator's."""

    def __init__(
        self, aws: Emulated, dns: Any, obj: dict[str, Any], accounts: Accounts | None = None
    ) -> None:
        self.accounts = accounts or Accounts(aws.clock)
        super().__init__(obj, aws)
        self.configs.dns = dns

    def _connect(self) -> Any:
        return self.connect(
            self.configs,
            self.accounts,
            installation=self.installation,
            everyone=lambda: self.everyone(),  # noqa: PLW0108 - a test may replace it
            poll_seconds=60.0,
        )

    def everyone(self) -> Any:
        """All managed resources; a test may add others."""
        return [self.mr] if self.mr else []

    def restart(self) -> None:
        """A new process."""
        self.accounts = Accounts(self.aws.clock)
        super().restart()

    def join(self, other: Led) -> None:
        """Both are of one process."""
        self.accounts = other.accounts
        super().restart()

    def pass_time(self, seconds: float) -> None:
        """Time passes for the provider and in AWS."""
        self.aws.clock.advance(seconds)
        self.aws.admin("POST", "clock", {"step": seconds})

    def run(self, seconds: float = 240.0, every: float = 5.0) -> None:
        """Reconcile while time passes."""
        for _ in range(int(seconds / every)):
            self.reconcile()
            self.pass_time(every)

    @property
    def endpoint(self) -> str:
        """The routing endpoint."""
        return str(self.stored["status"]["atProvider"]["routingEndpoint"])

    @property
    def instructions(self) -> list[dict[str, Any]]:
        """status.dnsInstructions."""
        return self.stored["status"].get("dnsInstructions") or []


def led(
    aws: Emulated,
    service: Any,
    *domains: str,
    name: str = "acme",
    namespace: str = "shop",
    made: Callable[..., Led] = Led,
    **asked: Any,
) -> Led:
    """A tenant with these domains; `made` makes it."""
    obj = managed(
        {
            "distributionId": DISTRIBUTION,
            "domains": list(domains),
            "parameters": {"tenantName": name},
            "dns": DNS,
            **asked,
        },
        uid=f"uid-{namespace}-{name}",
        annotations={"crossplane.io/external-name": f"{namespace}.{name}"},
    )
    obj["metadata"] |= {"name": name, "namespace": namespace}
    return made(aws, service, obj)
