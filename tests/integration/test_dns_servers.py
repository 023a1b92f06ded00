"""DNS records that the provider makes on BIND by dynamic updates, on the real control plane: what DNSReady
says, from the ProviderConfig and its Secret to the zone."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator

import dns.message
import dns.query
import dns.rdatatype
import pytest

from provider.dns.records import RecordSet
from sandbox.world import World
from tests.contract.dns import benches, servers
from tests.contract.dns.packages import installed
from tests.contract.dns.servers import HOST, KEY, ZONE, Running
from tests.integration.claims import Claims
from tests.integration.test_dns_records import managed_by, says
from tests.integration.test_references import tenant
from tests.integration.watching import Object, condition, is_true
from xpkg.errors import PackagingError

DISTRIBUTION = "E2EXAMPLETEST"
LABEL = "edgetenants-test-dns-servers"


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    try:
        packages = installed()
    except PackagingError as error:
        pytest.skip(f"did not run, as the DNS servers cannot be installed: {error}")
    with servers.bind(packages, tmp_path_factory.mktemp("bind")) as running:
        yield running


@pytest.fixture
def tenants(claims: Claims, world: World) -> Iterator[Claims]:
    names = [f"*.{ZONE}", ZONE]
    world.emulator.seed({"distributions": [{"id": DISTRIBUTION, "certificateDomains": names}]})
    yield claims
    claims.world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--wait=false")
    # They go when the last tenant that uses them has gone.
    claims.world.kubectl("delete", "clusterproviderconfigs", "-l", f"{LABEL}=true", "--wait=false")


def target(running: Running, name: str) -> str:
    """Where the CNAME of a name leads; "" if it has none."""
    asked = dns.message.make_query(f"{name}.", "CNAME")
    answer = dns.query.udp(asked, HOST, timeout=5, port=running.port)
    return next(
        (str(each[0].target).rstrip(".") for each in answer.answer if each.rdtype == dns.rdatatype.CNAME), ""
    )


def put_key(world: World, namespace: str, secret: bytes = KEY.secret, name: str = "tsig") -> None:
    """Apply the Secret of the key."""
    data = {"name": KEY.name, "algorithm": KEY.algorithm, "secret": b64encode(secret).decode()}
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": data,
    }
    world.kubectl("apply", "-f", "-", input=json.dumps(made))


def config(claims: Claims, name: str, running: Running, **fields: object) -> str:
    """Apply a ClusterProviderConfig of that server, without credentials of AWS; its name."""
    ref = {"namespace": claims.namespace, "name": "tsig"}
    said = {"server": HOST, "port": running.port, "tsigSecretRef": ref, "propagation": "Primary", **fields}
    claims.apply(
        {
            "apiVersion": "m.edgetenants.io/v1alpha1",
            "kind": "ClusterProviderConfig",
            "metadata": {"name": name, "labels": {LABEL: "true"}},
            "spec": {"credentials": {"source": "None"}, "dns": {"rfc2136": said}},
        }
    )
    return name


def led(claims: Claims, name: str, by: str, domain: str = "", **fields: object) -> Object:
    """A tenant whose records are made with that config."""
    asked = managed_by(by) if by else {}
    domains = [domain or f"{name}.{ZONE}"]
    return tenant(claims, name, **{"distributionId": DISTRIBUTION, "domains": domains, **asked, **fields})


def seen(claims: Claims, world: World) -> None:
    """CloudFront sees the records of the zone, as they are made for the default connection group."""
    claims.apply(led(claims, "plain", ""))
    endpoint = claims.wait("an endpoint", lambda: routing_endpoint(claims, "plain"))
    world.emulator.make_record(f"*.{ZONE}", "CNAME", endpoint)


def routing_endpoint(claims: Claims, name: str) -> str:
    """Of a tenant; "" while it has none."""
    status = claims.get(name, "edt").get("status") or {}
    return str((status.get("atProvider") or {}).get("routingEndpoint") or "")


def test_each_reason_of_dns_ready(tenants: Claims, world: World, bind: Running) -> None:
    seen(tenants, world)
    says(tenants, "plain", "DNSNotConfigured")
    put_key(world, tenants.namespace)
    by = config(tenants, "bind", bind)
    tenants.apply(led(tenants, "made", by))
    says(tenants, "made", "DNSReady")
    assert target(bind, f"made.{ZONE}") == routing_endpoint(tenants, "made")
    tenants.apply(led(tenants, "nowhere", by, "nowhere.acme.com", distributionId="E1EDGETENANTS"))
    says(tenants, "nowhere", "DNSError", "no zone of ClusterProviderConfig bind")
    assert is_true(tenants.get("nowhere", "edt"), "Synced")
    # The name server of the zone has no address here.
    tenants.apply(led(tenants, "slow", config(tenants, "bind-asks", bind, propagation="NameServers")))
    says(tenants, "slow", "DNSPropagating")
    config(tenants, "bind-asks", bind)
    says(tenants, "slow", "DNSReady")
    patch = json.dumps({"spec": {"writes": "Frozen"}})
    world.kubectl("patch", "clusterproviderconfigs", by, "--type=merge", "-p", patch)
    tenants.apply(led(tenants, "frozen", by))
    assert "Frozen" in says(tenants, "frozen", "DNSRecordCreating")["message"]
    assert target(bind, f"frozen.{ZONE}") == ""
    world.kubectl("delete", "edt", "frozen", "-n", tenants.namespace, "--wait=true")
    patch = json.dumps({"spec": {"writes": "Enabled"}})
    world.kubectl("patch", "clusterproviderconfigs", by, "--type=merge", "-p", patch)
    world.kubectl("delete", "edt", "made", "slow", "-n", tenants.namespace, "--wait=true")
    assert target(bind, f"made.{ZONE}") == target(bind, f"slow.{ZONE}") == ""


def test_a_secret_that_is_missing_broken_and_rotated(tenants: Claims, world: World, bind: Running) -> None:
    seen(tenants, world)
    by = config(tenants, "bind-secret", bind)
    tenants.apply(led(tenants, "keyed", by))
    field = "ClusterProviderConfig bind-secret: spec.dns.rfc2136.tsigSecretRef: "
    missing = f"{field}Secret {tenants.namespace}/tsig does not exist"
    message = lambda: condition(tenants.get("keyed", "edt"), "DNSReady").get("message", "")  # noqa: E731
    says(tenants, "keyed", "DNSError", missing)
    assert is_true(tenants.get("keyed", "edt"), "Synced"), "only the records wait"
    wrong = b"a-secret-that-no-message-may-show"
    put_key(world, tenants.namespace, wrong)
    tenants.wait("the refusal of the key", lambda: "BADSIG" in message())
    put_key(world, tenants.namespace)
    says(tenants, "keyed", "DNSReady")
    held = json.loads(world.kubectl("get", "secret", "tsig", "-n", tenants.namespace, "-o", "json"))
    assert "m.edgetenants.io/in-use" in held["metadata"]["finalizers"]
    everything = f"{tenants.get('keyed', 'edt')}{tenants.events()}{world.log('provider')}"
    for secret in (wrong, KEY.secret):
        assert secret.decode() not in everything
        assert b64encode(secret).decode() not in everything
    world.kubectl("delete", "edt", "keyed", "-n", tenants.namespace, "--wait=true")
    assert target(bind, f"keyed.{ZONE}") == ""


def test_a_record_that_others_made_stays(tenants: Claims, world: World, bind: Running) -> None:
    seen(tenants, world)
    put_key(world, tenants.namespace)
    by = config(tenants, "bind-others", bind)
    benches.rfc2136(bind).put(RecordSet(f"theirs.{ZONE}", "CNAME", ("old.example.net",), 300))
    tenants.apply(led(tenants, "theirs", by))
    says(tenants, "theirs", "DNSError", f"theirs.{ZONE} CNAME old.example.net")
    world.kubectl("delete", "edt", "theirs", "-n", tenants.namespace, "--wait=true")
    assert target(bind, f"theirs.{ZONE}") == "old.example.net"
