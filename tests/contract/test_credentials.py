"""Credentials over the wire: roles with trust policies, renewal, sessions that end, two accounts at once."""

from __future__ import annotations

import base64
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, RetryMode
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import account_of
from tests.contract.emulated import ACCOUNT, DISTRIBUTION, config

HUB, EDGE = "111111111111", "222222222222"
ROLE = f"arn:aws:iam::{EDGE}:role/edge"
SECRET = "s3cr3t-of-nobody"


def keys(account):
    return f"[default]\naws_access_key_id = {account}\naws_secret_access_key = {SECRET}\n".encode()


def config_with(aws, account=HUB, uid="u9", **spec):
    usual = config(aws.url)
    return replace(
        usual,
        key=ProviderConfigKey("ClusterProviderConfig", uid, ""),
        spec={**usual.spec, **spec},
        uid=uid,
        credentials=keys(account),
    )


def reached(aws, given, accounts=None):
    return (accounts or Accounts(aws.clock)).of(given)


def client(aws, service, account):
    return boto3.client(
        service,
        endpoint_url=aws.url,
        region_name="us-east-1",
        aws_access_key_id=account,
        aws_secret_access_key="x",
    )


@pytest.fixture
def role(aws):
    """Makes roles, and takes them away."""
    made = []

    def make(name, trusted, account=EDGE, **condition):
        iam = client(aws, "iam", account)
        statement = {
            "Effect": "Allow",
            "Principal": {"AWS": trusted},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
        }
        if condition:
            statement["Condition"] = {"StringEquals": condition}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
        made.append((iam, name))
        return arn

    yield make
    for iam, name in made:
        iam.delete_role(RoleName=name)


def token(lasts=600):
    """A service account's, by the emulator's reading: no one's signature is checked."""

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = {"iss": "https://oidc.test", "sub": "system:serviceaccount:a:b", "aud": ["sts.amazonaws.com"]}
    return f"{part({'alg': 'none'})}.{part({**claims, 'exp': time.time() + lasts})}.c2ln"


def pass_time(monkeypatch, credentials, minutes):
    """For botocore, which renews a session some minutes before its end."""
    later = lambda: datetime.now(UTC) + timedelta(minutes=minutes)  # noqa: E731
    monkeypatch.setattr("botocore.credentials._local_now", later)
    credentials._time_fetcher = later


def test_two_hops_with_external_id_session_and_tags(aws, role):
    first = role("hub", f"arn:aws:iam::{HUB}:root", account=HUB, **{"sts:ExternalId": "edge-42"})
    second = role("edge", first)
    chain = [
        {
            "roleARN": first,
            "externalID": "edge-42",
            "sessionName": "one",
            "tags": {"team": "edge"},
            "transitiveTagKeys": ["team"],
        },
        {"roleARN": second},
    ]
    account = reached(aws, config_with(aws, assumeRoleChain=chain))
    assert (account.id, account.caller_arn) == (EDGE, f"arn:aws:sts::{EDGE}:assumed-role/edge/edgetenants")
    asked = [c["parameters"] for c in aws.admin("GET", "calls?operation=AssumeRole")["calls"]]
    assert [(a["RoleArn"], a["RoleSessionName"]) for a in asked] == [(first, "one"), (second, "edgetenants")]
    assert (asked[0]["Tags.member.1.Key"], asked[0]["Tags.member.1.Value"]) == ("team", "edge")


def test_a_hop_that_is_not_trusted_is_told_and_tried_once_for_all(aws, role):
    arn = role("guarded", f"arn:aws:iam::{HUB}:root", **{"sts:ExternalId": "right"})
    given = config_with(aws, assumeRoleChain=[{"roleARN": arn, "externalID": "wrong"}])
    clock = FakeClock()
    accounts = Accounts(clock)
    with capture_logs() as lines:
        for _ in range(5):
            with pytest.raises(ExternalError) as caught:
                accounts.of(given)
            assert "AccessDenied" in caught.value.message
            assert "sts:AssumeRole" in caught.value.message
            assert caught.value.retry.mode is RetryMode.POLL
    assert aws.journal.count("AssumeRole") == 1
    clock.advance(31)
    with pytest.raises(ExternalError):
        accounts.of(given)
    assert aws.journal.count("AssumeRole") == 2
    assert SECRET not in str(lines) + caught.value.message
    mended = replace(
        given,
        generation=2,
        spec={**given.spec, "assumeRoleChain": [{"roleARN": arn, "externalID": "right"}]},
    )
    assert accounts.of(mended).id == EDGE, "a change of the config is tried at once"


