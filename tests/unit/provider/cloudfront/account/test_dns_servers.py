"""The DNS servers that provider configs name: which may be named, and what the Secrets may hold."""

from __future__ import annotations

import gc
import ssl
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account import dns_servers
from provider.cloudfront.account.dns_servers import Allowed, DnsServers, is_named_by, parse_servers
from provider.cloudfront.account.hosted_dns import Clients
from provider.cloudfront.account.public_addresses import is_public
from provider.dns.cloudflare import zone_copy
from provider.dns.errors import DnsError, Failure

TSIG = "dns.rfc2136.tsigSecretRef"
KEY = "dns.powerdns.apiKeySecretRef"
SECRET = "a-secret-that-no-message-may-show"
REF = {"namespace": "dns", "name": "s"}
UPDATES = {"rfc2136": {"server": "ns.example.com", "tsigSecretRef": REF}}
POWERDNS = {"powerdns": {"url": "http://pdns.example.com:8081", "apiKeySecretRef": {**REF, "key": "key"}}}
TOKEN = "dns.cloudflare.apiTokenSecretRef"
APPLICATION = "dns.azure.credentialsSecretRef"
UUID = "11111111-2222-3333-4444-555555555555"
CLOUDFLARE = {"cloudflare": {"apiTokenSecretRef": {**REF, "key": "token"}}}
AZURE = {"azure": {"subscriptionId": UUID, "resourceGroup": "g", "credentialsSecretRef": REF}}
A_TOKEN = {TOKEN: {"token": SECRET.encode()}}
AN_APPLICATION = {
    APPLICATION: {"tenantId": UUID.encode(), "clientId": UUID.encode(), "clientSecret": SECRET.encode()}
}
HOSTED = [(CLOUDFLARE, A_TOKEN), (AZURE, AN_APPLICATION)]
A_KEY = {TSIG: {"name": b"key.example", "secret": b64encode(b"x" * 32)}}
AN_API_KEY = {KEY: {"key": SECRET.encode()}}
ALLOWED = Allowed(frozenset({("ns.example.com", 53), ("pdns.example.com", 8081)}))

PEM = """\
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUWeQT2L0+5QkLH4jtn3A8KD4tqFowCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjgwNTQ4MDBaGA8yMTI2MTEwNDA1NDgw
MFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMkn
Nhe7Jn3RGo1nWuk4gqMGZx582ohL+zW5fnSsamEAdUmy962ladix8KHcKWNwFMkQ
EE5yg9J65VB53CxdtIKjUzBRMB0GA1UdDgQWBBRObJDeZIlAhV4tfL82g4pBHMMK
CzAfBgNVHSMEGDAWgBRObJDeZIlAhV4tfL82g4pBHMMKCzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCj9Shs4y3B/JSA86qKxG577IS4hRuf8bsv
HMeOyo/YYgIgbKZEpiZecgTuhT4MNEMKwYrEpzxif4juAUucQaLIan4=
-----END CERTIFICATE-----
"""


def config(dns=UPDATES, secrets=A_KEY, namespace="", uid="u1", **spec) -> ResolvedConfig:
    kind = "ProviderConfig" if namespace else "ClusterProviderConfig"
    return ResolvedConfig(
        key=ProviderConfigKey(kind, "dns", namespace),
        spec={"credentials": {"source": "None"}, "dns": dns, **spec},
        uid=uid,
        generation=1,
        source="None",
        secrets=secrets,
    )


def powerdns(**fields):
    return {"powerdns": {**POWERDNS["powerdns"], **fields}}


@pytest.fixture
def servers():
    return DnsServers(FakeClock())


def refusal(servers, given) -> str:
    with pytest.raises(ExternalError) as told:
        servers.of(given)
    assert SECRET not in told.value.message
    return told.value.message


def test_which_configs_are_named():
    assert is_named_by(config(UPDATES))
    assert is_named_by(config(POWERDNS))
    assert is_named_by(config(CLOUDFLARE))
    assert is_named_by(config(AZURE))
    assert not is_named_by(config({"route53": {}}))
    assert not is_named_by(config(None))


