"""Tenants whose DNS records the provider makes on a real DNS server, with CloudFront on the emulator."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account.dns_servers import Allowed, DnsServers
from provider.cloudfront.account.hosted_dns import PUBLIC_SERVICES, Clients
from tests.contract.dns.servers import API_KEY, HOST, KEY, ZONE, Running
from tests.contract.emulated import Emulated
from tests.contract.led import Led, led
from tests.unit.provider.dns.conformance import Bench

DISTRIBUTION = "E2EXAMPLETEST"
"""Its certificate covers the names of the zone."""
TOKEN = "dns.cloudflare.apiTokenSecretRef"
APPLICATION = "dns.azure.credentialsSecretRef"
TSIG = "dns.rfc2136.tsigSecretRef"
API = "dns.powerdns.apiKeySecretRef"
NONE_OF_TEAMS = Allowed()
REF = {"namespace": "n", "name": "dns"}


@dataclass(frozen=True)
class Service:
    """A DNS server, and how a provider config names it."""

    bench: Bench
    dns: dict[str, Any]
    """spec.dns."""
    secrets: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def config(self, name: str = "dns", namespace: str = "", **spec: Any) -> ResolvedConfig:
        """A provider config that names it, and nothing of AWS."""
        kind = "ProviderConfig" if namespace else "ClusterProviderConfig"
        return ResolvedConfig(
            key=ProviderConfigKey(kind, name, namespace),
            spec={"credentials": {"source": "None"}, "dns": self.dns, **spec},
            uid=f"u-{namespace}-{name}",
            generation=1,
            source="None",
            secrets=self.secrets,
        )

    def changed(self, **fields: Any) -> Service:
        """Another config of the same server; the fields are of the service's part of spec.dns."""
        (name,) = self.dns
        return replace(self, dns={name: {**self.dns[name], **fields}})

    def types(self, name: str) -> set[str]:
        """The types of the records of a name, as the server has them."""
        return {each.type for each in self.bench.truth(name)}

    def target(self, name: str) -> str:
        """Where the CNAME of a name leads; "" if it has none."""
        return next((each.values[0] for each in self.bench.truth(name) if each.type == "CNAME"), "")


def tsig(secret: bytes = KEY.secret, name: str = KEY.name) -> dict[str, dict[str, bytes]]:
    """The content of a Secret with a key."""
    return {TSIG: {"name": name.encode(), "secret": b64encode(secret), "algorithm": KEY.algorithm.encode()}}


def by_updates(running: Running, bench: Bench) -> Service:
    """A server that takes dynamic updates. Its name server has no address in DNS."""
    said = {"server": HOST, "port": running.port, "tsigSecretRef": REF, "propagation": "Primary"}
    return Service(bench, {"rfc2136": said}, tsig())


def by_api(running: Running, bench: Bench) -> Service:
    """PowerDNS."""
    said = {"url": f"http://{HOST}:{running.api_port}", "apiKeySecretRef": {**REF, "key": "key"}}
    return Service(bench, {"powerdns": said}, {API: {"key": API_KEY.encode()}})


class Served(Led):
    """A tenant whose DNS servers are those of its process."""

    clients: ClassVar[Clients] = PUBLIC_SERVICES
    """Those of the services on the internet. A fixture replaces them."""
    servers: DnsServers | None = None

    def _connect(self) -> Any:
        self.servers = self.servers or new_servers(self.aws)
        return self.connect(
            self.configs,
            self.accounts,
            installation=self.installation,
            everyone=lambda: self.everyone(),  # noqa: PLW0108 - as in Led
            poll_seconds=60.0,
            servers=self.servers,
        )

    def die(self) -> None:
        """A new process, which remembers nothing."""
        self.servers = None
        self.restart()


def new_servers(aws: Emulated, allowed: Allowed = NONE_OF_TEAMS) -> DnsServers:
    """What a process knows of DNS servers when it starts."""
    return DnsServers(aws.clock, allowed, Served.clients)


def served(
    aws: Emulated, config: Any, *domains: str, servers: DnsServers | None = None, **how: Any
) -> Served:
    """A tenant with these domains."""
    made = led(aws, config, *domains, distributionId=DISTRIBUTION, made=_maker(servers), **how)
    assert isinstance(made, Served)
    return made


def _maker(servers: DnsServers | None) -> Callable[..., Served]:
    class Tenant(Served):
        pass

    Tenant.servers = servers
    return Tenant


def with_distribution(aws: Emulated) -> None:
    """Have the distribution for the zone, once for an emulator."""
    if not any(each["Id"] == DISTRIBUTION for each in aws.admin("GET", "state")["distributions"]):
        names = [f"*.{ZONE}", ZONE]
        made = {
            "id": DISTRIBUTION,
            "certificateDomains": names,
            "parameters": [{"name": "tenantName", "required": False, "default": "d"}],
        }
        aws.admin("POST", "seed", {"distributions": [made]})
