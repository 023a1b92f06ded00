"""Two provider configs of one account: what one may not read changes nothing for the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provider.cloudfront.aws.errors import AwsError
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, World, managed

WEAK_USER = "arn:aws:iam::123456789012:user/weak"
DENIED = f"User: {WEAK_USER} is not authorized to perform: cloudfront:GetConnectionGroup on resource"


class Account:
    """A tenant of the namespace shop, whose credentials may read everything, and one of the namespace weak,
    whose credentials may not read connection groups. Both name the same group, or none."""

    def __init__(self, group: str | None) -> None:
        asked = {**FOR_PROVIDER, **({"connectionGroupId": group} if group else {})}
        self.shop = World(managed(asked))
        if group:
            self.shop.cloudfront.put_group(group)
        obj = managed(
            {**asked, "domains": ["weak.example.com"]},
            uid="weak-uid",
            annotations={"crossplane.io/external-name": "weak.one"},
        )
        obj["metadata"] |= {"name": "one", "namespace": "weak"}
        cloudfront = FakeCloudFront(groups=self.shop.cloudfront.groups)
        for operation in ("GetConnectionGroup", "ListConnectionGroups"):
            cloudfront.refuse[operation] = AwsError(operation, "AccessDenied", DENIED, status=403)
        self.weak = World(obj, cloudfront, config="ProviderConfig weak/weak")
        self.weak.clock, self.weak.memory = self.shop.clock, self.shop.memory

    @property
    def refused_reads(self) -> int:
        return sum("ConnectionGroup" in call for call in self.weak.cloudfront.journal)


def test_a_disabled_group_is_told_to_who_may_read_it() -> None:
    account = Account("cg_own")
    account.shop.settle()
    assert account.shop.ready() == ("True", "Available")
    groups = account.shop.cloudfront.groups
    groups["cg_own"] = replace(groups["cg_own"], enabled=False)
    for _ in range(5):
        # The weak one is looked at just before the minute is over.
        account.shop.clock.advance(60.0)
        account.weak.reconcile()
        account.shop.reconcile()
    assert account.shop.ready() == ("False", "ConnectionGroupDisabled")


def test_a_refusal_names_the_credentials_to_their_own_namespace_alone() -> None:
    account = Account(None)
    account.weak.settle()
    account.shop.settle()
    assert WEAK_USER in str(account.weak.obj["status"])
    assert WEAK_USER not in str(account.shop.obj["status"])


def test_a_refused_look_at_a_group_is_repeated_once_a_minute() -> None:
    account = Account(None)
    account.weak.settle()
    for _ in range(3):
        before = account.refused_reads
        account.shop.clock.advance(60.0)
        account.weak.reconcile()
        account.weak.reconcile()
        assert account.refused_reads == before + 1


@pytest.mark.parametrize("group", [None, "cg_own"])
def test_who_may_not_read_a_group_has_what_another_read(group: str | None) -> None:
    account = Account(group)
    account.shop.settle()
    account.weak.settle()
    assert WEAK_USER not in str(account.weak.obj["status"])
