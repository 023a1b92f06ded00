"""Provider configs, their usages and Secrets as weapons: no one borrows another's credentials, holds up
another's work, or gets the provider to write a Secret that is not its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.manifests import CREDENTIALS, NAMESPACE
from tests.integration.conftest import FAST
from tests.integration.hostile import CONFIGS, USAGES, Team, Teams, unharmed
from tests.integration.watching import Object, is_true

CLUSTER_CONFIGS = "clusterproviderconfigs.m.edgetenants.io"
ROLE = {"roleARN": "arn:aws:iam::123456789012:role/other"}
OWN_SECRET = {"source": "Secret", "secretRef": {"name": "aws", "key": "credentials"}}
FOREIGN_SECRET = {"name": CREDENTIALS, "namespace": NAMESPACE, "key": "credentials"}

# What a config of a namespace says to reach further, and the field that the refusal names.
REACHING_OUT: dict[str, tuple[Object, str]] = {
    "roles": ({"credentials": {"source": "None"}, "assumeRoleChain": [ROLE]}, "spec.assumeRoleChain"),
    "web-identity": ({"credentials": {"source": "None"}, "webIdentity": ROLE}, "spec.webIdentity"),
    "endpoint": (
        {"credentials": OWN_SECRET, "endpoint": {"url": "http://127.0.0.1:9"}},
        "spec.endpoint",
    ),
    "injected": ({"credentials": {"source": "InjectedIdentity"}}, "spec.credentials.source"),
    "environment": (
        {"credentials": {"source": "Environment", "env": {"name": "AWS_SECRET_ACCESS_KEY"}}},
        "spec.credentials.source",
    ),
    "file": (
        {"credentials": {"source": "Filesystem", "fs": {"path": "/etc/passwd"}}},
        "spec.credentials.source",
    ),
}


def secret(team: Team, name: str, content: str, **fields: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": team.namespace},
        "stringData": {"credentials": content},
        **fields,
    }


def credentials(key: str) -> str:
    return f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {key}\n"


def using(config: str) -> Object:
    return {"kind": "ProviderConfig", "name": config}


def admins(team: Team, *arguments: str) -> Object:
    found: Object = json.loads(team.admin.kubectl("get", *arguments, "-o", "json"))
    return found


# What a config of a namespace names as DNS server, and the field that the refusal names.
INSIDE: dict[str, tuple[Object, str]] = {
    "updates": (
        {"rfc2136": {"server": "127.0.0.1", "tsigSecretRef": {"name": "tsig"}}},
        "spec.dns.rfc2136.server",
    ),
    "api": (
        {"powerdns": {"url": "http://169.254.169.254", "apiKeySecretRef": {"name": "tsig", "key": "secret"}}},
        "spec.dns.powerdns.url",
    ),
}


@pytest.mark.parametrize("case", INSIDE)
def test_a_config_names_no_dns_server_that_is_not_allowed(teams: Teams, case: str) -> None:
    red = teams.red
    dns, field = INSIDE[case]
    key = {"name": "key", "secret": "c2VjcmV0", "credentials": "x"}
    red.apply({**secret(red, "tsig", "x"), "stringData": key})
    red.apply(red.config(case, {"credentials": {"source": "None"}, "dns": dns}))
    red.apply(red.tenant(f"dns-{case}", forProvider={"dns": {"configRef": using(case)}}))
    where = f"ProviderConfig {red.namespace}/{case}: {field}: "
    red.told(f"dns-{case}", where, "--namespaced-dns-servers", type_="DNSReady")


@pytest.mark.parametrize("case", REACHING_OUT)
def test_a_config_does_not_reach_beyond_its_namespace(teams: Teams, case: str) -> None:
    red = teams.red
    spec, field = REACHING_OUT[case]
    red.apply(secret(red, "aws", credentials("red")), red.config(case, spec))
    red.apply(red.tenant(case, providerConfigRef=using(case)))
    said = red.told(
        case, f"ProviderConfig {red.namespace}/{case}: {field}: ", "cluster-scoped provider config"
    )
    assert "root:" not in said
    assert red.tenants(case) == []


def test_a_secret_of_another_namespace_is_neither_read_nor_held(teams: Teams) -> None:
    """The CRD has no such field; what is written all the same means the own namespace."""
    red = teams.red
    before = admins(red, "secret", CREDENTIALS, "-n", NAMESPACE)["metadata"]
    spec = {"credentials": {"source": "Secret", "secretRef": FOREIGN_SECRET}}
    assert "namespace" in red.refused("apply", "-f", "-", input=json.dumps(red.config("foreign", spec)))
    red.world.kubectl("apply", "--validate=false", "-f", "-", input=json.dumps(red.config("foreign", spec)))
    red.apply(red.tenant("foreign", providerConfigRef=using("foreign")))
    said = red.told("foreign", f"{red.namespace}/{CREDENTIALS}")
    assert "does not exist" in said
    after = admins(red, "secret", CREDENTIALS, "-n", NAMESPACE)["metadata"]
    assert (before.get("finalizers"), before.get("labels")) == (after.get("finalizers"), after.get("labels"))


OF_THE_CLUSTER = {"name": "hosted-dns", "namespace": NAMESPACE}
HOSTED: dict[str, Object] = {
    "cloudflare": {"cloudflare": {"apiTokenSecretRef": {**OF_THE_CLUSTER, "key": "token"}}},
    "azure": {
        "azure": {
            "subscriptionId": "11111111-2222-3333-4444-555555555555",
            "resourceGroup": "dns",
            "credentialsSecretRef": OF_THE_CLUSTER,
        }
    },
}


@pytest.mark.parametrize("case", HOSTED)
def test_a_hosted_dns_service_gets_no_secret_of_another_namespace(teams: Teams, case: str) -> None:
    """Nor a URL."""
    red = teams.red
    keys = dict.fromkeys(("token", "tenantId", "clientId", "clientSecret"), "of-the-cluster")
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": OF_THE_CLUSTER, "stringData": keys}
    red.admin.kubectl("apply", "-f", "-", input=json.dumps(theirs))
    said: Object = HOSTED[case]
    spec = {"credentials": {"source": "None"}, "dns": said}
    config = red.config(f"dns-{case}", spec)
    assert "namespace" in red.refused("apply", "-f", "-", input=json.dumps(config))
    elsewhere = {case: {**said[case], "url": "http://127.0.0.1:9"}}
    assert "url" in red.refused(
        "apply", "-f", "-", input=json.dumps(red.config(f"dns-{case}", {**spec, "dns": elsewhere}))
    )
    red.world.kubectl("apply", "--validate=false", "-f", "-", input=json.dumps(config))
    red.apply(red.tenant(f"hosted-{case}", forProvider={"dns": {"configRef": using(f"dns-{case}")}}))
    told = red.told(f"hosted-{case}", f"{red.namespace}/{OF_THE_CLUSTER['name']}", type_="DNSReady")
    assert "does not exist" in told
    after = admins(red, "secret", OF_THE_CLUSTER["name"], "-n", NAMESPACE)["metadata"]
    assert (after.get("finalizers"), after.get("labels")) == (None, None)


def test_a_config_named_like_the_clusters_is_another(teams: Teams) -> None:
    """Frozen, and as slow as can be."""
    blue, red = teams.blue, teams.red
    blue.apply(secret(blue, "aws", credentials("blue")), blue.config("steady", {"credentials": OWN_SECRET}))
    blue.served("steady", providerConfigRef=using("steady"))
    with unharmed(blue, "steady"):
        slow = {"rateLimits": {"cloudfront": 0.1}, "writes": "Frozen"}
        red.apply(
            secret(red, "aws", credentials("red")), red.config("default", {"credentials": OWN_SECRET, **slow})
        )
        red.apply(red.tenant("frozen", providerConfigRef=using("default")))
        red.told("frozen", "is Frozen", type_="Ready")
    blue.change("steady", {"spec": {"forProvider": {"tags": {"after": "1"}}}})
    # It serves all the while, so that it serves does not say that the change was made.
    blue.wait("the change", lambda: blue.tenants("steady")[0]["Tags"].get("after") == "1")
    blue.serve("steady")


def test_a_frozen_config_gives_no_domain_to_a_tenant_of_another_config(teams: Teams) -> None:
    """The platform team froze the giving tenant. A move would change it by the other one's config."""
    blue = teams.blue
    of_team = {"credentials": OWN_SECRET}
    blue.apply(secret(blue, "aws", credentials("blue")))
    blue.apply(blue.config("giving", of_team), blue.config("taking", of_team))
    mine = [f"first-{blue.namespace}.example.com", f"last-{blue.namespace}.example.com"]
    giver = blue.served("giver", providerConfigRef=using("giving"), forProvider={"domains": mine})
    blue.change("giving", {"spec": {"writes": "Frozen"}}, CONFIGS)
    with unharmed(blue, "giver"):
        own = [f"taker-{blue.namespace}.example.com", mine[0]]
        taking = {"edgetenants.io/take-domains-from": giver["Id"]}
        asks = {"providerConfigRef": using("taking"), "forProvider": {"domains": own}}
        blue.apply(blue.tenant("taker", annotations=taking, **asks))
        blue.told("taker", "It stays there for now: spec.writes of ProviderConfig", "is Frozen")
        blue.looked_at("taker")