class TestSecrets:
    @pytest.mark.parametrize(
        ("secret", "words"),
        [
            ({"name": SECRET.encode() * 10}, "key 'name' of the Secret: expected 1 to 253 printable ASCII"),
            ({"name": b"a" * 64 + SECRET.encode()}, "key 'name' of the Secret: expected the name of a key"),
            ({"algorithm": SECRET.encode()}, "key 'algorithm' of the Secret: expected one of hmac-sha1, "),
            ({"secret": SECRET.encode()}, "key 'secret' of the Secret: expected base64, got something else"),
            ({"secret": b"a b"}, "key 'secret' of the Secret: expected 1 to 4096 printable ASCII"),
            ({"secret": b"\xff"}, "key 'secret' of the Secret: expected 1 to 4096 printable ASCII"),
        ],
    )
    def test_a_tsig_key_that_cannot_be_used_is_told_without_its_content(self, servers, secret, words):
        given = config(secrets={TSIG: {**A_KEY[TSIG], **secret}})
        where = "ClusterProviderConfig dns: spec.dns.rfc2136.tsigSecretRef: "
        assert refusal(servers, given).startswith(where + words)

    def test_it_is_read_as_people_write_it(self, servers):
        secret = {"name": b"Key.Example.\n", "algorithm": b"HMAC-SHA512.\n", "secret": b"eHg=\n"}
        key = servers.of(config(secrets={TSIG: secret})).store._store._exchange._key
        assert (str(key.name), key.secret, str(key.algorithm)) == ("key.example.", b"xx", "hmac-sha512.")

    def test_the_algorithm_has_a_default(self, servers):
        assert str(servers.of(config()).store._store._exchange._key.algorithm) == "hmac-sha256."

    @pytest.mark.parametrize("content", [b"a\r\nX-Other: b", SECRET.encode() * 200, b"\xc3\xa9"])
    def test_an_api_key_that_cannot_be_used_is_told_without_its_content(self, servers, content):
        said = refusal(servers, config(POWERDNS, {KEY: {"key": content}}))
        where = "ClusterProviderConfig dns: spec.dns.powerdns.apiKeySecretRef: "
        assert said.startswith(f"{where}key 'key' of the Secret: expected 1 to 4096 printable ASCII")

    def test_blanks_around_an_api_key_are_none_of_it(self, servers):
        assert servers.of(config(POWERDNS, {KEY: {"key": b" k\n"}})).store._store._key == "k"

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("tenantId", f"{UUID}/../{SECRET}", "expected a UUID, got something else"),
            ("clientId", SECRET, "expected a UUID, got something else"),
            ("clientSecret", f"{SECRET} x", "expected 1 to 4096 printable ASCII"),
            ("clientSecret", "", "expected 1 to 4096 printable ASCII"),
        ],
    )
    def test_an_application_that_cannot_be_used_is_told_without_its_content(
        self, servers, name, content, words
    ):
        secrets = {APPLICATION: {**AN_APPLICATION[APPLICATION], name: content.encode()}}
        where = "ClusterProviderConfig dns: spec.dns.azure.credentialsSecretRef: "
        said = refusal(servers, config(AZURE, secrets))
        assert said.startswith(f"{where}key {name!r} of the Secret: {words}")

    @pytest.mark.parametrize("content", ["a\r\nX-Other: b", SECRET * 200, ""])
    def test_an_api_token_that_cannot_be_used_is_told_without_its_content(self, servers, content):
        said = refusal(servers, config(CLOUDFLARE, {TOKEN: {"token": content.encode()}}))
        assert said.startswith(
            "ClusterProviderConfig dns: spec.dns.cloudflare.apiTokenSecretRef: key 'token'"
        )

    def test_no_text_of_a_store_shows_it(self, servers):
        hosted = [config(*each) for each in HOSTED]
        for given in (config(secrets=A_KEY), config(POWERDNS, AN_API_KEY), *hosted):
            records = servers.of(given)
            text = f"{records!r} {records.store!r} {records.store} {given!r} {vars(servers)!r}"
            assert SECRET not in text
            assert b64encode(b"x" * 32).decode() not in text

    def test_without_a_secret_updates_are_not_signed(self, servers):
        given = config({"rfc2136": {"server": "10.0.0.1"}}, {})
        assert servers.of(given).store._store._exchange._key is None


