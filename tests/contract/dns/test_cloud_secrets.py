"""What the stores of DNS services with SDKs say, and what they take from their surroundings."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

from edgetenants_runtime.clock import FakeClock, SystemClock
from provider.dns.azure.calls import connected as azure_connected
from provider.dns.cloudflare.calls import connected as cloudflare_connected
from provider.dns.errors import DnsError, Failure
from provider.dns.throttle import Rate, Throttle
from tests.contract.dns import azure_dns, cloudflare_dns, described
from tests.contract.dns.azure_dns import AzureDns
from tests.contract.dns.cloudflare_dns import CloudflareDns
from tests.contract.dns.described import Answer
from tests.contract.dns.servers import ZONE

SERVICES = {
    "azure": (AzureDns, azure_dns.store, azure_dns.SETTINGS, azure_dns.SECRET),
    "cloudflare": (CloudflareDns, cloudflare_dns.store, cloudflare_dns.SETTINGS, cloudflare_dns.TOKEN),
}


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 412, 422, 429, 500, 502])
def test_no_secret_is_in_any_text(name, status, caplog):
    service, store, settings, secret = SERVICES[name]
    caplog.set_level("DEBUG")
    echo = Answer(status, raw=f"it said {secret} {'x' * 5000}".encode(), headers={"Location": "/elsewhere"})
    with described.serving(service()) as url:
        one = store(url, SystemClock())
        assert secret not in repr(settings) + repr(one) + str(one)
        one._calls._connected()
        caplog.clear()
    running = service()
    running.fault = lambda *_: echo
    with described.serving(running) as url, pytest.raises(DnsError) as told:
        store(url, SystemClock()).zone_of(f"a.{ZONE}")
    assert secret not in str(told.value)
    assert len(str(told.value)) < 700


@pytest.mark.parametrize("name", SERVICES)
def test_no_secret_is_in_the_words_of_a_service(name):
    service, store, _, secret = SERVICES[name]
    said = {"code": 1000, "message": f"the secret is {secret}"}
    running = service()
    running.fault = lambda *_: Answer(400, raw=json.dumps({"error": said, "errors": [said]}).encode())
    with described.serving(running) as url, pytest.raises(DnsError, match="the secret is") as told:
        store(url, SystemClock()).zone_of(f"a.{ZONE}")
    assert secret not in str(told.value)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_is_not_there_was_not_asked(name):
    _, store, _, _ = SERVICES[name]
    with pytest.raises(DnsError, match="no connection") as told:
        store("http://127.0.0.1:1", SystemClock()).zone_of(f"a.{ZONE}")
    assert told.value.failure is Failure.LATER


@pytest.mark.parametrize("name", SERVICES)
def test_named_zones_only_are_used(name):
    service, store, settings, _ = SERVICES[name]
    with described.serving(service()) as url:
        one = store(url, SystemClock(), replace(settings, zones=("Other.test.",)))
        assert one.zone_of("a.other.test").name == "other.test"
        assert one.zone_of(f"a.{ZONE}") is None


def test_the_token_of_the_settings_is_used_whatever_the_environment_has(monkeypatch):
    for name in ("API_KEY", "EMAIL", "API_USER_SERVICE_KEY", "API_TOKEN", "BASE_URL"):
        monkeypatch.setenv(f"CLOUDFLARE_{name}", "http://elsewhere.invalid")
    client = cloudflare_connected(cloudflare_dns.SETTINGS)
    assert client.auth_headers == {"Authorization": f"Bearer {cloudflare_dns.TOKEN}"}
    assert str(client.base_url).startswith("https://api.cloudflare.com/client/v4")
    assert client.max_retries == 0
    assert not client._client.follow_redirects


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ClientAuthenticationError("AADSTS7000215: Invalid client secret provided."), Failure.NOT_PERMITTED),
        (ClientAuthenticationError("Authentication failed: connection reset"), Failure.LATER),
        (ServiceRequestError("no route"), Failure.LATER),
    ],
)
def test_what_a_failure_to_get_a_token_means(monkeypatch, error, failure):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("azure.identity.ClientSecretCredential.get_token", fail)
    monkeypatch.setattr("azure.identity.ClientSecretCredential.get_token_info", fail)
    store = azure_dns.AzureStore(azure_dns.SETTINGS, SystemClock(), azure_connected)
    with pytest.raises(DnsError) as told:
        store.zone_of(f"a.{ZONE}")
    assert told.value.failure is failure, told.value


def test_nothing_of_the_sdks_is_imported_before_a_request():
    code = (
        "import sys, provider.dns.azure, provider.dns.cloudflare as own; "
        "from edgetenants_runtime.clock import SystemClock; "
        "own.CloudflareStore(own.CloudflareSettings('t'), SystemClock()); "
        "print([each for each in ('azure.core', 'azure.mgmt', 'cloudflare', 'httpx') if each in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_apex_on_azure_is_refused_in_words_and_one_on_cloudflare_is_flattened():
    azure = azure_dns.store("http://127.0.0.1:1", SystemClock())
    with pytest.raises(DnsError, match=f"domain {ZONE} is the apex of its zone") as told:
        azure.apex(ZONE, "d1.cloudfront.net", 60)
    assert told.value.failure is Failure.REFUSED
    (record,) = cloudflare_dns.store("http://127.0.0.1:1", SystemClock()).apex(ZONE, "d1.cloudfront.net", 60)
    assert (record.type, record.alias) == ("ALIAS", True)


def test_a_throttle_gives_the_burst_and_then_the_rate():
    clock = FakeClock()
    throttle = Throttle(clock, "a service", Rate(2.0, 3))
    with pytest.raises(DnsError):
        throttle.check("four", before=3)
    for _ in range(3):
        throttle.check("one")
    with pytest.raises(DnsError, match="no further request at the moment") as told:
        throttle.check("one")
    assert told.value.after == pytest.approx(0.5)
    clock.advance(0.5)
    throttle.check("one")
