"""The process: flags, start-up failures, the installation id."""

from __future__ import annotations

import http.client
import json
import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme
from click.testing import CliRunner
from structlog.testing import capture_logs

from edgetenants_runtime.admission.server import Certificate
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey
from edgetenants_runtime.process.controller import BY_PROVIDER_CONFIG
from edgetenants_runtime.process.health import Starting
from edgetenants_runtime.process.leader import Election, Timing
from edgetenants_runtime.process.start import StartFailed, connect
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.testing import FakeObjects, Journal
from provider import installation, main, options
from provider.cloudfront.domain.proof import Rules
from provider.cloudfront.domain.tenant_proofs import DomainProofs
from provider.cloudfront.quota.waiting import Waiting
from provider.cloudfront.safety.kept_domains import NOTHING
from provider.cloudfront.sweep.watching import Follower
from provider.records.config_maps import LABEL

GET = Operation("get", CONFIG_MAPS)


class Kube:
    """The few calls that the start makes."""

    def __init__(self, stored=None, get_errors=(), create_error=None):
        self.stored, self.get_errors, self.create_error = stored, list(get_errors), create_error

    def get(self, kind, key):
        if self.get_errors:
            raise self.get_errors.pop(0)
        if self.stored is None:
            raise NotFound(GET, 404, "not found")
        return {"data": {"id": self.stored}}

    def create(self, kind, obj):
        if self.create_error:
            self.stored, error = "of-another-replica", self.create_error
            raise error
        self.stored = obj["data"]["id"]
        return obj


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(installation, "pause", lambda clock, seconds: None)


def test_the_installation_id_is_made_once():
    kube = Kube()
    id_ = installation.get_or_create(kube, "crossplane-system")
    assert installation.get_or_create(kube, "crossplane-system") == id_
    assert installation.validate(id_, "x") == id_


def test_of_two_that_start_at_once_one_gives_the_id():
    kube = Kube(create_error=AlreadyExists(GET, 409, "exists"))
    assert installation.get_or_create(kube, "crossplane-system") == "of-another-replica"


def test_it_waits_for_permission_and_for_the_server():
    kube = Kube(
        "one", get_errors=[Forbidden(GET, 403, "no"), KubeError(GET, 503, "busy"), KubeError(GET, 0, "no")]
    )
    assert installation.get_or_create(kube, "crossplane-system") == "one"


def test_probes_are_answered_while_it_waits():
    """Else the kubelet kills the pod again and again, and no one reads which rule is missing."""
    refused = Forbidden(GET, 403, "no")
    kube, told = Kube("one", get_errors=[refused, KubeError(GET, 503, "busy")]), []
    with Starting("127.0.0.1", 0) as starting:

        def waiting(line):
            starting.tell(line)
            told.append((probed(starting.port, "/healthz"), probed(starting.port, "/readyz")))

        assert installation.get_or_create(kube, "crossplane-system", waiting) == "one"
        port = starting.port
    alive = (200, "ok\n")
    assert told[0] == (alive, (503, f"not ok\nwaiting for the installation id: {refused}\n"))
    assert told[1][1][0] == 503
    assert "busy" in told[1][1][1]
    # A connection may still be in the closed socket's queue: then it is reset.
    with pytest.raises(OSError, match=r"refused|reset"):
        probed(port, "/readyz")