class TestTeams:
    @pytest.mark.parametrize(
        ("dns", "secrets", "field"),
        [
            (UPDATES, A_KEY, "spec.dns.rfc2136.server: ns.example.com:53"),
            (POWERDNS, AN_API_KEY, "spec.dns.powerdns.url: pdns.example.com:8081"),
            (powerdns(url="https://metadata"), AN_API_KEY, "spec.dns.powerdns.url: metadata:443"),
        ],
    )
    def test_a_namespaced_config_names_only_what_the_flag_allows(self, servers, dns, secrets, field):
        said = refusal(servers, config(dns, secrets, "red"))
        assert said.startswith(f"ProviderConfig red/dns: {field} is not one of the DNS servers")
        assert "--namespaced-dns-servers" in said
        # One for the cluster does.
        servers.of(config(dns, secrets))
        DnsServers(FakeClock(), Allowed(all=True)).of(config(dns, secrets, "red"))

    @pytest.mark.parametrize(
        ("dns", "secrets"),
        [
            ({"rfc2136": {**UPDATES["rfc2136"], "port": 5353}}, A_KEY),
            ({"rfc2136": {**UPDATES["rfc2136"], "server": "ns.example.com.evil"}}, A_KEY),
            (powerdns(url="http://pdns.example.com"), AN_API_KEY),
            (powerdns(url="http://evil/pdns.example.com:8081"), AN_API_KEY),
        ],
    )
    def test_what_is_allowed_is_one_host_and_port(self, dns, secrets):
        allowing = DnsServers(FakeClock(), ALLOWED)
        assert "is not one of the DNS servers" in refusal(allowing, config(dns, secrets, "red"))

    @pytest.mark.parametrize(
        "url",
        [
            "http://pdns.example.com:8081@evil",
            "http://evil#@pdns.example.com:8081",
            "http://a\\@b",
            "ftp://a",
        ],
    )
    def test_no_url_is_read_in_two_ways(self, url):
        assert "spec.dns.powerdns.url" in refusal(
            DnsServers(FakeClock(), ALLOWED), config(powerdns(url=url), AN_API_KEY, "red")
        )

    @pytest.mark.parametrize(
        "url",
        ["http://pdns.example.com:8081", "http://PDNS.example.com:8081/x", "http://[::1]:80/", "https://a"],
    )
    def test_the_server_that_is_checked_is_the_one_that_is_asked(self, servers, url):
        _, host, port, _ = dns_servers._reached("f", url)
        pool = servers.of(config(powerdns(url=url), AN_API_KEY)).store._store._http.connection_from_url(url)
        assert (pool.host.strip("[]"), pool.port) == (host, port)

    def test_it_signs_its_updates(self):
        allowing = DnsServers(FakeClock(), ALLOWED)
        bare = {"rfc2136": {"server": "NS.example.com"}}
        said = refusal(allowing, config(bare, {}, "red"))
        assert "spec.dns.rfc2136.tsigSecretRef: expected a Secret with a key, got none" in said
        allowing.of(config({"rfc2136": {**bare["rfc2136"], "tsigSecretRef": REF}}, A_KEY, "red"))

    def test_the_zone_of_a_team_leads_to_no_private_address(self, monkeypatch):
        found = [
            "10.0.0.1",
            "8.8.8.8",
            "127.0.0.1",
            "169.254.169.254",
            "fd00::1",
            "2001:4860:4860::8888",
            "x",
        ]
        monkeypatch.setattr(dns_servers, "system_addresses", lambda host: found)
        names = DnsServers(FakeClock(), ALLOWED).of(config(namespace="red")).store._store._name_servers
        assert names.addresses("ns") == ["8.8.8.8", "2001:4860:4860::8888"]
        of_all = DnsServers(FakeClock()).of(config()).store._store._name_servers
        assert of_all.addresses("ns") == found

    @pytest.mark.parametrize(
        "address",
        [
            "64:ff9b::10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "2002:a00:1::1",
            "2002:7f00:1::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::10.0.0.1",
            "::8.8.8.8",
            "::1",
            "fec0::1",
            "fe80::1",
            "fe80::1%eth0",
            "2606:4700::1%eth0",
            "ff0e::1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "100.64.0.1",
            "192.0.2.1",
            "3fff::1",
            "2001:db8::1",
            "5f00::1",
            "",
        ],
    )
    def test_an_address_that_leads_inside_is_not_public(self, address):
        assert not is_public(address)

    @pytest.mark.parametrize(
        "address",
        ["8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"],
    )
    def test_one_on_the_internet_is(self, address):
        assert is_public(address)

    def test_it_and_one_for_the_cluster_share_no_store(self):
        allowing = DnsServers(FakeClock(), ALLOWED)
        assert allowing.of(config(namespace="red")).store is not allowing.of(config(uid="u2")).store


