"""Sessions: credentials, roles, endpoints, and what is shared between configs."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as ThreadTimeout
from dataclasses import replace
from types import SimpleNamespace

import pytest
from botocore import UNSIGNED
from botocore.session import Session
from prometheus_client import CollectorRegistry

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import FakeClock, Stopwatch
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account import sessions, trust
from provider.cloudfront.account.models import MODELS
from provider.cloudfront.aws.calls import Caller
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.metrics import Instruments
from provider.cloudfront.aws.operations import OPERATIONS
from provider.cloudfront.quota.quotas import Quotas

KEY_ID = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI-not-real"
FILE = f"[default]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n".encode()
CALLER = Caller("123456789012", "arn:aws:iam::123456789012:user/edge")
ROLE = "arn:aws:iam::123456789012:role/edge"


def config(credentials=FILE, *, source="Secret", uid="u1", generation=1, **spec) -> ResolvedConfig:
    block = {"source": source}
    if source == "Secret":
        block["secretRef"] = {"namespace": "crossplane-system", "name": "aws", "key": "credentials"}
    return ResolvedConfig(
        key=ProviderConfigKey("ClusterProviderConfig", "default", ""),
        spec={"credentials": block, **spec},
        uid=uid,
        generation=generation,
        source=source,
        credentials=credentials,
    )


@pytest.fixture
def accounts(monkeypatch) -> sessions.Accounts:
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    return sessions.Accounts(FakeClock())


def client_of(account):
    return account.cloudfront._cloudfront


def test_clients_are_kept_until_config_or_credentials_change(accounts):
    first = accounts.of(config())
    assert accounts.of(config()) is first
    assert accounts.of(config(generation=2)) is not first
    assert accounts.of(config(FILE.replace(b"not-real", b"rotated"), generation=2)) is not first


def test_another_spec_of_the_same_generation_is_another_config(accounts):
    """As after a restore of etcd."""
    lost = accounts.of(config(endpoint={"url": "http://127.0.0.1:1"}))
    assert accounts.of(config(endpoint={"url": "http://127.0.0.1:2"})) is not lost


def test_configs_of_one_account_share_what_is_remembered(accounts):
    one, other = accounts.of(config()), accounts.of(config(uid="u2"))
    assert one.memory is other.memory
    elsewhere = accounts.of(config(uid="u3", endpoint={"url": "http://127.0.0.1:1"}))
    assert elsewhere.memory is not one.memory
    assert elsewhere.memory.sightings is one.memory.sightings, "what was observed is known in any account"


def test_configs_share_the_models_of_aws(accounts):
    clients = [client_of(accounts.of(config(uid=uid))) for uid in ("u1", "u2")]
    loaders = {id(client.meta.service_model._service_description) for client in clients}
    assert len(loaders) == 1, "each config that somebody makes takes 12 MB"
    before = len(MODELS.search_paths)
    accounts.of(config(uid="u3"))
    assert len(MODELS.search_paths) == before


def test_a_valid_account_waits_for_no_config_that_is_opened(monkeypatch):
    """Not even for its own config, of which another worker has a newer version already."""
    asked, answer = threading.Event(), threading.Event()
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    accounts = sessions.Accounts(FakeClock())
    one, other = accounts.of(config()), accounts.of(config(uid="u2"))

    def caller(_):
        asked.set()
        assert answer.wait(30)
        return CALLER

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", caller)
    with ThreadPoolExecutor(3) as workers:
        opened = workers.submit(accounts.of, config(generation=2))
        assert asked.wait(30)
        assert workers.submit(accounts.of, config()).result(10) is one
        assert workers.submit(accounts.of, config(uid="u2")).result(10) is other
        answer.set()
        assert opened.result(30) is not one


def test_an_account_without_a_known_caller_serves_while_aws_is_asked_again(monkeypatch):
    monkeypatch.setattr(sessions, "_caller", lambda *_: None)
    accounts = sessions.Accounts(FakeClock())
    first = accounts.of(config())
    accounts.clock.advance(sessions._UNTOLD_SECONDS)
    asked, answer = threading.Event(), threading.Event()

    def caller(*_):
        asked.set()
        assert answer.wait(30)

    monkeypatch.setattr(sessions, "_caller", caller)
    with ThreadPoolExecutor(2) as workers:
        asking = workers.submit(accounts.of, config())
        assert asked.wait(30)
        assert workers.submit(accounts.of, config()).result(10) is first
        with pytest.raises(ThreadTimeout):
            workers.submit(accounts.of, config(generation=2)).result(0.1)
        answer.set()
        assert asking.result(30) is not first


def test_clients_share_what_holds_no_credentials(accounts):
    """Of a thousand configs, each would take a megabyte, and another one for each client that uses TLS."""
    one, other = (client_of(accounts.of(config(uid=uid))) for uid in ("u1", "u2"))
    assert type(one) is type(other)
    assert one.meta.service_model is other.meta.service_model
    assert one._ruleset_resolver._provider is other._ruleset_resolver._provider
    assert one.exceptions is other.exceptions
    managers = [each._endpoint.http_session._manager for each in (one, other)]
    assert len({id(each.connection_pool_kw["ssl_context"]) for each in managers}) == 1
    assert one._request_signer is not other._request_signer
    assert one.meta.events is not other.meta.events
    assert one._endpoint.http_session is not other._endpoint.http_session


def test_a_client_has_only_the_operations_that_the_provider_calls(accounts):
    client = client_of(accounts.of(config()))
    names = {each.name for each in OPERATIONS.values() if each.service == "cloudfront"}
    assert set(client.meta.service_model.operation_names) == names
    assert not hasattr(client, "delete_distribution")


def test_certificates_of_authorities_are_loaded_once_and_when_they_change(tmp_path, monkeypatch):
    loaded, file = [], tmp_path / "authorities.pem"
    file.write_text("a")
    load = trust._Authorities(lambda *given: loaded.append(given))
    for _ in range(3):
        load(str(file), None, None)
    assert loaded == [(str(file), None, None)]
    file.write_text("another")
    load(str(file))
    assert len(loaded) == 2
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "missing"))


def test_protocols_are_set_once_in_the_context_of_all():
    """Each connection sets them again, and OpenSSL frees what other connections may read."""
    chosen = []
    choose = trust._Protocols(chosen.append)
    for _ in range(3):
        choose(["http/1.1"])
    assert chosen == [["http/1.1"]]
    choose(["h2"])
    assert chosen == [["http/1.1"], ["h2"]]


def test_only_so_many_configs_keep_their_connections(accounts, monkeypatch):
    monkeypatch.setattr(sessions, "_MOST_CONNECTED", 2)
    closed, opened = [], {}
    for uid in ("a", "b", "a", "c", "d"):
        opened[uid] = accounts.of(config(uid=uid))
        client_of(opened[uid]).close = lambda uid=uid: closed.append(uid)
    assert closed == ["b", "a"], "those that were used longest ago"
    assert accounts.of(config(uid="b")) is opened["b"], "all else is kept"
    accounts.gone("d")
    assert {*accounts._connected} == {"b"}


def test_a_client_that_is_made_later_has_the_same_credentials(accounts):
    calls = accounts.of(config()).cloudfront
    assert calls._acm._made is None
    assert calls._acm._request_signer._credentials is calls._cloudfront._request_signer._credentials
    made = calls._acm._made
    calls._acm.close()
    assert calls._acm._made is None
    assert calls._acm.meta.service_model.service_name == "acm"
    assert calls._acm._made is not made


def test_a_config_that_nobody_uses_any_more_is_let_go(accounts):
    for number in range(20):
        accounts.of(config(uid=f"gone-{number}"))
    used, memory = accounts.of(config()), accounts.of(config()).memory
    for _ in range(3):
        accounts.clock.advance(1800)
        assert accounts.of(config()) is used
    accounts.of(config(uid="another"))
    assert {*accounts._opened} == {*accounts._opening} == {*accounts._used} == {"u1", "another"}
    assert accounts.of(config(uid="gone-1")).memory is memory, "what is known of the account stays"


def rotating(monkeypatch, accounts, numbers, uid="u1"):
    """The credentials of one config are of another account each time."""
    for number in numbers:
        caller = Caller(f"{number:012}", f"arn:aws:iam::{number:012}:user/edge")
        monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _, caller=caller: caller)
        yield accounts.of(config(FILE + f"# {number}".encode(), uid=uid))


def test_accounts_that_no_config_is_of_any_more_are_forgotten(monkeypatch):
    registry = CollectorRegistry()
    accounts = sessions.Accounts(FakeClock(), Instruments(registry))
    monkeypatch.setattr(sessions, "_MOST_REMEMBERED", 4)
    for account in rotating(monkeypatch, accounts, range(9)):
        account.hooks._calls.answered(account.id, "cloudfront", "TagResource", None, 0.1)
        account.hooks._calls.held_back(account.id, "cloudfront", 0.1)
        accounts.instruments.tenants.repaired(account.id, [FieldDiff("enabled", "true", "false")])
        accounts.clock.advance(1)
    assert len(accounts._shared) == 4 + 1
    shown = {s.labels["account"] for m in registry.collect() for s in m.samples if "account" in s.labels}
    assert shown == {f"{number:012}" for number in range(4, 9)}, "the one in use, and those of lately"


def test_an_account_is_remembered_for_a_day_after_its_last_config(monkeypatch):
    accounts = sessions.Accounts(FakeClock())
    first, second = rotating(monkeypatch, accounts, (1, 2))
    assert next(rotating(monkeypatch, accounts, (1,))).memory is first.memory
    accounts.clock.advance(23 * 3600)
    assert next(rotating(monkeypatch, accounts, (2,))).memory is second.memory
    accounts.clock.advance(24 * 3600)
    next(rotating(monkeypatch, accounts, (3,), uid="u2"))
    accounts.clock.advance(24 * 3600)
    assert next(rotating(monkeypatch, accounts, (1,))).memory is not first.memory


def test_an_account_that_is_in_use_is_remembered_for_ever(monkeypatch):
    accounts = sessions.Accounts(FakeClock())
    used = next(rotating(monkeypatch, accounts, (1,), uid="used"))
    monkeypatch.setattr(sessions, "_MOST_REMEMBERED", 2)
    for number in range(5):
        next(rotating(monkeypatch, accounts, (number + 2,)))
        accounts.clock.advance(12 * 3600)
        assert accounts.of(config(FILE + b"# 1", uid="used")) is used
    other = next(rotating(monkeypatch, accounts, (1,), uid="other"))
    assert other.memory is used.memory


def of_team(number: int, namespace: str = "shop", **fields) -> ResolvedConfig:
    made = config(uid=f"{namespace}-{number}", **fields)
    return replace(made, key=ProviderConfigKey("ProviderConfig", f"p{number}", namespace))


def open_configs(accounts) -> int:
    return sum(each.account is not None for each in accounts._opened.values())


def test_a_namespace_has_so_many_configs_open_and_no_more(accounts):
    """Each holds connections and memory, and anyone who may make one may make a thousand."""
    for number in range(sessions._MOST_OF_NAMESPACE):
        accounts.of(of_team(number))
    for number in range(100, 110):
        with pytest.raises(ExternalError, match=r"ProviderConfig shop/p\d+: 20 other ProviderConfigs of"):
            accounts.of(of_team(number))
    assert open_configs(accounts) == sessions._MOST_OF_NAMESPACE
    accounts.of(of_team(1, "other"))
    accounts.of(config())
    accounts.of(of_team(3, generation=2))
    assert open_configs(accounts) == sessions._MOST_OF_NAMESPACE + 2, (
        "others, and the platform's, are not counted"
    )


def test_a_config_that_was_not_used_lately_makes_room(accounts):
    first = accounts.of(of_team(0))
    closed = []
    for client in first.clients:
        client.close = lambda name=client.meta.service_model.service_name: closed.append(name)
    for number in range(1, sessions._MOST_OF_NAMESPACE):
        accounts.clock.advance(1)
        accounts.of(of_team(number))
    accounts.clock.advance(900)
    for number in range(1, sessions._MOST_OF_NAMESPACE):
        accounts.of(of_team(number))
    accounts.of(of_team(100))
    assert sorted(closed) == ["acm", "cloudfront", "sts"]
    assert open_configs(accounts) == sessions._MOST_OF_NAMESPACE
    with pytest.raises(ExternalError, match="which is the maximum"):
        accounts.of(of_team(0))
    accounts.clock.advance(3600)
    accounts.of(of_team(0))
    assert {*accounts._opened} == {*accounts._homes} == {"shop-0"}


def test_the_connections_of_what_is_made_anew_are_closed(accounts):
    closed = []
    for client in accounts.of(config()).clients:
        client.close = lambda: closed.append(1)
    accounts.of(config(generation=2))
    assert len(closed) == 3


def test_endpoint_region_and_agent(accounts):
    client = client_of(accounts.of(config(endpoint={"url": "http://127.0.0.1:4599"})))
    assert client.meta.endpoint_url == "http://127.0.0.1:4599"
    assert client.meta.config.user_agent_extra.startswith("edgetenants/")
    assert client_of(accounts.of(config(uid="u2"))).meta.endpoint_url == "https://cloudfront.amazonaws.com"


def test_the_regions_are_those_that_cloudfront_needs_wherever_the_pod_runs(accounts, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    calls = accounts.of(config()).cloudfront
    assert [each.meta.region_name for each in (calls._acm, calls._sts)] == ["us-east-1"] * 2
    assert client_of(accounts.of(config())).meta.endpoint_url == "https://cloudfront.amazonaws.com"


def test_the_secret_is_an_aws_credentials_file(accounts):
    credentials = client_of(
        accounts.of(config(FILE + b"aws_session_token = t\n"))
    )._request_signer._credentials
    assert (credentials.access_key, credentials.secret_key, credentials.token) == (KEY_ID, SECRET, "t")


@pytest.mark.parametrize(
    "content",
    [
        FILE + b"\n" * 65_536,
        b"",
        b"[other]\naws_access_key_id = x\n",
        SECRET.encode(),
        b"\xff\xfe",
        b"[default]\nx\n" + FILE,
    ],
)
def test_what_is_no_credentials_file_is_told_without_its_content(accounts, content):
    with pytest.raises(ExternalError) as caught:
        accounts.of(config(content))
    told = str(caught.value)
    assert "spec.credentials: expected an AWS credentials file" in told
    assert "under [default] in Secret " in told
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.timeout(5)
@pytest.mark.parametrize("blank", [" ", "\t", "\r", "\x0b", "\u00a0", " \t"])
def test_blanks_in_a_credentials_file_stop_no_worker(accounts, blank):
    """configparser alone takes a minute or more for these, and lets no other thread run."""
    line = "a" + blank * (60_000 // len(blank.encode()))
    with pytest.raises(ExternalError, match="expected an AWS credentials file"):
        accounts.of(config(f"[default]\n{line}b".encode()))


def test_blanks_around_the_values_of_a_credentials_file_do_not_count(accounts):
    content = f"[default]\naws_access_key_id   =   {KEY_ID}\t\t\r\naws_secret_access_key\t=\t{SECRET}  \n"
    credentials = client_of(accounts.of(config(content.encode())))._request_signer._credentials
    assert (credentials.access_key, credentials.secret_key) == (KEY_ID, SECRET)


@pytest.mark.parametrize("field", ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"])
@pytest.mark.parametrize("value", ["AKIA\u0001X: y", "AKIA\u2028X", "AK IA", "\u00e9", "AKIA\n  X"])
def test_characters_that_no_signature_has_are_told_by_their_field(accounts, field, value):
    given = {"aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET, field: value}
    lines = "".join(f"{name} = {each}\n" for name, each in given.items())
    with pytest.raises(ExternalError) as caught:
        accounts.of(config(f"[default]\n{lines}".encode()))
    assert f"spec.credentials: {field}: expected printable ASCII characters" in caught.value.message
    assert not any(each in caught.value.message for each in given.values())


def test_an_empty_session_token_is_none(accounts):
    assert accounts.of(config(FILE + b"aws_session_token =\n")).id == CALLER.account


def test_source_none_is_not_signed_and_lends_no_identity(accounts):
    assert client_of(accounts.of(config(None, source="None"))).meta.config.signature_version is UNSIGNED
    with pytest.raises(ExternalError, match="assumeRoleChain"):
        accounts.of(config(None, source="None", uid="u2", assumeRoleChain=[{"roleARN": ROLE}]))


def test_a_config_that_cannot_be_read_is_told_with_the_field(accounts):
    with pytest.raises(ExternalError, match=r"spec\.endpoint\.url"):
        accounts.of(config(endpoint={"url": "ftp://x"}))


@pytest.fixture
def denied(monkeypatch):
    """What GetCallerIdentity and ListConnectionGroups answer, by operation; an exception is raised."""

    def no(operation):
        return AwsError(operation, "AccessDenied", "no", status=403)

    answers = {
        "GetCallerIdentity": no("GetCallerIdentity"),
        "ListConnectionGroups": no("ListConnectionGroups"),
    }

    def answer(operation):
        if isinstance(answers[operation], Exception):
            raise answers[operation]
        return answers[operation]

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: answer("GetCallerIdentity"))
    monkeypatch.setattr(sessions.CloudFrontCalls, "default_group", lambda _: answer("ListConnectionGroups"))
    return answers


def test_an_account_that_may_not_be_asked_is_unknown(denied):
    assert sessions.Accounts(FakeClock()).of(config()).id is None


def test_a_refusal_to_say_the_account_is_not_believed_for_ever(denied):
    clock = FakeClock()
    accounts = sessions.Accounts(clock)
    first = accounts.of(config())
    denied["GetCallerIdentity"] = CALLER
    assert accounts.of(config()) is first
    clock.advance(60)
    known = accounts.of(config())
    assert (known.id, known.caller_arn) == (CALLER.account, CALLER.arn)
    clock.advance(86400)
    assert accounts.of(config()) is known


def test_an_account_that_may_not_be_asked_is_known_by_its_default_connection_group(denied):
    arn = "arn:aws:cloudfront::123456789012:connection-group/cg_1"
    denied["ListConnectionGroups"] = SimpleNamespace(arn=arn)
    account = sessions.Accounts(FakeClock()).of(config())
    assert (account.id, account.caller_arn) == ("123456789012", None)


@pytest.mark.parametrize("group", [None, SimpleNamespace(arn=""), SimpleNamespace(arn="arn:aws:s3:::x")])
def test_an_account_without_a_group_that_tells_it_is_unknown(denied, group):
    denied["ListConnectionGroups"] = group
    assert sessions.Accounts(FakeClock()).of(config()).id is None


def test_a_group_that_does_not_come_holds_the_config_up(denied):
    denied["ListConnectionGroups"] = AwsError("ListConnectionGroups", "InternalError", "no", status=500)
    with pytest.raises(ExternalError, match="get the caller's account"):
        sessions.Accounts(FakeClock()).of(config())


def test_credentials_that_aws_refuses_are_told(monkeypatch):
    def refused(_):
        raise AwsError("GetCallerIdentity", "InvalidClientTokenId", "invalid", status=403)

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", refused)
    with pytest.raises(ExternalError, match=r"ClusterProviderConfig default: .*InvalidClientTokenId"):
        sessions.Accounts(FakeClock()).of(config())


def test_an_endpoint_that_does_not_answer_stops_one_worker(monkeypatch):
    """It accepts connections, and a whole fleet of resources uses its config."""
    asked, answer = threading.Event(), threading.Event()

    def caller(_):
        asked.set()
        assert answer.wait(30)
        return CALLER

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", caller)
    monkeypatch.setattr(sessions, "_OPENING_SECONDS", 0.1)
    accounts = sessions.Accounts(FakeClock())
    with ThreadPoolExecutor(1) as worker:
        opened = worker.submit(accounts.of, config())
        assert asked.wait(30)
        with pytest.raises(NotYet, match="ClusterProviderConfig default: another worker is asking AWS"):
            accounts.of(config())
        waited = Stopwatch()
        for _ in range(50):  # none of them waits again
            with pytest.raises(NotYet):
                accounts.of(config())
        assert waited.elapsed() < 50 * sessions._OPENING_SECONDS
        answer.set()
        assert opened.result(30).id == CALLER.account
    assert accounts.of(config(generation=2)).id == CALLER.account


def test_credentials_that_only_cloudfront_refuses_are_not_opened_at_each_reconcile(monkeypatch):
    """STS knows new credentials sooner."""
    asked = []
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: asked.append(1) or CALLER)
    clock = FakeClock()
    accounts = sessions.Accounts(clock)
    for _ in range(100):
        accounts.of(config()).hooks.on_stale()
    assert len(asked) == 2
    clock.advance(31)
    accounts.of(config()).hooks.on_stale()
    accounts.of(config())
    assert len(asked) == 3


def test_a_config_that_is_listed_again_is_opened_once(accounts):
    """As after its informer listed everything again."""
    accounts.of(config(rateLimits={"cloudfront": 50}))
    accounts.gone("u1")
    accounts.back("u1")
    again = accounts.of(config(rateLimits={"cloudfront": 50}))
    assert again.pace.rate("cloudfront") == 50
    assert accounts.of(config(rateLimits={"cloudfront": 50})) is again


class TestQuotas:
    def tenants(self, account):
        reading = next(iter(account.memory.quotas.readings()))
        assert reading.quota == "tenants"
        return reading.allowed

    def test_what_a_config_says_counts_for_its_account(self, accounts):
        account = accounts.of(config(quotas={"tenants": 20_000}))
        assert self.tenants(account) == 20_000
        shown = {each.quota: each.allowed for each in accounts.quotas[CALLER.account]}
        assert shown == {"tenants": 20_000, "connection_groups": 100, "certificates": 2_500}
        of_all = {"tenants": 30_000, "connectionGroups": 7, "certificates": 7}
        again = accounts.of(config(generation=2, quotas=of_all))
        assert self.tenants(again) == 30_000
        assert {each.allowed for each in accounts.quotas[CALLER.account]} == {30_000, 7}

    @pytest.mark.parametrize("team_first", [False, True])
    @pytest.mark.parametrize("endpoint", [{}, {"endpoint": {"url": "https://zzz.example.com"}}])
    def test_a_team_changes_no_metric_of_the_account(self, accounts, endpoint, team_first):
        of_team = replace(
            config(uid="u2", quotas={"tenants": 1}, **endpoint),
            key=ProviderConfigKey("ProviderConfig", "aws", "shop"),
        )
        for each in (of_team, config()) if team_first else (config(), of_team):
            accounts.of(each).memory.quotas.counted(3 if each.uid == "u1" or not endpoint else 9, 2, 60.0)
        shown = {each.quota: (each.allowed, each.used) for each in accounts.quotas[CALLER.account]}
        assert shown["tenants"] == (10_000, 3)

    def test_a_deleted_config_counts_no_more(self, accounts):
        accounts.of(config(quotas={"tenants": 20_000}))
        accounts.gone("u1")
        other = accounts.of(config(uid="u2"))
        assert self.tenants(other) == 10_000
        accounts.of(config(quotas={"tenants": 5}))
        assert self.tenants(other) == 10_000, "opened once more by a reconcile that runs"

    def test_a_config_that_is_deleted_while_it_is_opened_counts_no_more(self, accounts, monkeypatch):
        stays, allow = accounts.of(config()), Quotas.allow

        def allowing(quotas, uid, *said):
            accounts.gone("u2")
            allow(quotas, uid, *said)

        monkeypatch.setattr(Quotas, "allow", allowing)
        accounts.of(config(uid="u2", quotas={"tenants": 5}))
        assert self.tenants(stays) == 10_000

    def test_a_config_that_moves_to_another_account_leaves_its_number_there_no_more(
        self, accounts, monkeypatch
    ):
        accounts.of(config(quotas={"tenants": 20_000}))
        stays = accounts.of(config(uid="u2"))
        monkeypatch.setattr(
            sessions.CloudFrontCalls, "caller", lambda _: replace(CALLER, account="210987654321")
        )
        moved = accounts.of(config(generation=2, quotas={"tenants": 20_000}))
        assert (self.tenants(moved), self.tenants(stays)) == (20_000, 10_000)

    def test_those_that_wait_are_woken_and_what_a_rehearsal_does_wakes_none(self, monkeypatch):
        monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
        woken = []
        account = sessions.Accounts(FakeClock(), wake=woken.append).of(config())
        account.rehearsals.quotas._call(["x"])
        account.memory.quotas._call(["y"])
        assert woken == [["y"]]


def test_the_account_is_asked_for_with_a_short_time_out(accounts):
    made = accounts.of(config())
    reads = {c.meta.service_model.service_name: c.meta.config.read_timeout for c in made.clients}
    assert reads == {"cloudfront": 30, "acm": 30, "sts": 10}


def test_botocores_own_requests_to_sts_are_short_too(accounts, monkeypatch):
    """For the process's own identity (IRSA), botocore makes a client of its own, which no hook sees."""
    given = []
    monkeypatch.setattr(Session, "set_default_client_config", lambda _, config: given.append(config))
    accounts.of(config())
    assert {each.read_timeout for each in given} == {10}
    assert {each.retries["total_max_attempts"] for each in given} == {1}