def test_sessions_are_renewed_before_they_end(aws, role, monkeypatch):
    account = reached(aws, config_with(aws, assumeRoleChain=[{"roleARN": role("edge", "*")}]))
    credentials = account.cloudfront._cloudfront._request_signer._credentials
    account.cloudfront.caller()
    assert aws.journal.count("AssumeRole") == 1, "kept while it lasts"
    before = credentials.get_frozen_credentials().access_key
    pass_time(monkeypatch, credentials, minutes=50)
    account.cloudfront.caller()
    assert aws.journal.count("AssumeRole") == 2
    assert credentials.get_frozen_credentials().access_key != before


@pytest.mark.parametrize("code", ["ExpiredToken", "InvalidClientTokenId"])
def test_a_session_that_was_ended_is_begun_anew(aws, role, code):
    accounts = Accounts(aws.clock)
    given = config_with(aws, assumeRoleChain=[{"roleARN": role("edge", "*")}])
    account = accounts.of(given)
    aws.fault("GetDistributionTenant", code=code, status=403, message="over")
    with pytest.raises(AwsError, match=code):
        account.cloudfront.get_tenant("acme")
    again = accounts.of(given)
    assert again is not account
    assert accounts.of(given) is again
    assert aws.journal.count("AssumeRole") == 2