class TestShared:
    def test_equal_configs_share_a_store_and_nothing_else(self, servers):
        one, two = servers.of(config()), servers.of(config(uid="u2"))
        assert one.store is two.store
        assert one.tickets is not two.tickets
        assert servers.of(config()) is one

    @pytest.mark.parametrize(
        ("dns", "secrets"),
        [
            ({"rfc2136": {**UPDATES["rfc2136"], "zones": ["example.com"]}}, A_KEY),
            (UPDATES, {TSIG: {**A_KEY[TSIG], "secret": b64encode(b"y" * 32)}}),
            ({"rfc2136": {**UPDATES["rfc2136"], "port": 54}}, A_KEY),
        ],
    )
    def test_others_have_their_own(self, servers, dns, secrets):
        assert servers.of(config()).store is not servers.of(config(dns, secrets, uid="u2")).store

    def test_all_stores_of_a_server_have_its_pace(self, servers):
        zones = {"rfc2136": {**UPDATES["rfc2136"], "zones": ["example.com"]}}
        other = {"rfc2136": {**UPDATES["rfc2136"], "server": "ns2.example.com"}}
        paces = [
            servers.of(config(each, uid=str(number))).store._pace
            for number, each in enumerate((UPDATES, zones, other))
        ]
        assert paces[0] is paces[1]
        assert paces[0] is not paces[2]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("https://pdns.example.com", "https://PDNS.example.com.:443/"),
            ("https://pdns.example.com/a", "https://pdns.example.com:443/./b/../a//"),
            ("http://127.0.0.1:80", "http://127.1"),
            ("http://[::1]:8081", "http://[0:0::1]:8081"),
            ("http://10.0.0.1", "http://[::ffff:10.0.0.1]"),
        ],
    )
    def test_a_server_has_one_pace_however_it_is_spelled(self, servers, one, other):
        made = [servers.of(config(powerdns(url=each), AN_API_KEY, uid=each)) for each in (one, other)]
        assert made[0].store._pace is made[1].store._pace

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("http://pdns.example.com/a", "http://pdns.example.com/b"),
            ("http://pdns.example.com:8081", "http://pdns.example.com:8082"),
            ("http://pdns.example.com:443", "https://pdns.example.com"),
            ("http://pdns", "http://pdns."),
            ("http://10.0.0.1", "http://10.0.0.2"),
        ],
    )
    def test_two_servers_have_two(self, servers, one, other):
        made = [servers.of(config(powerdns(url=each), AN_API_KEY, uid=each)) for each in (one, other)]
        assert made[0].store._pace is not made[1].store._pace

    def test_nor_does_the_text_of_the_authorities_split_it(self, servers):
        made = [powerdns(url="https://a"), powerdns(url="https://a", caCertificates=f"# ours\n{PEM}")]
        paces = {
            id(servers.of(config(each, AN_API_KEY, uid=str(n))).store._pace) for n, each in enumerate(made)
        }
        assert len(paces) == 1

    @pytest.mark.parametrize("server", ["NS.example.com", "ns.example.com."])
    def test_a_primary_has_one_pace_however_it_is_spelled(self, servers, server):
        other = {"rfc2136": {**UPDATES["rfc2136"], "server": server}}
        assert servers.of(config()).store._pace is servers.of(config(other, uid="u2")).store._pace

    def test_a_new_secret_takes_effect_at_once(self, servers):
        before = servers.of(config())
        after = servers.of(config(secrets={TSIG: {**A_KEY[TSIG], "secret": b64encode(b"y" * 32)}}))
        assert after.store is not before.store
        assert after.store._store._exchange._key.secret == b"y" * 32

    def test_a_change_of_the_spec_takes_effect(self, servers):
        assert not servers.of(config()).frozen
        assert servers.of(config(writes="Frozen")).frozen
        assert servers.of(config({**UPDATES, "existingRecords": "ReplaceIfConfirmed"})).may_replace

    def test_a_config_that_goes_takes_its_store_along(self, servers):
        servers.of(config(POWERDNS, AN_API_KEY))
        servers.of(config(POWERDNS, AN_API_KEY, uid="u2"))
        servers.gone("u1")
        gc.collect()
        assert len(servers._stores) == len(servers._paces) == 1
        servers.gone("u2")
        servers.gone("unknown")
        gc.collect()
        assert (len(servers._stores), len(servers._paces), len(servers._opened)) == (0, 0, 0)

    def test_what_is_under_way_outlives_an_edit_and_an_eviction(self, servers, monkeypatch):
        before = servers.of(config()).tickets
        zones = {"rfc2136": {**UPDATES["rfc2136"], "zones": ["example.com"]}}
        assert servers.of(config(zones)).tickets is before
        monkeypatch.setattr(dns_servers, "_MOST", 3)
        for number in range(3):
            servers.of(config(uid=f"other{number}", namespace=""))
        assert "u1" not in servers._opened
        monkeypatch.setattr(dns_servers, "_MOST", 1000)
        assert len(servers._tickets) == 3
        again = servers.of(config(uid="other2")).tickets
        assert servers.of(config(zones, uid="other2")).tickets is again

    def test_at_another_server_nothing_is_under_way(self, servers):
        other = {"rfc2136": {**UPDATES["rfc2136"], "server": "ns2.example.com"}}
        assert servers.of(config()).tickets is not servers.of(config(other)).tickets
        servers.gone("u1")
        assert not servers._tickets

    def test_tickets_of_a_team_are_bounded_and_drop_none_of_others(self):
        allowing = DnsServers(FakeClock(), ALLOWED)
        allowing.of(config(uid="cluster"))
        for number in range(100):
            allowing.of(config(namespace="red", uid=str(number)))
        assert [uid for _, uid, _ in allowing._tickets] == ["cluster", *map(str, range(60, 100))]

    def test_a_team_has_less_memory(self):
        allowing = DnsServers(FakeClock(), ALLOWED)
        of_team, of_all = allowing.of(config(namespace="red")).store, allowing.of(config(uid="u2")).store
        assert of_team._names._room * 10 < of_all._names._room
        secret = (config(POWERDNS, AN_API_KEY, "red", uid="u3"), config(POWERDNS, AN_API_KEY, uid="u4"))
        assert len({allowing.of(each).store._names._room for each in secret}) == 2

    def test_any_number_of_configs_is_not_kept(self, servers, monkeypatch):
        monkeypatch.setattr(dns_servers, "_MOST", 30)
        for number in range(50):
            servers.of(config(uid=str(number)))
        assert list(servers._opened) == [str(number) for number in range(20, 50)]

    def test_many_configs_of_a_team_drop_none_of_others(self):
        allowing = DnsServers(FakeClock(), ALLOWED)
        allowing.of(config(uid="cluster"))
        allowing.of(config(namespace="blue", uid="blue"))
        for number in range(50):
            allowing.of(config(namespace="red", uid=str(number)))
        assert list(allowing._opened) == ["cluster", "blue", *(str(number) for number in range(30, 50))]

    def test_many_workers_open_one(self, servers):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: servers.of(config(POWERDNS, AN_API_KEY)), range(64)))
        assert len({id(each) for each in found}) == 1


