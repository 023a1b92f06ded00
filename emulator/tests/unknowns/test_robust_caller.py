"""A caller that trusts nothing AWS does not say ends rightly under each reading, and under mixtures of them.

Its life: a group, a tenant with a managed certificate, its DNS, the certificate attached, a domain less,
tags, the disabling, the delete at once and again, the group's delete. Settings are found, not listed: a new
switch is tried as soon as it is there, and a new number must say what to try or why nothing hangs on it.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from edgetenants_emulator.settings import Settings

FIRST, SECOND = "shop.customer.test", "www.customer.test"
REQUEST = {"ValidationTokenHost": "cloudfront"}
BESIDE = ("before", "beside")
"""Tenants of others, so that lists have pages."""
ROUNDS, STEP = 80, 15

# What else must be set for a reading to be met at all.
TOGETHER: dict[str, dict[str, Any]] = {
    "update_in_progress_error": {"update_needs_deployed": True},
    "list_marker_needs_its_item": {"page_size_max": 1},
}
# Numbers that readings hang on, and what is tried of them.
NUMBERS: dict[str, float] = {
    "delete_lag_seconds": 40,
    "dns_propagation_seconds": 100,
    "domain_activation_seconds": 70,
    "domain_lookup_lag_seconds": 100,
    "list_lag_of_deletes_seconds": 100,
    "list_lag_of_updates_seconds": 100,
    "list_lag_seconds": 100,
    "list_marker_repeats": 1,
    "list_marker_skips": 1,
    "page_size_default": 1,
    "page_size_max": 1,
    "tags_lag_seconds": 100,
    "certificate_issue_seconds": 600,
    "deploy_group_seconds": 0,
    "deploy_tenant_seconds": 500,
    "cloudfront_requests_per_second": 0.5,
}
NOT_HERE = "no part of this life"
CLIENT = "bounds what a client sends, not what CloudFront does"
WHY_NOT: dict[str, str] = {
    "answer_seconds": CLIENT,
    "certificate_renewal_days": NOT_HERE,
    "certificate_valid_days": NOT_HERE,
    "certificate_timeout_seconds": "met in the replacing of a request",
    "cloudfront_requests_burst": "only beside cloudfront_requests_per_second",
    "connection_idle_seconds": CLIENT,
    "deploy_distribution_seconds": NOT_HERE,
    "distributions_with_lambda": NOT_HERE,
    "invalidation_paths": NOT_HERE,
    "invalidation_seconds": NOT_HERE,
    "invalidation_wildcards": NOT_HERE,
    "request_bytes": CLIENT,
    "request_seconds": CLIENT,
    "route53_change_seconds": NOT_HERE,
    "route53_insync_seconds": NOT_HERE,
}


def is_quota(name: str) -> bool:
    """The caller stays below it."""
    return "_per_" in name and not name.endswith("_second")


def switches() -> dict[str, tuple[Any, ...]]:
    """Every truth value and every choice, with all its values."""
    given = Settings().as_json()
    flags = {name: (value, not value) for name, value in given.items() if isinstance(value, bool)}
    return {**flags, **Settings.choices()}


def single_settings() -> list[dict[str, Any]]:
    """One reading each that is not the default, with what it needs."""
    others = [{name: value} for name, values in switches().items() for value in values[1:]]
    numbers = [{name: value} for name, value in NUMBERS.items()]
    return [{}, *({**each, **TOGETHER.get(next(iter(each)), {})} for each in [*others, *numbers])]


def mixtures(number: int) -> list[dict[str, Any]]:
    """Readings by chance, the same in every run."""
    chance = random.Random(20251)
    lags = {name: (0, value) for name, value in NUMBERS.items() if "lag" in name or "marker" in name}
    values = {**switches(), **lags}
    return [{name: chance.choice(each) for name, each in values.items()} for _ in range(number)]


def title(settings: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in settings.items()) or "defaults"


@dataclass
class Caller:
    """Knows what it wants, looks, and asks for the difference until there is none."""

    aws: Any
    admin: Any
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cloudfront = self.aws.client("cloudfront", retries=1)

    def call(self, operation: str, *tolerated: str, **params: Any) -> Any:
        """The answer; None for an error that is tolerated. Throttled calls are made again."""
        for _ in range(ROUNDS):
            try:
                return getattr(self.cloudfront, operation)(**params)
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code == "Throttling":
                    self.admin.step(STEP)
                    continue
                if code not in tolerated:
                    raise
                self.refusals.append(code)
                return None
        raise AssertionError(f"{operation} is throttled for ever")

    def until(self, what: str, condition: Any) -> Any:
        """What a condition gives as soon as it gives something, letting virtual time pass."""
        for _ in range(ROUNDS):
            found = condition()
            if found:
                return found
            self.admin.step(STEP)
        raise AssertionError(f"never: {what}")

    # The group

    def group(self) -> dict[str, Any]:
        found = self.call("get_connection_group", "EntityNotFound", Identifier="edge")
        return found or self.call("create_connection_group", Name="edge", Enabled=True)

    def remove_group(self) -> bool:
        found = self.call("get_connection_group", "EntityNotFound", Identifier="edge")
        if found is None:
            return True
        known = {"Id": found["ConnectionGroup"]["Id"], "IfMatch": found["ETag"]}
        if found["ConnectionGroup"]["Enabled"]:
            whole = {**known, "Ipv6Enabled": found["ConnectionGroup"]["Ipv6Enabled"], "Enabled": False}
            refusals = ("ResourceInUse", "PreconditionFailed")
            disabled = self.call("update_connection_group", *refusals, **whole)
            known["IfMatch"] = disabled["ETag"] if disabled else known["IfMatch"]
        refusals = ("ResourceNotDisabled", "PreconditionFailed", "CannotDeleteEntityWhileInUse")
        return self.call("delete_connection_group", *refusals, **known) is not None

    # The tenant

    def get(self) -> tuple[dict[str, Any], str] | None:
        found = self.call("get_distribution_tenant", "EntityNotFound", Identifier="acme")
        return (found["DistributionTenant"], found["ETag"]) if found else None

    def create(self, group_id: str) -> Any:
        """None as long as the DNS is not believed."""
        self.call(
            "create_distribution_tenant",
            "InvalidArgument",
            "EntityAlreadyExists",
            Name="acme",
            DistributionId=self.aws.parent,
            ConnectionGroupId=group_id,
            Domains=[{"Domain": FIRST}, {"Domain": SECOND}],
            Parameters=[{"Name": "tier", "Value": "gold"}],
            Customizations={"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}},
            ManagedCertificateRequest=REQUEST,
            Enabled=True,
        )
        return self.get()

    def certificate(self) -> str | None:
        """The ARN of the issued certificate; a lost request is made again."""
        self.call("verify_dns_configuration", Identifier="acme")
        found = self.call("get_managed_certificate_details", "EntityNotFound", Identifier="acme")
        if found is None:
            self.admin.settings(certificate_request_lost=False)  # the permission is given
            self.update(ManagedCertificateRequest=REQUEST)
            return None
        details = found["ManagedCertificateDetails"]
        return details["CertificateArn"] if details["CertificateStatus"] == "issued" else None

    def converge(self, wanted: dict[str, Any]) -> bool:
        """One round: whether the tenant is as wanted and serves; asks for it where it is not."""
        found, _ = self.get()
        own = {name: found.get(name) for name in ("Customizations", "Parameters", "Enabled")}
        own["Domains"] = [{"Domain": each["Domain"]} for each in found["Domains"]]
        if own != wanted:
            self.update(**wanted)
            return False
        active = all(each["Status"] == "active" for each in found["Domains"])
        return found["Status"] == "Deployed" and active

    def update(self, **members: Any) -> str | None:
        """The new ETag; None where it must be asked for again. Says the whole, as less may be refused."""
        found, etag = self.get()
        kept = ("DistributionId", "ConnectionGroupId", "Parameters", "Enabled")
        domains = [{"Domain": each["Domain"]} for each in found["Domains"]]
        whole = {"Domains": domains, **{name: found[name] for name in kept if name in found}}
        members = {**whole, **members}
        refusals = ("PreconditionFailed", "InvalidIfMatchVersion", "InvalidArgument")
        answer = self.call("update_distribution_tenant", *refusals, Id=found["Id"], IfMatch=etag, **members)
        return answer["ETag"] if answer else None

    def remove(self) -> bool:
        """Disable and delete at once; whether it is gone."""
        found = self.get()
        if found is None:
            return True
        tenant, etag = found
        if tenant["Enabled"]:
            disabled = self.update(Enabled=False)
            if disabled is None:
                return False
            etag = disabled
        refusals = ("ResourceNotDisabled", "PreconditionFailed", "InvalidIfMatchVersion")
        self.call("delete_distribution_tenant", "EntityNotFound", *refusals, Id=tenant["Id"], IfMatch=etag)
        return False

    def sweep(self) -> set[str]:
        """Names in the list; from the start again where a marker is refused."""
        names, marker = set(), {}
        for _ in range(ROUNDS):
            page = self.call("list_distribution_tenants", "InvalidArgument", MaxItems=1, **marker)
            names |= {row["Name"] for row in page["DistributionTenantList"]} if page else set()
            if page and not page.get("NextMarker"):
                return names
            marker = {"Marker": page["NextMarker"]} if page else {}
        raise AssertionError("the list has no end")


def served(caller: Caller) -> dict[str, Any]:
    """The way to a tenant that serves; what is wanted of it then."""
    group = caller.group()["ConnectionGroup"]
    assert caller.create(group["Id"]) is None
    for name in (FIRST, SECOND):
        record = {"name": name, "type": "CNAME", "values": [group["RoutingEndpoint"]]}
        caller.admin("POST", "records", record)
    caller.until("created", lambda: caller.create(group["Id"]))
    arn = caller.until("issued", caller.certificate)
    wanted = {
        "Domains": [{"Domain": FIRST}, {"Domain": SECOND}],
        "Customizations": {
            "Certificate": {"Arn": arn},
            "GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]},
        },
        "Parameters": [{"Name": "tier", "Value": "gold"}],
        "Enabled": True,
    }
    caller.until("served", lambda: caller.converge(wanted))
    return wanted


def changed(caller: Caller, wanted: dict[str, Any]) -> None:
    """A domain less, other countries, tags; and what look-ups and lists say of them in the end."""
    geo = {"GeoRestrictions": {"RestrictionType": "none"}}
    less = {
        **wanted,
        "Domains": [{"Domain": FIRST}],
        "Customizations": {**wanted["Customizations"], **geo},
    }
    caller.until("a domain less", lambda: caller.converge(less))
    arn = caller.get()[0]["Arn"]
    tags = {"Items": [{"Key": "owner", "Value": "me"}]}
    caller.call("tag_resource", Resource=arn, Tags=tags)
    read = lambda: caller.call("list_tags_for_resource", Resource=arn)["Tags"] == tags  # noqa: E731
    caller.until("tagged", read)
    look_up = ("get_distribution_tenant_by_domain", "EntityNotFound")
    caller.until("found by its domain", lambda: caller.call(*look_up, Domain=FIRST))
    if not caller.admin("GET", "settings")["list_marker_skips"]:
        caller.until("listed", lambda: caller.sweep() >= {"acme", *BESIDE})


def removed(caller: Caller) -> None:
    """The races of deletion, of a tenant and of its group."""
    tenant, etag = caller.get()
    params = {"Id": tenant["Id"], "IfMatch": etag}
    assert caller.call("delete_distribution_tenant", "ResourceNotDisabled", **params) is None
    assert not caller.remove_group()
    caller.until("removed", caller.remove)
    caller.until("not listed", lambda: "acme" not in caller.sweep())
    caller.until("the group removed", caller.remove_group)
    groups = caller.call("list_connection_groups")["ConnectionGroups"]
    default = caller.call("get_connection_group", Identifier=next(g["Id"] for g in groups if g["IsDefault"]))
    params = {"Id": default["ConnectionGroup"]["Id"], "IfMatch": default["ETag"]}
    refusals = ("CannotDeleteEntityWhileInUse", "AccessDenied")
    assert caller.call("delete_connection_group", *refusals, **params) is None


def test_the_whole_life(aws, admin, settings):
    for name in BESIDE:
        aws.tenant(name)
    admin.settings(**settings)
    caller = Caller(aws, admin)
    wanted = served(caller)
    changed(caller, wanted)
    removed(caller)
    assert [tenant["Name"] for tenant in admin("GET", "state")["tenants"]] == list(BESIDE)
    assert [group["IsDefault"] for group in admin("GET", "state")["connectionGroups"]] == [True]


def pytest_generate_tests(metafunc):
    if metafunc.function is test_the_whole_life:
        cases = [*single_settings(), *mixtures(12)]
        names = [title(each) if len(each) < 4 else f"mixture-{n}" for n, each in enumerate(cases)]
        metafunc.parametrize("settings", cases, ids=names)


CANCELLING = ("second_certificate_request_error", "acm_delete_cancels_request", "update_checks_dns")


@pytest.mark.parametrize(
    "settings", [{}, *({name: v} for name in CANCELLING for v in switches()[name][1:])], ids=title
)
def test_a_pending_request_is_replaced(aws, admin, settings):
    """Deleted in ACM and asked for again; where that does not end it, its time-out does."""
    admin.settings(**settings)
    caller = Caller(aws, admin)
    aws.tenant(Domains=[{"Domain": FIRST}], ManagedCertificateRequest={"ValidationTokenHost": "self-hosted"})
    details = lambda: caller.call("get_managed_certificate_details", Identifier="acme")  # noqa: E731
    first = details()["ManagedCertificateDetails"]["CertificateArn"]
    aws.client("acm").delete_certificate(CertificateArn=first)
    tenant, etag = caller.get()
    wanted = {"Id": tenant["Id"], "ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}
    codes = switches()["second_certificate_request_error"]
    if caller.call("update_distribution_tenant", *codes, IfMatch=etag, **wanted) is None:
        admin.step(72 * 3600)
        assert details()["ManagedCertificateDetails"]["CertificateStatus"] == "validation-timed-out"
        caller.call("update_distribution_tenant", IfMatch=caller.get()[1], **wanted)
    found = details()["ManagedCertificateDetails"]
    assert (found["CertificateStatus"], found["CertificateArn"] != first) == ("pending-validation", True)


class TestNothingIsForgotten:
    def test_each_switch_is_tried_both_ways(self):
        tried = [set(each.items()) for each in single_settings()]
        for name, values in switches().items():
            assert Settings().as_json()[name] == values[0]
            for value in values[1:]:
                assert any((name, value) in each for each in tried), (name, value)

    def test_each_number_is_tried_or_has_a_reason(self):
        numbers = {name for name in Settings().as_json() if name not in switches() and not is_quota(name)}
        assert numbers == set(NUMBERS) | set(WHY_NOT)
        assert not set(NUMBERS) & set(WHY_NOT)
