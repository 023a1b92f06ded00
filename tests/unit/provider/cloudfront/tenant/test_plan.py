"""The plan: pure, and empty once it was done, whatever the spec, the record and AWS say."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from provider.cloudfront.lifecycle.actions import Tag, Untag, Wait
from provider.cloudfront.state import applied, diff
from provider.cloudfront.state.applied import Applied
from provider.cloudfront.state.customizations import Customizations, GeoRestrictions, WebAcl
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant import plan
from provider.cloudfront.tenant.actions import DeleteTenant, SwitchTenant, UpdateTenant

KEYS = some.sampled_from(["a", "b", "c"])
VALUES = some.sampled_from(["1", "2"])
MAPS = some.dictionaries(KEYS, VALUES)
DOMAINS = some.frozensets(some.sampled_from(["a.example.com", "b.example.com", "*.example.com"]), min_size=1)
CUSTOMIZATIONS = some.builds(
    Customizations,
    web_acl=some.none() | some.builds(WebAcl, some.just("override"), some.sampled_from(["arn:1", "arn:2"])),
    certificate_arn=some.none() | some.sampled_from(["arn:c1", "arn:c2"]),
    geo_restrictions=some.none()
    | some.builds(
        GeoRestrictions, some.just("whitelist"), some.frozensets(some.sampled_from(["DE", "FR"]), min_size=1)
    ),
)
ASKED = some.builds(
    Tenant,
    name=some.just("shop.acme"),
    distribution_id=some.none() | some.sampled_from(["E1", "E2"]),
    connection_group_id=some.none() | some.sampled_from(["cg_1", "cg_2"]),
    domains=some.none() | DOMAINS,
    enabled=some.none() | some.booleans(),
    parameters=MAPS,
    customizations=CUSTOMIZATIONS,
    tags=MAPS.map(lambda tags: {**tags, OWNER_TAG: "us"}),
)
SEEN = some.builds(
    ObservedTenant,
    id=some.just("dt_1"),
    arn=some.just("arn:aws:cloudfront::123456789012:distribution-tenant/dt_1"),
    name=some.just("shop.acme"),
    etag=some.just("v1"),
    distribution_id=some.sampled_from(["E1", "E2"]),
    connection_group_id=some.sampled_from(["cg_1", "cg_2"]),
    domains=DOMAINS.map(lambda names: dict.fromkeys(names, "active")),
    enabled=some.booleans(),
    parameters=MAPS,
    customizations=CUSTOMIZATIONS,
    tags=some.none() | MAPS,
)
RECORDS = some.none() | ASKED
IGNORED = some.frozensets(
    some.sampled_from(
        ["domains", "enabled", "parameters.a", "tags", "customizations.webAcl", "customizations"]
    )
)


def record_of(before: Tenant | None) -> Applied:
    return Applied() if before is None else applied.read({"applied": applied.record(before, "v1")})


def done(actions, seen: ObservedTenant) -> ObservedTenant:
    """What AWS has after the actions."""
    for action in actions:
        match action:
            case UpdateTenant(_, tenant, _, emptied):
                keeps_parameters = not tenant.parameters and "Parameters" not in emptied
                keeps_customizations = not tenant.customizations and "Customizations" not in emptied
                seen = replace(
                    seen,
                    distribution_id=tenant.distribution_id,
                    connection_group_id=tenant.connection_group_id,
                    domains=dict.fromkeys(tenant.domains, "active"),
                    enabled=tenant.enabled,
                    parameters=seen.parameters if keeps_parameters else dict(tenant.parameters),
                    customizations=seen.customizations if keeps_customizations else tenant.customizations,
                )
            case Tag(_, tags):
                seen = replace(seen, tags={**seen.tags, **tags})
            case Untag(_, keys):
                seen = replace(seen, tags={k: v for k, v in seen.tags.items() if k not in keys})
    return seen


@given(ASKED, RECORDS, SEEN, IGNORED)
def test_the_plan_after_the_plan_is_empty(asked, before, seen, ignored):
    record = record_of(before)
    first = plan.converge(diff.compare(diff.merge(asked, record, seen, ignored), seen), seen)
    after = done(first, seen)
    for next_record in (record, record_of(asked)):
        again = diff.compare(diff.merge(asked, next_record, after, ignored), after)
        assert plan.converge(again, after) == ()


@given(ASKED, RECORDS, SEEN)
def test_the_plan_is_pure(asked, before, seen):
    record = record_of(before)
    copies = copy.deepcopy((asked, record, seen))
    plans = [plan.converge(diff.compare(diff.merge(asked, record, seen), seen), seen) for _ in range(2)]
    assert plans[0] == plans[1]
    assert (asked, record, seen) == copies


@given(ASKED, RECORDS, SEEN)
def test_nothing_of_somebody_elses_is_taken_away(asked, before, seen):
    record = record_of(before)
    target = diff.merge(asked, record, seen)
    foreign = {k: v for k, v in (seen.tags or {}).items() if k not in record.tag_keys and k not in asked.tags}
    assert foreign.items() <= (target.tags or foreign).items()
    parameters = {
        k: v
        for k, v in seen.parameters.items()
        if k not in record.parameter_keys and k not in asked.parameters
    }
    assert parameters.items() <= target.parameters.items()


@given(ASKED, SEEN)
def test_what_is_asked_is_in_the_plan(asked, seen):
    target = diff.merge(asked, Applied(), seen)
    assert asked.parameters.items() <= target.parameters.items()
    assert target.domains == (asked.domains or frozenset(seen.domains))
    for field in ("web_acl", "certificate_arn", "geo_restrictions"):
        wanted = getattr(asked.customizations, field)
        assert getattr(target.customizations, field) == (wanted or getattr(seen.customizations, field))


@given(ASKED, ASKED)
def test_the_record_knows_what_changed(old, new):
    record = record_of(old)
    changed = {field for field in applied.FIELDS if record.changed(field, new)}
    if (old.domains, old.parameters) == (new.domains, new.parameters):
        assert not changed & {"domains", "parameters"}
    assert ("enabled" in changed) == (old.enabled != new.enabled)
    assert record.tag_keys == frozenset(old.tags) - {OWNER_TAG}, "the provider's own tags are no user's"


SEEN_ONE = ObservedTenant("dt_1", "arn:x", "shop.acme", "v1", "E1", domains={"a.example.com": "active"})


@pytest.mark.parametrize(
    ("seen", "refused", "kinds"),
    [
        (SEEN_ONE, False, (SwitchTenant, DeleteTenant)),
        (SEEN_ONE, True, (SwitchTenant, DeleteTenant)),
        (replace(SEEN_ONE, enabled=False), False, (DeleteTenant,)),
        (replace(SEEN_ONE, enabled=False, status="InProgress"), False, (DeleteTenant,)),
        (replace(SEEN_ONE, enabled=False, status="InProgress"), True, (Wait,)),
        (replace(SEEN_ONE, enabled=False), True, (DeleteTenant,)),
    ],
)
def test_removal(seen, refused, kinds):
    assert tuple(type(action) for action in plan.remove(seen, refused=refused)) == kinds


@pytest.mark.parametrize("text", ["", "1", "2." + ".".join("-" * 9), "1.-"])
def test_a_record_of_another_version_knows_nothing(text):
    record = applied.read({"applied": {"hash": text, "etag": "v1"}})
    assert record.known
    assert record.digests is None
    assert not record.had("enabled")
    assert record.changed("enabled", Tenant("x"))


def test_a_record_fits_its_field():
    full = applied.record(
        Tenant("x", "E1", "cg_1", frozenset({"a"}), True, {"a": "1"}, Customizations(), {"t": "1"}), "v1"
    )
    assert len(full["hash"]) <= 128