class TestHosted:
    """Cloudflare and Azure, whose hosts no config names."""

    @pytest.mark.parametrize(("dns", "secrets"), HOSTED)
    def test_a_team_needs_no_flag_and_its_own_secret(self, servers, dns, secrets):
        servers.of(config(dns, secrets))
        servers.of(config(dns, secrets, "red", uid="u2"))
        assert "SecretRef: " in refusal(servers, config(dns, {}, "red", uid="u3"))

    @pytest.mark.parametrize(
        ("dns", "secrets", "field"),
        [
            ({"azure": {**AZURE["azure"], "subscriptionId": "../x"}}, AN_APPLICATION, "subscriptionId"),
            ({"azure": {**AZURE["azure"], "resourceGroup": "a/../b"}}, AN_APPLICATION, "resourceGroup"),
            ({"azure": {**AZURE["azure"], "resourceGroup": ".."}}, AN_APPLICATION, "resourceGroup"),
            ({"azure": {**AZURE["azure"], "cloud": "https://evil"}}, AN_APPLICATION, "cloud"),
            ({"azure": {**AZURE["azure"], "url": "https://evil"}}, AN_APPLICATION, "url"),
            ({"cloudflare": {**CLOUDFLARE["cloudflare"], "url": "https://evil"}}, A_TOKEN, "url"),
        ],
    )
    def test_no_field_leads_to_another_host_or_path(self, servers, dns, secrets, field):
        (name,) = dns
        assert f"spec.dns.{name}.{field}" in refusal(servers, config(dns, secrets))

    @pytest.mark.parametrize(
        ("cloud", "host"),
        [
            ({}, "management.azure.com"),
            ({"cloud": "USGovernment"}, "management.usgovcloudapi.net"),
            ({"cloud": "China"}, "management.chinacloudapi.cn"),
        ],
    )
    def test_a_cloud_has_its_host(self, servers, cloud, host):
        store = servers.of(config({"azure": {**AZURE["azure"], **cloud}}, AN_APPLICATION)).store
        settings = store._store._calls._settings
        assert settings.cloud.url == f"https://{host}"
        assert (settings.subscription, settings.resource_group, settings.client_secret) == (UUID, "g", SECRET)

    @pytest.mark.parametrize(("dns", "secrets"), HOSTED)
    def test_zones(self, servers, dns, secrets):
        ((name, said),) = dns.items()
        store = servers.of(config({name: {**said, "zones": ["Example.com."]}}, secrets)).store
        assert store._store._wanted == {"example.com"}

    @pytest.mark.parametrize(("dns", "secrets"), HOSTED)
    def test_each_namespace_has_its_own_store_and_pace(self, servers, dns, secrets):
        given = [config(dns, secrets, namespace, uid=f"u{namespace}") for namespace in ("", "red", "blue")]
        stores = [servers.of(each).store for each in given]
        assert len({id(each) for each in stores}) == 3
        assert len({id(each._pace._own) for each in stores}) == 3
        assert len({id(each._pace._connections) for each in stores}) == 1
        again = servers.of(config({**dns, "existingRecords": "ReplaceIfConfirmed"}, secrets, "red", uid="v"))
        assert again.store is stores[1]

    def test_a_store_of_a_team_copies_no_zones_and_remembers_less(self, servers):
        of_team = servers.of(config(CLOUDFLARE, A_TOKEN, "red")).store
        of_all = servers.of(config(CLOUDFLARE, A_TOKEN, uid="u2")).store
        assert (of_team._store._most_copied, of_all._store._most_copied) == (0, 50_000)
        assert of_team._names._room * 10 < of_all._names._room

    def test_what_is_behind_copies_is_remembered_for_a_shorter_time(self, servers):
        behind = servers.of(config(CLOUDFLARE, A_TOKEN)).store._seconds
        assert (
            behind + zone_copy._SECONDS == servers.of(config(AZURE, AN_APPLICATION, uid="u2")).store._seconds
        )

    def test_all_stores_of_a_token_have_its_pace_at_cloudflare(self, servers):
        zones = {"cloudflare": {**CLOUDFLARE["cloudflare"], "zones": ["a.test"]}}
        other = {TOKEN: {"token": b"another"}}
        given = [(CLOUDFLARE, A_TOKEN, ""), (zones, A_TOKEN, "red"), (CLOUDFLARE, other, "")]
        stores = [servers.of(config(*each, uid=str(n))).store for n, each in enumerate(given)]
        throttles = [each._store._calls._throttle for each in stores]
        assert throttles[0] is throttles[1]
        assert throttles[0] is not throttles[2]

    @pytest.mark.parametrize(("dns", "secrets"), HOSTED)
    def test_a_new_secret_takes_effect_at_once(self, servers, dns, secrets):
        ((field, content),) = secrets.items()
        before = servers.of(config(dns, secrets)).store
        rotated = {field: {**content, list(content)[-1]: b"another"}}
        after = servers.of(config(dns, rotated)).store
        settings = after._store._calls._settings
        assert after is not before
        assert "another" in (getattr(settings, "token", ""), getattr(settings, "client_secret", ""))

    @pytest.mark.parametrize(("dns", "secrets"), HOSTED)
    def test_a_config_that_goes_takes_all_along(self, servers, dns, secrets):
        servers.of(config(dns, secrets))
        servers.of(config(dns, secrets, "red", uid="u2"))
        servers.gone("u1")
        servers.gone("u2")
        gc.collect()
        kept = (servers._stores, servers._paces, servers._throttles, servers._opened, servers._tickets)
        assert [len(each) for each in kept] == [0] * 5

    def test_flags_name_other_servers(self):
        clients = Clients.at("http://127.0.0.1:1/x", "http://127.0.0.1:2")
        assert clients.cloudflare.keywords == {"url": "http://127.0.0.1:1/x"}
        assert clients.azure.keywords == {"url": "http://127.0.0.1:2"}
        assert Clients.at(None, None).cloudflare.keywords == {"url": "https://api.cloudflare.com/client/v4"}
        assert Clients.at(None, None).azure.keywords == {"url": ""}