def probed(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_a_start_that_waits_for_nothing_takes_no_port():
    with Starting("127.0.0.1", 0) as starting:
        assert starting.port is None


def test_a_refusal_for_good_is_raised():
    with pytest.raises(KubeError):
        installation.get_or_create(Kube(get_errors=[KubeError(GET, 401, "who are you")]), "crossplane-system")


@pytest.mark.parametrize("id_", ["", "a/b", "-a", "x" * 41, "ü"])
def test_an_id_that_cannot_be_one_is_refused(id_):
    with pytest.raises(installation.InvalidInstallation):
        installation.validate(id_, "--installation-id")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 1, "no --kubeconfig given, and not in a pod"),
        (["--kubeconfig", "/nowhere/config"], 1, "--kubeconfig /nowhere/config"),
        (["--workers", "0"], 2, "--workers"),
        (["--poll-interval", "soon"], 2, "--poll-interval"),
        (["--drift-policy", "Ignore"], 2, "--drift-policy"),
        (["--lease-duration", "5"], 2, "got 2, 10, 5 seconds"),
        (["--shards", "0"], 2, "--shards"),
        (["--shards", "17"], 2, "--shards"),
        (["--shards", "2", "--no-leader-election"], 2, "--shards: expected 1 with --no-leader-election"),
        (["--metrics-port", "99999"], 2, "--metrics-port"),
        (["--dns-resolvers", "192.0.2.1, dns.example"], 2, "--dns-resolvers"),
        (["--domain-proof-exempt", "*.acme.com,not a domain"], 2, "--domain-proof-exempt"),
    ],
)
def test_a_start_that_cannot_be_is_told(arguments, code, words, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(main.logs, "configure", lambda *_, **__: None)
    with capture_logs() as lines:
        result = CliRunner().invoke(main.main, arguments)
    assert result.exit_code == code
    assert words in result.output + str(lines)


def test_each_flag_is_an_environment_variable_too():
    context = main.main.make_context(
        "provider", [], auto_envvar_prefix="EDGETENANTS", resilient_parsing=False
    )
    for parameter in context.command.params:
        assert parameter.resolve_envvar_value(context) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGETENANTS_WORKERS", "3")
        patch.setenv("EDGETENANTS_POLL_INTERVAL", "7")
        patch.setenv("POD_NAMESPACE", "edge")
        context = main.main.make_context("provider", [], auto_envvar_prefix="EDGETENANTS")
    assert (context.params["workers"], context.params["poll_interval"]) == (3, 7.0)
    assert context.params["namespace"] == "edge"


@pytest.mark.parametrize("arguments", [[], ["--hold-deletions"]])
def test_deletions_can_be_held_and_confirmed(arguments):
    context = main.main.make_context("provider", [*arguments])
    settings = options.settings(context.params)
    assert settings.hold_deletions is bool(arguments)
    assert settings.confirm_annotation == "edgetenants.io/confirm"


def test_both_trees_are_wired_with_their_kinds():
    legacy = main.managed_kind(main.TREES[1].tenant)
    assert (legacy.resource, legacy.namespaced) == ("distributiontenants.cloudfront.edgetenants.io", False)
    modern = main.managed_kind(main.TREES[0].tenant)
    assert (modern.resource, modern.namespaced) == ("distributiontenants.cloudfront.m.edgetenants.io", True)
    assert modern.deterministic_name


@pytest.mark.parametrize("tree", main.TREES, ids=["modern", "legacy"])
def test_the_kinds_declare_all_annotations_that_the_provider_reads(tree):
    """The runtime keeps no others: an annotation that is not declared would have no effect."""
    sources = (path.read_text() for path in Path(main.__file__).parent.rglob("*.py"))
    named = re.compile(r'^(?:\w+_ANNOTATION|CREATING_IN): Final = "(.+)"$', re.MULTILINE)
    read = {name for source in sources for name in named.findall(source)}
    assert {"edgetenants.io/adopt", "edgetenants.io/creating-in", "edgetenants.io/confirm"} <= read
    assert set(main.managed_kind(tree.tenant).annotations) == read
    assert set(main.managed_kind(tree.group).annotations) == read
    assert main.managed_kind(tree.tenant).annotations["edgetenants.io/give-domains-to"] == 64_400


def given(*arguments):
    return main.main.make_context("provider", list(arguments), auto_envvar_prefix="EDGETENANTS").params


def test_by_default_it_takes_part_in_the_election_and_serves_metrics(monkeypatch):
    monkeypatch.setenv("POD_NAMESPACE", "edge")
    settings = options.settings(given())
    assert settings.election == Election("edge", "provider-edgetenants", Timing(15, 10.0, 2.0))
    assert (settings.health_port, settings.metrics_port) == (8081, 8080)
    assert (settings.timeout, settings.stop_seconds) == (60.0, 20.0)


def test_a_switch_is_an_environment_variable_too(monkeypatch):
    monkeypatch.setenv("EDGETENANTS_LEADER_ELECTION", "false")
    monkeypatch.setenv("EDGETENANTS_READ_ONLY", "true")
    assert (given()["leader_election"], given()["read_only"]) == (False, True)


def test_election_and_metrics_can_be_left_out():
    settings = options.settings(given("--no-leader-election", "--metrics-port=0", "--lease-duration=1"))
    assert (settings.election, settings.metrics_port) == (None, None)


def test_dns_servers_of_namespaces(monkeypatch):
    assert options.policy(given(), "i").namespaced_dns_servers == frozenset()
    found = options.policy(given("--namespaced-dns-servers=ns1.example.com:53, [::1]:8081"), "i")
    assert found.namespaced_dns_servers == {("ns1.example.com", 53), ("::1", 8081)}
    monkeypatch.setenv("EDGETENANTS_NAMESPACED_DNS_SERVERS", "ns1.example.com")
    answer = CliRunner().invoke(main.main, [])
    assert (answer.exit_code, "expected HOST:PORT, got 'ns1.example.com'" in answer.output) == (2, True)


def test_servers_in_place_of_hosted_dns_services(monkeypatch):
    found = options.policy(given(), "i")
    assert (found.cloudflare_url, found.azure_url) == (None, None)
    found = options.policy(
        given("--cloudflare-url=http://127.0.0.1:1/client/v4/", "--azure-url=http://a:2"), "i"
    )
    assert (found.cloudflare_url, found.azure_url) == ("http://127.0.0.1:1/client/v4", "http://a:2")
    for wrong in ("ftp://a", "a:1", "http://", "http://a?b", "http://a#b"):
        monkeypatch.setenv("EDGETENANTS_AZURE_URL", wrong)
        answer = CliRunner().invoke(main.main, [])
        assert (answer.exit_code, "expected an http or https URL" in answer.output) == (2, True), wrong


def test_the_help_has_every_flag_under_its_section():
    text = CliRunner().invoke(main.main, ["--help"]).output
    flags = [name for p in main.main.params if p.param_type_name == "option" for name in p.opts]
    assert [flag for flag in flags if flag.startswith("--") and flag not in text] == []
    assert [text.index(f"{section.value}:") for section in options.Section] == sorted(
        text.index(f"{section.value}:") for section in options.Section
    )
    assert "EDGETENANTS_POLL_INTERVAL" in text


def test_a_taken_port_is_told_with_the_flags():
    class Taken:
        def run(self):
            raise OSError(98, "Address already in use")

    with pytest.raises(StartFailed, match=r"--health-port or --metrics-port: .*already in use"):
        main.started(Taken())


def test_a_taken_port_of_the_webhooks_is_told_with_its_flag(tmp_path):
    class Taken:
        def admit(self, *_):
            raise OSError(98, "Address already in use")

    leaf = trustme.CA().issue_cert("localhost")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "tls.crt"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "tls.key"))
    given = options.Webhooks(Certificate.of_folder(tmp_path), "127.0.0.1", 9443, dns=False)
    with pytest.raises(StartFailed, match=r"--webhook-port 9443: .*already in use"):
        main.admit(Taken(), given, None, "crossplane-system")


