"""Deletions for which AWS gives wrong answers: one "not found" for something that exists, and deletions that
it accepts without effect."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from edgetenants_runtime.reconcile.steps import Next
from tests.contract.emulated import DISTRIBUTION, Emulated
from tests.contract.test_strange_answers import Changed
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import managed

HALF_AN_HOUR = 1800.0
POLL_SECONDS = 60.0
FROM_AWS = {"x-amzn-requestid": "r-1"}
FORMS = {
    "DistributionTenant": lambda: managed({"distributionId": DISTRIBUTION, "domains": ["acme.example.com"]}),
    "ConnectionGroup": manifest,
}


class Timed(Changed):
    """A managed resource that is reconciled when the provider wants it."""

    def after(self, seconds: float) -> float:
        """Reconcile after these seconds; return the seconds until the next reconcile."""
        self.time += timedelta(seconds=seconds)
        self.aws.clock.advance(seconds)
        self.aws.admin("POST", "clock", {"step": seconds})
        outcome = self.reconcile()
        return outcome.seconds if outcome.next is Next.AFTER else POLL_SECONDS

    def without_status(self) -> None:
        stored = self.stored
        stored["status"] = {}
        self.objects.put(self.kind, stored)
        self.objects.touch(self.kind, self.key)

    def pauses(self, seconds: float) -> list[float]:
        """Reconcile for that long; return the pauses."""
        pauses = [1.0]
        while self.mr is not None and sum(pauses) < seconds:
            pauses.append(self.after(pauses[-1]))
        return pauses[1:]

    def calls(self) -> Counter[str]:
        return Counter(self.sent)


@pytest.fixture(params=FORMS)
def made(request, aws: Emulated) -> Timed:
    world = Timed(FORMS[request.param](), aws)
    world.records()
    return world


def there(made: Timed) -> list[Any]:
    return made.aws.tenants if made.stored["kind"] == "DistributionTenant" else made.aws.groups


@pytest.mark.parametrize("restarts", [False, True])
def test_without_status_one_not_found_ends_no_deletion(made, restarts):
    operation = f"Get{made.stored['kind']}"
    if restarts:
        made.connector._accounts = type(made.connector._accounts)(made.aws.clock)
        made.restart()
    made.without_status()
    made.delete()
    made.aws.fault(operation, code="EntityNotFound", status=404)
    made.after(1)
    assert made.mr is not None
    assert len(there(made)) == 1
    assert made.told("Ready")[1] != "Deleting", "nothing is deleted yet"
    made.pauses(HALF_AN_HOUR)
    assert made.mr is None
    assert made.aws.tenants + made.aws.groups == []


def test_what_exists_already_is_not_released_either(made):
    """Its external resource had the owner tag before the managed resource existed: nothing created it."""
    stored = made.stored
    for name in [name for name in stored["metadata"]["annotations"] if "creat" in name]:
        del stored["metadata"]["annotations"][name]
    made.objects.put(made.kind, stored)
    test_without_status_one_not_found_ends_no_deletion(made, restarts=True)


@pytest.mark.parametrize("kind", FORMS)
def test_what_aws_refused_to_create_goes_at_once(aws, kind):
    aws.fault(f"Create{kind}", code="AccessDenied", status=403, every=True)
    refused = Timed(FORMS[kind](), aws)
    refused.delete()
    refused.after(1)
    assert refused.mr is None


def test_a_deletion_without_effect_is_repeated_less_and_less_often(made):
    operation = f"Delete{made.stored['kind']}"
    made._on("before-send", operation, lambda **_: AWSResponse(made.aws.url, 204, FROM_AWS, _Empty()))
    made.delete()
    pauses = made.pauses(HALF_AN_HOUR)
    assert made.mr is not None
    assert made.calls().total() < 200, made.calls()
    assert pauses[-1] == 60.0
    grows = pauses.index(2.0) - 1
    assert pauses[grows : grows + 6] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


def test_a_deletion_of_something_unknown_that_is_shown_is_repeated_less_and_less_often(made):
    made.aws.fault(f"Delete{made.stored['kind']}", code="EntityNotFound", status=404, every=True)
    made.delete()
    made.pauses(HALF_AN_HOUR)
    assert made.calls().total() < 200, made.calls()


def test_a_refused_deletion_is_repeated_less_and_less_often(made):
    made.aws.fault(f"Delete{made.stored['kind']}", code="ResourceNotDisabled", status=409, every=True)
    made.delete()
    pauses = made.pauses(HALF_AN_HOUR)
    assert made.calls().total() < 400, made.calls()
    assert pauses[-1] == 60.0


def test_a_roll_out_without_end_is_polled_less_and_less_often(made):
    """For a deletion, and before that for the resource itself."""
    made._on("before-parse", f"Get{made.stored['kind']}", _unknown_status)
    made.aws.fault(f"Delete{made.stored['kind']}", code="ResourceNotDisabled", status=409, every=True)
    pauses = made.pauses(HALF_AN_HOUR)
    assert pauses[:30] == [5.0] * 30
    assert pauses[-2] > 30.0
    assert made.calls().total() < 250, made.calls()
    made.sent.clear()
    made.delete()
    made.pauses(HALF_AN_HOUR)
    assert made.calls().total() < 400, made.calls()


def test_a_normal_deletion_is_as_quick_as_ever(made):
    made.delete()
    pauses = made.pauses(HALF_AN_HOUR)
    assert made.mr is None
    assert set(pauses[:-1]) <= {1.0, 5.0, 15.0}


class _Empty:
    def stream(self, **_: Any) -> Any:
        yield b""


def _unknown_status(response_dict: dict[str, Any], **_: Any) -> None:
    body = response_dict["body"]
    for known in (b"Deployed", b"InProgress"):
        body = body.replace(b"<Status>%s</Status>" % known, b"<Status>Paused</Status>")
    response_dict["body"] = body
