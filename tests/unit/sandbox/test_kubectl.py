"""kubectl with one kubeconfig, by a program that tells how it was called."""

import json

import pytest

from sandbox.errors import WorldError
from sandbox.kubectl import Kubectl, KubernetesObject

ECHO = """#!/usr/bin/env python3
import json, os, sys
told = {"argv": sys.argv[1:], "KUBECONFIG": os.environ.get("KUBECONFIG")}
print(json.dumps(told))
"""


@pytest.fixture
def kubectl(tmp_path):
    def scripted(script):
        binary = tmp_path / "kubectl"
        binary.write_text(script)
        binary.chmod(0o755)
        return Kubectl(binary, tmp_path / "config", tmp_path / "cache")

    return scripted


def test_the_environments_cluster_is_never_used(kubectl, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    called = json.loads(kubectl(ECHO).run("get", "pods"))
    assert called["KUBECONFIG"] is None
    assert called["argv"] == [
        f"--kubeconfig={tmp_path}/config",
        f"--cache-dir={tmp_path}/cache",
        "get",
        "pods",
    ]


def test_a_refusal_has_kubectls_words(kubectl):
    refusing = kubectl("#!/bin/sh\necho 'spec.domains: Required value' >&2\nexit 1\n")
    with pytest.raises(WorldError, match=r"kubectl apply -f x: spec.domains: Required value"):
        refusing.run("apply", "-f", "x")
    assert refusing.run("apply", "-f", "x", check=False) == ""


def test_no_answer_in_time_is_an_error(kubectl):
    with pytest.raises(WorldError, match="no response in 0 s"):
        kubectl("#!/bin/sh\nexec sleep 5\n").run("get", timeout=0.05)


def test_applied_objects_are_told_by_uid(kubectl):
    told = kubectl("#!/bin/sh\nprintf 'v1 Namespace - shop u1\\napps/v1 Deployment shop web u2\\n'\n")
    assert told.apply([{}]) == (
        KubernetesObject("v1", "Namespace", "", "shop", "u1"),
        KubernetesObject("apps/v1", "Deployment", "shop", "web", "u2"),
    )


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (KubernetesObject("v1", "Namespace", "", "shop", "u"), "/api/v1/namespaces/shop"),
        (KubernetesObject("v1", "Secret", "shop", "s", "u"), "/api/v1/namespaces/shop/secrets/s"),
        (KubernetesObject("a.io/v1", "ClusterRole", "", "r:x", "u"), "/apis/a.io/v1/clusterroles/r:x"),
    ],
)
def test_paths(obj, path):
    assert obj.path == path


def test_an_object_is_deleted_by_uid(kubectl, tmp_path):
    recorded = tmp_path / "body"
    kubectl(f"#!/bin/sh\ncat > {recorded}\n").delete(KubernetesObject("v1", "Namespace", "", "shop", "u-7"))
    assert json.loads(recorded.read_text())["preconditions"] == {"uid": "u-7"}


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ('Error from server (NotFound): namespaces "shop" not found', True),
        (
            "Error from server (Conflict): Precondition failed: UID in precondition: u, in object meta: w",
            True,
        ),
        ("Error from server (Forbidden): no", False),
    ],
)
def test_what_is_gone_or_a_namesake_is_no_error_but_a_refusal_is(kubectl, words, gone):
    failing = kubectl(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    obj = KubernetesObject("v1", "Namespace", "", "shop", "u")
    if gone:
        assert failing.delete(obj) is False
    else:
        with pytest.raises(WorldError, match="Forbidden"):
            failing.delete(obj)
