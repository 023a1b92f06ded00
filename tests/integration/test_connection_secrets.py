"""Connection Secrets on the real API server: one that is deleted or edited is back at the next poll."""

from typing import Any

from tests.integration.claims import Claims
from tests.integration.test_dry_run import managed, tenant
from tests.integration.watching import is_true

FOR_EVER = "2562048h"
"""Longer than Python can wait."""


def content(claims: Claims, name: str) -> dict[str, str]:
    data: dict[str, str] = claims.get(name, "secret").get("data", {})
    return data


def applied(claims: Claims, name: str, **annotations: str) -> None:
    made: dict[str, Any] = tenant(claims, name, **annotations)
    made["spec"]["writeConnectionSecretToRef"] = {"name": f"{name}-edge"}
    claims.apply(made)
    claims.wait(f"{name} to be ready", lambda: is_true(managed(claims, name), "Ready"))


def test_a_deleted_secret_is_back_and_an_edited_one_put_right(claims: Claims) -> None:
    name = f"conn-{claims.namespace.partition('-')[0]}"
    # One that is polled hardly ever stops no worker.
    applied(claims, f"{name}-rare", **{"crossplane.io/poll-interval": FOR_EVER})
    applied(claims, name)
    secret, kubectl = f"{name}-edge", claims.world.kubectl
    before = claims.wait("the Secret", lambda: content(claims, secret))
    kubectl("delete", "secret", secret, "-n", claims.namespace, "--wait=true")
    assert claims.wait("the Secret to be back", lambda: content(claims, secret)) == before
    key = min(before)
    patch = f'{{"data": {{"{key}": "eA=="}}}}'
    kubectl("patch", "secret", secret, "-n", claims.namespace, "--type=merge", "-p", patch)
    claims.wait("the edit to be undone", lambda: content(claims, secret) == before)
    for each in (name, f"{name}-rare"):
        kubectl("delete", "edt", each, "-n", claims.namespace, "--wait=true")
    claims.wait("the Secret to go", lambda: not claims.get(secret, "secret"))