def test_roles_are_assumed_hop_by_hop(accounts, monkeypatch):
    hops = []

    def assume(self):
        source = self._source_credentials.get_frozen_credentials()
        hops.append((source.access_key, self._role_arn, self._assume_kwargs))
        return {
            "access_key": f"KEY{len(hops)}",
            "secret_key": "s",
            "token": "t",
            "expiry_time": "2099-01-01T00:00:00Z",
        }

    monkeypatch.setattr(sessions.AssumeRoleCredentialFetcher, "fetch_credentials", assume)
    chain = [
        {"roleARN": ROLE + "1", "externalID": "ext", "tags": {"team": "edge"}, "transitiveTagKeys": ["team"]},
        {"roleARN": ROLE + "2", "sessionName": "edge-2"},
    ]
    account = accounts.of(config(assumeRoleChain=chain))
    final = client_of(account)._request_signer._credentials.get_frozen_credentials()
    assert final.access_key == "KEY2"
    assert [(key, role) for key, role, _ in hops] == [(KEY_ID, ROLE + "1"), ("KEY1", ROLE + "2")]
    first, second = (json.loads(json.dumps(kwargs)) for _, _, kwargs in hops)
    assert first["ExternalId"] == "ext"
    assert first["Tags"] == [{"Key": "team", "Value": "edge"}]
    assert first["TransitiveTagKeys"] == ["team"]
    assert first["RoleSessionName"] == "edgetenants"
    assert second["RoleSessionName"] == "edge-2"