def test_a_web_identity_is_read_from_its_file_each_time(aws, tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text(token())
    given = replace(
        config_with(aws, webIdentity={"roleARN": ROLE, "tokenPath": str(file)}),
        source="None",
        credentials=None,
    )
    given = replace(given, spec={**given.spec, "credentials": {"source": "None"}})
    account = reached(aws, given)
    assert account.id == EDGE
    credentials = account.cloudfront._cloudfront._request_signer._credentials
    account.cloudfront.caller()
    assert aws.journal.count("AssumeRoleWithWebIdentity") == 1, "kept while it lasts"
    pass_time(monkeypatch, credentials, minutes=55)
    file.write_text(token(lasts=-60))
    with pytest.raises(AwsError, match="ExpiredToken") as caught:
        account.cloudfront.caller()
    assert (caught.value.operation, caught.value.verdict.reason) == (
        "AssumeRoleWithWebIdentity",
        "AccessDenied",
    )
    file.write_text(token())
    account.cloudfront.caller()
    assert aws.journal.count("AssumeRoleWithWebIdentity") == 3


def test_a_token_that_is_not_there_and_credentials_that_are_missing_are_told(aws, tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    nobody = replace(config_with(aws), source="InjectedIdentity", credentials=None)
    with pytest.raises(ExternalError, match="Credentials: Unable to locate credentials") as caught:
        reached(aws, nobody)
    assert (caught.value.retry.mode, caught.value.conditions[0].reason) == (RetryMode.POLL, "AccessDenied")
    gone = {"roleARN": ROLE, "tokenPath": str(tmp_path / "gone")}
    lost = config_with(aws, uid="u8", webIdentity=gone, credentials={"source": "None"})
    with pytest.raises(ExternalError, match="gone"):
        reached(aws, replace(lost, source="None", credentials=None))
    assert aws.journal == []


def test_sessions_that_are_over_when_they_come_are_told(aws):
    account = reached(aws, config_with(aws, assumeRoleChain=[{"roleARN": ROLE}]))
    credentials = account.cloudfront._cloudfront._request_signer._credentials
    credentials._time_fetcher = lambda: datetime.now(UTC) + timedelta(days=2)
    with pytest.raises(AwsError, match=r"Credentials: .*still expired"):
        account.cloudfront.get_tenant("acme")


def test_roles_are_assumed_where_the_endpoint_says_and_in_its_region(aws):
    given = config_with(
        aws, endpoint={"url": aws.url, "region": "eu-west-1"}, assumeRoleChain=[{"roleARN": ROLE}]
    )
    account = reached(aws, given)
    assert account.cloudfront._sts.meta.region_name == "eu-west-1"
    assert account.id == EDGE
    aws.admin("DELETE", "calls")
    absent = f"arn:aws:acm:us-east-1:{EDGE}:certificate/0a1b2c3d-0000-0000-0000-000000000000"
    assert account.cloudfront.certificate(absent) is None
    assert account.cloudfront._acm.meta.region_name == "us-east-1", "certificates of CloudFront stand there"


def test_two_accounts_never_mix(aws):
    accounts = Accounts(aws.clock)
    for number in (HUB, EDGE):
        domains = [f"*.{number}.example.com"]
        distributions = [{"id": DISTRIBUTION, "certificateDomains": domains}]
        aws.admin("POST", "seed", {"account": number, "distributions": distributions})

    def live(number):
        account = accounts.of(config_with(aws, account=number, uid=f"u-{number}"))
        asked = Tenant(
            "shop.acme", DISTRIBUTION, domains=frozenset({f"a.{number}.example.com"}), enabled=False
        )
        seen = account.cloudfront.create_tenant(asked)
        account.cloudfront.tag(seen.arn, {"of": number})
        found = account.cloudfront.get_tenant("shop.acme")
        assert account.cloudfront.tags(found.arn) == {"of": number}
        assert account_of(found.arn) == account.id == number
        return account, found

    with ThreadPoolExecutor(2) as pool:
        (hub, one), (edge, other) = pool.map(live, [HUB, EDGE])
    assert hub.memory is not edge.memory
    assert hub.pace is not edge.pace
    hub.hooks.pace.throttled("GetDistributionTenant", hub.pace.now())
    assert (hub.pace.paused, edge.pace.paused) == (1.0, 0.0), "a throttled account holds up no other"
    aws.deploy()
    for account, seen in ((hub, one), (edge, other)):
        account.cloudfront.delete_tenant(seen.id, account.cloudfront.get_tenant(seen.id).etag)
    by_account = {c["account"] for c in aws.admin("GET", "calls?service=cloudfront")["calls"]}
    assert by_account == {HUB, EDGE}


def test_no_secret_stands_in_any_line_or_repr(aws):
    with capture_logs() as lines:
        account = reached(aws, config_with(aws))
        account.cloudfront.caller()
    assert SECRET not in str(lines) + repr(account) + repr(config_with(aws))
    assert ACCOUNT not in repr(account.cloudfront)


@pytest.mark.parametrize(
    ("source", "access_key", "told"),
    [
        ("None", None, "MissingAuthenticationToken"),
        ("Secret", "AK/IA", "IncompleteSignature"),
        ("Secret", "AKIA\u0001X: y", "spec.credentials: aws_access_key_id: expected printable ASCII"),
    ],
)
def test_credentials_that_sign_nothing_are_a_refusal(aws, source, access_key, told):
    given = replace(config_with(aws), source=source, credentials=keys(access_key) if access_key else None)
    with pytest.raises(ExternalError, match=told) as caught:
        reached(aws, given)
    assert caught.value.retry.mode is RetryMode.POLL


TENANT = Tenant("shop.acme", DISTRIBUTION)


class _Pod(BaseHTTPRequestHandler):
    """Issues the credentials of a pod, as EKS does; they are about to expire."""

    account = HUB

    def do_GET(self):
        expires = datetime.now(UTC) + timedelta(seconds=90)
        told = {"AccessKeyId": type(self).account, "SecretAccessKey": "x", "Token": "t"}
        body = json.dumps({**told, "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_): ...


@pytest.fixture
def pod(monkeypatch):
    """The class that decides which account's credentials this process gets."""
    monkeypatch.setattr(_Pod, "account", HUB)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pod)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.server_port}/")
    yield _Pod
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("account", [HUB, EDGE])
def test_credentials_that_renew_themselves_may_come_back_for_another_account(aws, pod, account):
    """The association of a pod with a role may change, and no file or Secret shows that."""
    aws.admin("POST", "seed", {"account": EDGE, "distributions": []})
    given = replace(config_with(aws), source="InjectedIdentity", credentials=None)
    accounts = Accounts(aws.clock)
    first = accounts.of(given)
    assert first.id == HUB
    first.cloudfront.default_group()
    pod.account = account
    if account == HUB:
        first.cloudfront.default_group()
        assert accounts.of(given) is first
        return
    with pytest.raises(AwsError, match="CredentialsRenewed") as told:
        first.cloudfront.create_tenant(replace(TENANT, domains=frozenset({"a.example.com"})))
    assert told.value.made_nothing
    assert accounts.of(given).id == EDGE