class TestPowerDns:
    def test_authorities(self, servers):
        said = refusal(servers, config(powerdns(url="https://a", caCertificates="x"), AN_API_KEY))
        assert said.startswith(
            "ClusterProviderConfig dns: spec.dns.powerdns.caCertificates: expected certificates"
        )
        store = servers.of(config(powerdns(url="https://a", caCertificates=PEM), AN_API_KEY)).store._store
        context = store._http.connection_pool_kw["ssl_context"]
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname
        assert len(context.get_ca_certs()) == 1, "only those"

    def test_zones_and_the_apex(self, servers):
        store = servers.of(config(powerdns(zones=["Example.com."]), AN_API_KEY)).store
        assert store._store._zones == {"example.com"}
        with pytest.raises(DnsError, match="no alias at the apex") as told:
            store.apex("example.com", "d1.cloudfront.net", 60)
        assert told.value.failure is Failure.REFUSED
        (alias,) = servers.of(config(powerdns(apexAlias=True), AN_API_KEY)).store.apex("a.test", "d1", 60)
        assert alias.type == "ALIAS"

    def test_the_server_id(self, servers):
        store = servers.of(config(powerdns(serverId="one"), AN_API_KEY)).store
        assert "/servers/one" in str(store)


def test_a_spec_that_is_not_valid_is_told_by_its_field(servers):
    both = {**UPDATES, **POWERDNS}
    assert "spec.dns: expected exactly one of route53, rfc2136, powerdns, cloudflare and azure" in refusal(
        servers, config(both)
    )


def test_propagation(servers):
    primary = {"rfc2136": {**UPDATES["rfc2136"], "propagation": "Primary"}}
    assert servers.of(config(primary)).store._store._name_servers is None


@pytest.mark.parametrize(
    "text", ["ns", "ns:", ":53", "ns:0", "ns:65536", "ns:x", "::1:53", "[::1]", "a[b:53"]
)
def test_what_is_no_server_of_the_flag(text):
    with pytest.raises(ValueError, match="expected HOST:PORT, got"):
        parse_servers([text])


def test_servers_of_the_flag():
    assert parse_servers(["NS.example.com:53", "[::1]:8081"]) == {("ns.example.com", 53), ("::1", 8081)}