def test_frozen_is_read(accounts):
    assert accounts.of(config(writes="Frozen")).frozen
    assert not accounts.of(config(uid="u2")).frozen


def test_a_reconcile_that_is_out_of_time_begins_no_call(accounts):
    account = accounts.of(config(endpoint={"url": "http://127.0.0.1:9"}))
    clock = FakeClock()
    with deadline.within(60, clock):
        clock.advance(61)
        with pytest.raises(ExternalError, match="the call GetDistributionTenant was not started"):
            account.cloudfront.get_tenant("acme")
    with pytest.raises(AwsError):
        account.cloudfront.get_tenant("acme")


class Swept:
    """As much of the sweeps as opens lists."""

    def __init__(self):
        self.opened = []

    def open(self, who, *_, **__):
        self.opened.append(who)
        return SimpleNamespace()

    def leave(self, uid):
        pass


class TestShards:
    @pytest.fixture
    def mine(self):
        return set()

    @pytest.fixture
    def sweeps(self):
        return Swept()

    @pytest.fixture
    def accounts(self, monkeypatch, mine, sweeps):
        monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
        return sessions.Accounts(FakeClock(), sweeps=sweeps, mine=lambda account: account in mine)

    def test_nothing_is_done_in_the_account_of_another_process(self, accounts, sweeps):
        account = accounts.of(config())
        with pytest.raises(StandDown, match="account 123456789012"):
            accounts.check_mine(config(), account)
        assert sweeps.opened == []
        assert accounts.of(config()) is account, "AWS is asked for the account once"

    def test_an_account_that_becomes_ours_is_opened_again_with_its_lists(self, accounts, sweeps, mine):
        theirs = accounts.of(config())
        mine.add(CALLER.account)
        ours = accounts.of(config())
        accounts.check_mine(config(), ours)
        assert ours is not theirs
        assert ours.swept is not None
        assert len(sweeps.opened) == 1
        assert accounts.of(config()) is ours

    def test_an_account_that_cannot_be_read_is_no_ones(self, accounts, mine):
        mine.add(CALLER.account)
        unknown = replace(accounts.of(config()), id=None)
        with pytest.raises(ExternalError, match="Permit sts:GetCallerIdentity"):
            accounts.check_mine(config(), unknown)

    def test_without_shards_every_account_is_ours(self, monkeypatch):
        monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
        accounts = sessions.Accounts(FakeClock())
        account = accounts.of(config())
        accounts.check_mine(config(), account)
        accounts.check_mine(config(), replace(account, id=None))


def test_a_config_for_dns_records_only_is_no_account(accounts):
    dns = {"powerdns": {"url": "http://pdns", "apiKeySecretRef": {"namespace": "n", "name": "s", "key": "k"}}}
    with pytest.raises(
        ExternalError, match="got source None; this ClusterProviderConfig is for DNS records only"
    ):
        accounts.of(config(None, source="None", dns=dns))
    accounts.of(config(None, source="None", dns=dns, endpoint={"url": "http://127.0.0.1:1"}))
    assert accounts.of(config(dns=dns, uid="u2")).records is None