def test_without_a_usable_certificate_there_are_no_webhooks(tmp_path):
    given = options.Webhooks(Certificate.of_folder(tmp_path), "127.0.0.1", 9443, dns=False)
    with capture_logs() as logs:
        main.admit(None, given, None, "crossplane-system")
    assert "--webhook-certificates" in logs[0]["event"]
    assert str(tmp_path / "tls.crt") in logs[0]["error"]


class Cached:
    """As much of a controller as is looked into."""

    def __init__(self, *objects):
        self.informer = self
        self.cache = self
        self._objects = dict(enumerate(objects))
        self.keys = self._objects.keys
        self.get = self._objects.get


def resource(uid, name, holds=None):
    obj = {"metadata": {"name": uid, "uid": uid, "annotations": {"crossplane.io/external-name": name}}}
    return obj | ({"status": {"atProvider": {"id": holds}}} if holds else {})


def test_peers_are_found_by_every_name_that_leads_to_the_tenant():
    mine = resource("mine", "shop.acme")
    others = [
        resource("by-name", "shop.acme"),
        resource("by-id", "dt_1"),
        resource("holds-it", "was", "dt_1"),
    ]
    find = main.namesakes([Cached(mine, resource("other", "shop.other", "dt_2")), Cached(*others)])
    found = find(Managed(mine), frozenset({"shop.acme", "dt_1", "arn:dt_1"}))
    assert [mr.uid for mr in found] == ["by-name", "by-id", "holds-it"]


