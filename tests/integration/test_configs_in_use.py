"""Provider configs and their Secrets cannot vanish while resources need them, and go when none does."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.integration.claims import Claims
from tests.integration.watching import Object, condition

MARK = "m.edgetenants.io/in-use"
FINALIZER = "in-use.crossplane.io"


def secret(namespace: str, key: str = "team") -> Object:
    credentials = f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {key}\n"
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "aws", "namespace": namespace},
        "stringData": {"credentials": credentials},
    }


def config(namespace: str, name: str = "ours") -> Object:
    return {
        "apiVersion": "m.edgetenants.io/v1alpha1",
        "kind": "ProviderConfig",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "credentials"}}},
    }


def tenant(namespace: str, name: str, config_name: str = "ours", **spec: object) -> Object:
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {"crossplane.io/external-name": f"{namespace}.{name}"},
        },
        "spec": {
            "providerConfigRef": {"kind": "ProviderConfig", "name": config_name},
            "forProvider": {"distributionId": "E1EDGETENANTS", "domains": [f"{name}.example.com"]},
            **spec,
        },
    }


class Team:
    """A namespace with a config, its Secret and tenants of its own."""

    def __init__(self, claims: Claims) -> None:
        self.claims, self.world, self.namespace = claims, claims.world, claims.namespace
        claims.apply(secret(self.namespace), config(self.namespace))

    def make(self, *names: str) -> None:
        self.claims.apply(*(tenant(self.namespace, name) for name in names))
        for name in names:
            self.claims.wait(f"{name} to be Ready", lambda name=name: self.is_ready(name))

    def is_ready(self, name: str) -> bool:
        return condition(self.get(name, "edt"), "Ready").get("status") == "True"

    def get(self, name: str, resource: str = "providerconfigs.m.edgetenants.io") -> Object:
        return self.claims.get(name, resource)

    def marked(self) -> list[str]:
        """Finalizers and labels of ours that the Secret carries."""
        metadata = self.get("aws", "secret").get("metadata", {})
        return [m for m in (*metadata.get("finalizers", []), *metadata.get("labels", {})) if m == MARK]

    def users(self) -> int | None:
        users: int | None = self.get("ours").get("status", {}).get("users")
        return users

    def delete(self, resource: str, *names: str) -> None:
        self.world.kubectl("delete", resource, *names, "-n", self.namespace, "--wait=false")

    def delete_namespace(self) -> None:
        self.world.kubectl("delete", "namespace", self.namespace, "--wait=false")

    def namespace_gone(self) -> bool:
        out = self.world.kubectl("get", "namespace", self.namespace, "-o", "name", "--ignore-not-found")
        return not out.strip()


@pytest.fixture
def team(claims: Claims) -> Iterator[Team]:
    made = Team(claims)
    yield made
    claims.world.kubectl("delete", "edt", "--all", "-n", made.namespace, "--wait=false", check=False)


def test_a_config_deleted_while_in_use_stays_and_goes_with_the_last_tenant(team: Team) -> None:
    team.make("one", "two")
    team.claims.wait("both to be counted", lambda: team.users() == 2)
    assert team.get("ours")["metadata"]["finalizers"] == [FINALIZER]
    assert team.marked() == [MARK, MARK]

    team.delete("providerconfigs.m.edgetenants.io", "ours")
    team.delete("secret", "aws")
    team.claims.wait(
        "the config to say why it stays", lambda: condition(team.get("ours"), "Terminating").get("reason")
    )
    said = condition(team.get("ours"), "Terminating")
    assert (said["status"], said["reason"]) == ("True", "InUse")
    described = team.world.kubectl(
        "describe", "providerconfigs.m.edgetenants.io", "ours", "-n", team.namespace
    )
    assert "Blocking deletion while usages still exist" in described
    team.claims.wait(
        "the event", lambda: [e for e in team.claims.events() if e["reason"] == "UsageAccounting"]
    )

    team.delete("edt", "one")
    team.claims.wait("one to go", lambda: not team.get("one", "edt"))
    assert team.claims.tenants("one") == [], "the credentials were gone before the tenant"
    assert team.get("ours"), "the config went while a tenant uses it"
    assert team.get("aws", "secret"), "the Secret went while a tenant uses it"

    team.delete("edt", "two")
    team.claims.wait("the config to go", lambda: not team.get("ours"))
    team.claims.wait("the Secret to go", lambda: not team.get("aws", "secret"))
    assert team.claims.tenants("two") == []


def test_a_deleted_config_takes_no_new_tenants(team: Team) -> None:
    team.make("first")
    team.delete("providerconfigs.m.edgetenants.io", "ours")
    team.claims.wait("Terminating", lambda: condition(team.get("ours"), "Terminating"))
    team.claims.apply(tenant(team.namespace, "late"))
    said = team.claims.wait("Synced", lambda: condition(team.get("late", "edt"), "Synced"))
    assert "is being deleted and accepts no new resources" in said["message"]
    assert team.claims.tenants("late") == []


def test_a_tenant_that_moves_to_another_config_frees_the_first(team: Team) -> None:
    team.claims.apply(config(team.namespace, "other"))
    team.make("mover")
    team.claims.wait("to be counted", lambda: team.users() == 1)
    spec = {"spec": {"providerConfigRef": {"kind": "ProviderConfig", "name": "other"}}}
    team.world.kubectl("patch", "edt", "mover", "-n", team.namespace, "--type=merge", "-p", json.dumps(spec))
    team.claims.wait("to be counted there", lambda: team.get("other").get("status", {}).get("users") == 1)
    team.claims.wait("not to be counted here", lambda: team.users() == 0)
    assert "finalizers" not in team.get("ours")["metadata"]
    assert team.marked() == [MARK, MARK], "the other config refers to the Secret too"
    team.delete("providerconfigs.m.edgetenants.io", "ours")
    team.claims.wait("the first to go", lambda: not team.get("ours"))
    assert team.marked() == [MARK, MARK]


def test_changed_credentials_are_used_at_once(team: Team) -> None:
    broken = secret(team.namespace)
    broken["stringData"]["credentials"] = "nothing of use"
    team.claims.apply(broken, tenant(team.namespace, "patient"))
    said = team.claims.wait(
        "the refusal", lambda: condition(team.get("patient", "edt"), "Synced").get("message")
    )
    assert "spec.credentials" in said
    # Refused for good until something changes; the poll interval is a minute of a clock thirty times as fast.
    team.world.emulator.set_rate(1)
    team.claims.apply(secret(team.namespace))
    team.claims.wait("the new credentials to be used", lambda: team.claims.tenants("patient"), seconds=20)


def test_nothing_is_written_in_steady_state_after_a_restart(team: Team) -> None:
    team.make("calm")
    team.claims.wait("to be counted", lambda: team.users() == 1)
    before = [team.get("ours")["metadata"], team.get("aws", "secret")["metadata"]]
    team.world.processes.kill("provider")
    team.world.processes.start("provider")
    team.make("calmer")
    team.claims.wait("the second to be counted", lambda: team.users() == 2)
    after = [team.get("ours")["metadata"], team.get("aws", "secret")["metadata"]]
    assert before[1]["resourceVersion"] == after[1]["resourceVersion"]
    assert before[0]["finalizers"] == after[0]["finalizers"]


ROLE = {"roleARN": "arn:aws:iam::123456789012:role/other"}
REACHING_OUT: dict[str, tuple[str, Object]] = {
    "chain": ("spec.assumeRoleChain", {"credentials": {"source": "None"}, "assumeRoleChain": [ROLE]}),
    "web": ("spec.webIdentity", {"credentials": {"source": "None"}, "webIdentity": ROLE}),
    "elsewhere": (
        "spec.endpoint",
        {"credentials": {"source": "None"}, "endpoint": {"url": "http://127.0.0.1:9"}},
    ),
    "injected": ("spec.credentials.source", {"credentials": {"source": "InjectedIdentity"}}),
}


def test_a_namespaced_config_cannot_borrow_the_providers_identity(team: Team) -> None:
    for name, (_, spec) in REACHING_OUT.items():
        team.claims.apply(config(team.namespace, name) | {"spec": spec}, tenant(team.namespace, name, name))
    for name, (field, _) in REACHING_OUT.items():
        said = team.claims.wait(
            f"{name} to be refused",
            lambda name=name: condition(team.get(name, "edt"), "Synced").get("message"),
        )
        assert f"ProviderConfig {team.namespace}/{name}: {field}: " in said
        assert team.claims.tenants(name) == []


@pytest.mark.parametrize("kills", [0, 6])
def test_a_whole_namespace_is_deleted_to_the_end(team: Team, kills: int) -> None:
    """Usages go at once; tenants, config and Secret each when no one needs them any more."""
    team.make("mine", "yours")
    team.claims.apply(team.claims.claim("claimed"))
    team.claims.wait_ready("claimed")
    team.delete_namespace()
    for number in range(kills):
        team.world.processes.kill("provider")
        team.world.processes.start("provider")
        # Each lives a little longer, so that they die at different steps.
        time.sleep(0.15 * number)
    team.claims.wait("the namespace to go", team.namespace_gone)
    for name in ("mine", "yours", "claimed"):
        assert team.claims.tenants(name) == []
