"""The provider's own boto3 calls against the emulator's server, with its call log as the journal."""

from __future__ import annotations

from typing import Any

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.state.group import Group
from tests.contract import in_process
from tests.contract.admin import Admin

ACCOUNT = "123456789012"
DISTRIBUTION = "E1EDGETENANTS"
SEED = {
    "account": ACCOUNT,
    "distributions": [
        {
            "id": DISTRIBUTION,
            "certificateDomains": ["*.example.com", "example.com", "*.acme.com", "acme.com"],
            "parameters": [
                {"name": "tenantName", "required": False, "default": "default"},
                {"name": "tier", "required": False, "default": "standard"},
            ],
        }
    ],
}
_CREDENTIALS = b"[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = test\n"


def config(url: str) -> ResolvedConfig:
    """A provider config that leads to the emulator."""
    return ResolvedConfig(
        key=ProviderConfigKey("ClusterProviderConfig", "default", ""),
        spec={
            "credentials": {"source": "Secret", "secretRef": {"namespace": "n", "name": "aws", "key": "k"}},
            "endpoint": {"url": url},
            "rateLimits": {"cloudfront": 1000},
        },
        uid="u1",
        generation=1,
        source="Secret",
        credentials=_CREDENTIALS,
    )


class Emulated:
    """`CloudFront` over the wire; beside it what tests do to the emulator."""

    def __init__(self, server: EmulatorServer) -> None:
        self.server = server
        self.url = server.url
        self.die = None
        self.zones: list[Any] = []
        """The hosted zones that a test made; see led.Zone."""
        self._admin, self._told = Admin(self.url), list[str]()
        self.admin("POST", "seed", SEED)
        self.clock = FakeClock()
        self.accounts = Accounts(self.clock)
        # The first call imports half of moto. On a busy machine, that can take longer than the provider waits
        # for an answer, and then each test of this process fails.
        with in_process.reaching(server):
            self.account_of_config = self.accounts.of(config(self.url))
        self.calls = self.account_of_config.cloudfront

    def __getattr__(self, name):
        return getattr(self.calls, name)

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        """A call of the admin API. Raises RefusedError."""
        if method == "DELETE" and path == "calls":
            self._told.clear()
        return self._admin(method, path, body)

    @property
    def journal(self) -> list[str]:
        """The operations that reached AWS, in order. Tests look after each reconcile, so each look asks only
        for those since the last one."""
        report = self.admin("GET", f"calls?since={len(self._told)}")
        if report["total"] != len(self._told) + len(report["calls"]):
            self._told, report = [], self.admin("GET", "calls")  # the log was cleared
        self._told += [call["operation"] for call in report["calls"]]
        return self._told.copy()

    def deploy(self) -> None:
        """Let everything roll out, and pauses end."""
        self.clock.advance(3600)
        self.admin("POST", "clock", {"step": 3600})

    def fault(self, operation, *, nth=1, when="before", action="fail", every=False, **error):
        """The n-th call of an operation from now fails, or its answer is lost."""
        body = {"operation": operation, "nth": nth, "when": when, "action": action, "every": every}
        if error:
            body["error"] = error
        return self.admin("POST", "faults", body)["id"]

    def edit(self, name: str, **fields) -> None:
        """Change a tenant behind the provider's back."""
        self.admin("PATCH", f"distribution-tenants/{name}", fields)

    def empty(self) -> None:
        """Take away all tenants, hosted zones, connection groups and faults."""
        self.clock.advance(3600)
        self.admin("DELETE", "faults")
        for tenant in self.tenants:
            self.edit(tenant["Name"], Enabled=False)
            self.deploy()
            seen = self.calls.get_tenant(tenant["Id"])
            self.calls.delete_tenant(seen.id, seen.etag)
        while self.zones:
            self.zones.pop().remove()
        for group in self.groups:
            seen = self.calls.get_group(group["Id"])
            if seen.enabled:
                seen = self.calls.update_group(seen.id, seen.etag, Group(name=seen.name, enabled=False))
                self.deploy()
            self.calls.delete_group(seen.id, self.calls.get_group(seen.id).etag)

    @property
    def groups(self):
        """Every connection group that a user made."""
        return [each for each in self.admin("GET", "state")["connectionGroups"] if not each.get("IsDefault")]

    @property
    def tenants(self):
        """Every tenant, of every account."""
        return self.admin("GET", "state")["tenants"]