class Repeating:
    """As much of a manager as keeps domains."""

    def __init__(self):
        self.jobs = {}

    def everything_read(self):
        return False

    def repeat(self, name, job):
        self.jobs[name] = job

    def before_shard(self, prepare):
        self.prepare = prepare


@pytest.mark.parametrize(("arguments", "hours"), [((), 72), (("--keep-domains=3600",), 1)])
def test_domains_are_kept_in_the_providers_own_namespace(arguments, hours):
    params, manager, api = given("--namespace=edge", *arguments), Repeating(), FakeObjects(Journal())
    policy = options.policy(params, "i")
    assert policy.keep_domains == timedelta(hours=hours)
    kept = main.keep_domains(manager, api, FakeClock(), options.settings(params), policy, lambda: ())
    assert not kept.known
    manager.jobs["kept domains"]()
    kept.hold(["acme.example.com"], "shop")
    [stored] = api.select(CONFIG_MAPS, "edge", {LABEL: "true"})
    assert stored["data"].keys() == {"acme.example.com"}


def test_no_domain_is_kept_where_none_is_asked_for():
    params, manager = given("--keep-domains=0"), Repeating()
    policy = options.policy(params, "i")
    assert main.keep_domains(manager, None, None, options.settings(params), policy, tuple) is NOTHING
    assert manager.jobs == {}


@pytest.mark.parametrize("seconds", ["-1", "31536001", "72h", "inf", "nan"])
def test_a_time_that_domains_cannot_be_kept_for_is_refused(seconds):
    result = CliRunner().invoke(main.main, [f"--keep-domains={seconds}"])
    assert result.exit_code == 2
    assert "--keep-domains" in result.output


def test_domains_are_kept_for_the_time_of_the_flag(monkeypatch):
    given_to = {}
    monkeypatch.setattr(main, "Rounds", lambda *_, **named: given_to.update(named) or Repeating())
    monkeypatch.setattr(Repeating, "round", lambda self: None, raising=False)
    params = given("--keep-domains=3600")
    settings, policy = options.settings(params), options.policy(params, "i")
    main.keep_domains(Repeating(), FakeObjects(Journal()), FakeClock(), settings, policy, tuple)
    assert given_to["keep"] == timedelta(hours=1)


class TestSweeping:
    """What the sweeps know of the controllers."""

    CONFIG = ProviderConfigKey("ClusterProviderConfig", "default", "")

    def controller(self, api_version, *configs):
        class Watching:
            def __init__(self):
                self.kind = SimpleNamespace(api_version=api_version)
                self.informer = self.cache = self
                self.woken = []

            def keys_by_index(self, index, value):
                assert index == BY_PROVIDER_CONFIG
                return [each for each in configs if each == value]

            def enqueue(self, key, priority):
                self.woken.append((key, priority))

        return Watching()

    def sweeps(self, monkeypatch, *controllers):
        found = {}
        monkeypatch.setattr(main, "Sweeps", lambda *args, **named: found.update(named, args=args))
        main.sweeping(FakeClock(), options.settings(given("--poll-interval=7")), controllers, None)
        return found

    def test_the_resources_of_a_config_are_counted_in_both_trees(self, monkeypatch):
        of_config = str(self.CONFIG)
        first, second = self.controller("v2", of_config, of_config, "other"), self.controller("v1", of_config)
        assert self.sweeps(monkeypatch, first, second)["users"](self.CONFIG) == 3

    def test_a_resource_is_woken_in_its_own_tree(self, monkeypatch):
        first, second = self.controller("v2"), self.controller("v1")
        key = ObjectKey("shop", "acme")
        wake = self.sweeps(monkeypatch, first, second)["wake"]
        wake([Follower("uid", "v1", key)], changed=True)
        wake([Follower("uid", "v1", key)], changed=False)
        assert (first.woken, second.woken) == ([], [(key, Priority.DRIFT), (key, Priority.POLL)])

    def test_one_that_waits_for_room_is_woken_in_its_own_tree_and_kind(self):
        woken = []

        def controller(api_version, kind):
            enqueue = lambda key: woken.append((api_version, kind, key))  # noqa: E731
            return SimpleNamespace(kind=SimpleNamespace(api_version=api_version, kind=kind), enqueue=enqueue)

        tenants = [controller("v2", "DistributionTenant"), controller("v1", "DistributionTenant")]
        groups = [controller("v2", "ConnectionGroup"), controller("v1", "ConnectionGroup")]
        key = ObjectKey("shop", "acme")
        main.waking(tenants, groups)([Waiting("uid", "v1", "ConnectionGroup", key, "shop", "2026")])
        assert woken == [("v1", "ConnectionGroup", key)]

    def test_they_come_at_the_poll_interval(self, monkeypatch):
        assert self.sweeps(monkeypatch)["args"][1] == 7.0

    @pytest.mark.parametrize(
        ("arguments", "seconds"), [((), 86400.0), (("--deep-check-interval=3600",), 3600.0)]
    )
    def test_a_flag_sets_the_interval_of_what_no_list_shows(self, arguments, seconds):
        assert options.policy(given(*arguments), "i").check_seconds == seconds

    def test_flags_ask_for_proofs_of_domains(self):
        assert options.policy(given(), "i").proof == Rules()
        asked = options.policy(
            given(
                "--require-domain-proof",
                "--domain-proof-exempt=*.Apps.example.com, {namespace}.acme.com",
                "--dns-resolvers=192.0.2.1,[2001:db8::1]:5353",
            ),
            "i",
        )
        assert asked.proof == Rules(required=True, exempt=("*.apps.example.com", "{namespace}.acme.com"))
        assert asked.resolvers == (("192.0.2.1", 53), ("2001:db8::1", 5353))

    @pytest.mark.parametrize(("arguments", "sweep"), [((), True), (("--no-sweep",), False)])
    def test_a_flag_turns_them_off(self, arguments, sweep):
        assert options.policy(given(*arguments), "i").sweep is sweep