def test_a_slow_config_of_the_same_account_slows_nobody_else(teams: Teams) -> None:
    """Each has credentials of its own in one account."""
    blue, red = teams.blue, teams.red
    of_team = {"credentials": OWN_SECRET}
    blue.apply(secret(blue, "aws", credentials("blue")), blue.config("brisk", of_team))
    blue.served("brisk", providerConfigRef=using("brisk"))
    slow = red.config("slow", {**of_team, "rateLimits": {"cloudfront": 0.1}})
    red.apply(
        secret(red, "aws", credentials("red")), slow, red.tenant("slow", providerConfigRef=using("slow"))
    )
    red.looked_at("slow")
    blue.admin.emulator.set_rate(1)
    try:
        blue.apply(blue.tenant("brisker", providerConfigRef=using("brisk")))
        blue.wait("it to be created", lambda: blue.tenants("brisker"), 15)
    finally:
        blue.admin.emulator.set_rate(FAST)


def test_what_a_secret_holds_is_told_nowhere(teams: Teams) -> None:
    red = teams.red
    content = "[default]\naws_access_key_id hunter2-key\nhunter2-secret\n"
    red.apply(secret(red, "broken", content))
    spec = {"credentials": {"source": "Secret", "secretRef": {"name": "broken", "key": "credentials"}}}
    red.apply(red.config("broken", spec), red.tenant("broken", providerConfigRef=using("broken")))
    red.told("broken", "spec.credentials")
    assert "hunter2" not in red.everything_said("broken")
    assert "hunter2" not in red.admin.log("provider")


