"""Two AWS accounts in one provider, and what is measured of each, as Prometheus reads it."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_certificates import SELF_HOSTED, admin, certificate
from tests.integration.test_configs_in_use import config, secret, tenant
from tests.integration.test_connection_groups import group
from tests.integration.watching import Object, is_true

USUAL, OTHER = "123456789012", "222222222222"
DISTRIBUTION = "E2OTHER"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Accounts:
    """A namespace with a config for each of two accounts."""

    claims: Claims

    @property
    def world(self) -> World:
        return self.claims.world

    def tenant(self, name: str, of: str, *domains: str, **fields: object) -> Object:
        """A tenant in an account; those of one `name` differ in nothing but that and their domains."""
        made = tenant(self.claims.namespace, f"{name}-{of}", of)
        made["metadata"]["annotations"]["crossplane.io/external-name"] = f"{self.claims.namespace}.{name}"
        parent = {"distributionId": DISTRIBUTION} if of == "other" else {}
        made["spec"]["forProvider"] |= {"domains": list(domains), **parent, **fields}
        return made

    def make(self, *tenants: Object) -> None:
        self.claims.apply(*tenants)
        for each in tenants:
            name = each["metadata"]["name"]
            self.claims.wait(f"{name} to be Ready", lambda name=name: self.ready(name))

    def ready(self, name: str) -> bool:
        return is_true(self.claims.get(name, "edt"), "Ready")

    def account_of(self, config_name: str) -> str | None:
        """The account in a config's status."""
        found = self.claims.get(config_name, "providerconfigs.m.edgetenants.io")
        account: str | None = found.get("status", {}).get("accountId")
        return account

    def homes(self, name: str) -> set[str]:
        """The accounts that have a tenant of that name."""
        return {each["Arn"].split(":")[4] for each in self.claims.tenants(name)}

    def metrics(self) -> str:
        port = self.world.processes.run("provider").ports[1]
        with _DIRECT.open(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return str(answer.read().decode())

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples of edgetenants_aws_NAME with these labels."""
        rows = re.findall(rf"^edgetenants_aws_{name}(?:\{{(.*)\}})? (\S+)$", self.metrics(), re.MULTILINE)
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        return sum(float(value) for given, value in rows if wanted <= set(given.split(",")))


@pytest.fixture
def accounts(claims: Claims) -> Iterator[Accounts]:
    parent = {"id": DISTRIBUTION, "certificateDomains": ["*.other.test"]}
    claims.world.emulator.seed({"account": OTHER, "distributions": [parent]})
    for name, key in (("usual", "team"), ("other", OTHER)):
        credentials, of = secret(claims.namespace, key), config(claims.namespace, name)
        credentials["metadata"]["name"] = of["spec"]["credentials"]["secretRef"]["name"] = f"aws-{name}"
        claims.apply(credentials, of)
    yield Accounts(claims)
    for kind in ("edt", "ecg"):
        claims.world.kubectl("delete", kind, "--all", "-n", claims.namespace, "--wait=false")


def test_one_name_in_two_accounts_is_two_tenants_to_the_end(accounts: Accounts) -> None:
    claims = accounts.claims
    accounts.make(
        accounts.tenant("twin", "usual", "twin.example.com"),
        accounts.tenant("twin", "other", "twin.other.test"),
    )
    assert accounts.homes("twin") == {USUAL, OTHER}
    for name, account in (("usual", USUAL), ("other", OTHER)):
        seen = claims.get(f"twin-{name}", "edt")["status"]["atProvider"]
        assert seen["arn"].split(":")[4] == account
        claims.wait(
            f"the account of config {name}",
            lambda name=name, account=account: accounts.account_of(name) == account,
        )
    claims.world.kubectl("delete", "edt", "twin-usual", "-n", claims.namespace, "--wait=true")
    assert accounts.homes("twin") == {OTHER}
    assert accounts.ready("twin-other")


def test_what_happens_to_tenants_is_measured_by_account(accounts: Accounts) -> None:
    claims, emulator = accounts.claims, accounts.world.emulator
    throttled = {"code": "Throttling", "status": 400, "message": "Rate exceeded"}
    admin(accounts.world, "POST", "faults", {
        "operation": "CreateDistributionTenant", "nth": 1, "when": "before", "action": "fail",
        "error": throttled,
    })  # fmt: skip
    claims.apply(group(claims, "front"))
    accounts.make(accounts.tenant("seen", "other", "seen.other.test"))
    claims.wait("the group", lambda: is_true(claims.get("front", "ecg"), "Ready"))
    create = {"account": OTHER, "operation": "cloudfront:CreateDistributionTenant"}
    assert accounts.metric("throttles_total", **create) == 1
    assert accounts.metric("request_duration_seconds_count", **create, outcome="throttled") == 1
    assert accounts.metric("request_duration_seconds_count", **create, outcome="ok") >= 1
    assert accounts.metric("request_duration_seconds_sum", **create) > 0
    assert accounts.metric("tenants", account=OTHER, state="Available") == 1
    assert accounts.metric("tenants", account=OTHER) == 1, "whatever else is there is no tenant"
    assert accounts.metric("tenant_creation_seconds_count", account=OTHER) >= 1

    before = accounts.metric("tenant_creation_seconds_count", account=USUAL)
    claims.apply(group(claims, "later"))
    claims.wait("another group", lambda: is_true(claims.get("later", "ecg"), "Ready"))
    assert accounts.metric("tenant_creation_seconds_count", account=USUAL) == before

    accounts.make(accounts.tenant("seen", "other", "seen.other.test", enabled=True))
    emulator.edit_tenant(f"{claims.namespace}.seen", {"Enabled": False})
    drift = {"account": OTHER, "field": "enabled"}
    claims.wait("the repair", lambda: accounts.metric("drift_repaired_total", **drift) == 1)
    assert accounts.metric("drift_found_total", **drift) == 1


def test_managed_certificates_are_measured_by_state_and_days_left(accounts: Accounts) -> None:
    claims = accounts.claims
    asked = accounts.tenant("cert", "other", "www.measured.test", managedCertificateRequest=SELF_HOSTED)
    claims.apply(asked)
    claims.wait("the request", lambda: certificate(claims.get("cert-other", "edt")).get("validation"))
    claims.wait(
        "it to be counted",
        lambda: accounts.metric("certificates", account=OTHER, state="pending-validation") == 1,
    )
    claims.wait(
        "the tenant's state",
        lambda: accounts.metric("tenants", account=OTHER, state="CertificatePending") == 1,
    )
    admin(accounts.world, "PATCH", f"managed-certificates/{claims.namespace}.cert", {"served": True})
    claims.wait("Ready", lambda: accounts.ready("cert-other"), seconds=90)
    assert certificate(claims.get("cert-other", "edt"))["notAfter"]
    claims.wait(
        "it to be counted as issued",
        lambda: accounts.metric("certificates", account=OTHER, state="issued") == 1,
    )
    assert accounts.metric("certificates", account=OTHER, state="pending-validation") == 0
    assert 30 < accounts.metric("certificate_days_left", account=OTHER) < 400
    assert accounts.metric("certificates_expiring", account=OTHER, days="7") == 0