def test_shards_are_a_flag_of_the_election():
    assert options.settings(given("--shards=3")).election.shards == 3
    assert options.settings(given()).election.shards == 1


def test_the_wait_for_a_share_is_a_flag_of_the_election():
    assert options.settings(given("--rebalance-after=20")).election.rebalance == 20
    assert options.settings(given()).election.rebalance == 300


def unconnected(folder):
    """A client of an API server that does not exist."""
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "c"}}
    users = {"users": [{"name": "c", "user": {}}], "current-context": "c"}
    (folder / "config").write_text(json.dumps({"clusters": [cluster], "contexts": [context], **users}))
    return connect(str(folder / "config"), "provider-edgetenants")


def test_flags_reach_the_proofs_of_domains(monkeypatch, tmp_path):
    found = []
    monkeypatch.setattr(main, "DomainProofs", lambda *args: found.append(args) or DomainProofs(*args))
    arguments = given("--deep-check-interval=3600", "--require-domain-proof", "--metrics-port=0")
    settings, policy = options.settings(arguments), options.policy(arguments, "i")
    main.wire(unconnected(tmp_path), FakeClock(), settings, policy)
    [(_, _, *asked)] = found
    assert asked == [Rules(required=True), 3600.0]


@pytest.mark.parametrize("shards", [1, 2])
def test_with_shards_the_account_decides_what_this_process_works_on(monkeypatch, tmp_path, shards):
    given_to = {}
    made = main.Accounts

    def accounts(*_, mine, **__):
        given_to["mine"] = mine
        return made(FakeClock())

    monkeypatch.setattr(main, "Accounts", accounts)
    settings = options.settings(given(f"--shards={shards}", "--metrics-port=0"))
    manager = main.wire(unconnected(tmp_path), FakeClock(), settings, options.policy(given(), "i"))
    assert given_to["mine"] == (None if shards == 1 else manager.mine)
    assert manager.mine("123456789012") == (shards == 1), "it holds no shard yet"


def test_with_shards_records_are_read_again_before_a_shard_is_worked_on():
    params, manager, api = given("--namespace=edge"), Repeating(), FakeObjects(Journal())
    settings, policy = options.settings(params), options.policy(params, "i")
    wired = [api, FakeClock(), settings, policy, tuple]
    ours = main.keep_domains(manager, *wired, mine=lambda _: True)
    theirs = main.keep_domains(Repeating(), *wired)
    for kept in (ours, theirs):
        kept.load()
    theirs.hold(["acme.example.com"], "shop")
    assert ours.holder("acme.example.com") is None
    manager.prepare()
    assert ours.holder("acme.example.com") == "shop"