def test_usages_that_one_team_forges_or_deletes_hold_up_nobody_elses_config(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.apply(secret(blue, "aws", credentials("blue")), blue.config("ours", {"credentials": OWN_SECRET}))
    blue.served("user", providerConfigRef=using("ours"))
    forged = {
        "apiVersion": "m.edgetenants.io/v1alpha1",
        "kind": "ProviderConfigUsage",
        "metadata": {
            "name": "forged",
            "namespace": red.namespace,
            "labels": {
                "crossplane.io/provider-config": "ours",
                "crossplane.io/provider-config-kind": "ProviderConfig",
            },
        },
        "providerConfigRef": {"kind": "ProviderConfig", "name": "ours"},
        "resourceRef": {"apiVersion": "v1", "kind": "Secret", "name": "aws"},
    }
    red.apply(forged)
    assert "orbidden" in red.refused("delete", USAGES, "--all", "-n", blue.namespace)
    blue.remove("ours", CONFIGS)
    blue.wait("it to be held by its user", lambda: "Terminating" in json.dumps(blue.get("ours", CONFIGS)), 30)
    blue.world.kubectl("delete", USAGES, "--all", "-n", blue.namespace, "--wait=false")
    assert blue.looked_at("user")
    assert blue.get("ours", CONFIGS), "it went although a tenant uses it"
    blue.remove("user")
    blue.wait("it to go with its last user", lambda: not blue.get("ours", CONFIGS), 40)


def test_a_usage_that_is_deleted_lets_the_clusters_config_go_no_sooner(teams: Teams) -> None:
    red = teams.red
    red.served("counts")
    users = lambda: admins(red, CLUSTER_CONFIGS, "default")["status"]["users"]  # noqa: E731
    before = red.wait("to be counted", users)
    red.world.kubectl("delete", USAGES, "--all", "-n", red.namespace, "--wait=false")
    red.looked_at("counts")
    assert users() >= before


@pytest.mark.parametrize("type_", ["Opaque", "kubernetes.io/tls"])
def test_connection_details_are_written_over_no_other_secret(teams: Teams, type_: str) -> None:
    red = teams.red
    name = f"precious-{type_.rpartition('/')[2].lower()}"
    content = {"tls.crt": "a", "tls.key": "b"}
    red.apply({**secret(red, name, "kept", type=type_), "stringData": content})
    red.apply(red.tenant(name, writeConnectionSecretToRef={"name": name}))
    red.told(name, f"Secret {red.namespace}/{name} already exists", "is not overwritten")
    assert set(red.get(name, "secret")["data"]) == set(content)


def test_connection_details_stay_in_the_namespace(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.apply(secret(blue, "target", "kept", type="connection.crossplane.io/v1alpha1"))
    away = red.tenant("away", writeConnectionSecretToRef={"name": "target", "namespace": blue.namespace})
    assert "namespace" in red.refused("apply", "-f", "-", input=json.dumps(away))
    red.world.kubectl("apply", "--validate=false", "-f", "-", input=json.dumps(away))
    red.wait("it to serve", lambda: is_true(red.get("away", "edt"), "Ready"), 90)
    assert set(blue.get("target", "secret")["data"]) == {"credentials"}
    assert red.get("target", "secret")["data"]["distributionTenantId"]


def test_failing_credentials_of_one_config_are_nobody_elses(teams: Teams) -> None:
    """The same key as blue's, in a config that AWS refuses."""
    blue, red = teams.blue, teams.red
    blue.apply(secret(blue, "aws", credentials("blue")), blue.config("works", {"credentials": OWN_SECRET}))
    blue.served("works", providerConfigRef=using("works"))
    with unharmed(blue, "works"):
        red.apply(secret(red, "aws", credentials("blue")))
        failing = {"credentials": OWN_SECRET, "assumeRoleChain": [ROLE]}
        red.apply(red.config("fails", failing))
        red.apply(*(red.tenant(f"fails{n}", providerConfigRef=using("fails")) for n in range(10)))
        for number in range(10):
            red.looked_at(f"fails{number}")
        assert not is_true(red.get("fails0", "edt"), "Ready") or red.tenants("fails0")
