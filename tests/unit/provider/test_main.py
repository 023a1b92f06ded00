"""The process: flags, start-up failures, the installation id."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from edgetenants_runtime.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from provider import installation, main

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
    settings = main.read_settings(context.params)
    assert settings.hold_deletions is bool(arguments)
    assert settings.confirm_annotation == "edgetenants.io/confirm"


def test_both_trees_are_wired_with_their_kinds():
    legacy = main.managed_kind(main.TREES[1].tenant)
    assert (legacy.resource, legacy.namespaced) == ("distributiontenants.cloudfront.edgetenants.io", False)
    modern = main.managed_kind(main.TREES[0].tenant)
    assert (modern.resource, modern.namespaced) == ("distributiontenants.cloudfront.m.edgetenants.io", True)
    assert modern.deterministic_name
