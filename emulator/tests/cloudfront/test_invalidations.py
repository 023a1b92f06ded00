"""Invalidations of tenants and of distributions."""

from unittest.mock import ANY

import pytest

INVALID, NOT_FOUND = ("InvalidArgument", 400), ("EntityNotFound", 404)


@pytest.fixture
def tenant_id(aws):
    return aws.tenant()["DistributionTenant"]["Id"]


def batch(*paths, reference="one", quantity=None):
    number = len(paths) if quantity is None else quantity
    return {"Paths": {"Quantity": number, "Items": list(paths)}, "CallerReference": reference}


def create(aws, tenant_id, *paths, **more):
    return aws.cloudfront.create_invalidation_for_distribution_tenant(
        Id=tenant_id, InvalidationBatch=batch(*paths, **more)
    )


def test_its_life(aws, admin, tenant_id):
    made = create(aws, tenant_id, "/a", "/b/*")
    invalidation = made["Invalidation"]
    assert made["Location"].endswith(f"/distribution-tenant/{tenant_id}/invalidation/{invalidation['Id']}")
    assert invalidation["InvalidationBatch"] == batch("/a", "/b/*")

    def status():
        found = aws.cloudfront.get_invalidation_for_distribution_tenant(
            DistributionTenantId=tenant_id, Id=invalidation["Id"]
        )
        return found["Invalidation"]["Status"]

    assert status() == invalidation["Status"] == "InProgress"
    admin.step(60)
    assert status() == "Completed"
    waiter = aws.cloudfront.get_waiter("invalidation_for_distribution_tenant_completed")
    waiter.wait(DistributionTenantId=tenant_id, Id=invalidation["Id"])


def test_the_same_reference_is_the_same_invalidation(aws, tenant_id):
    first = create(aws, tenant_id, "/a")["Invalidation"]
    assert create(aws, tenant_id, "/a")["Invalidation"] == first
    params = {"Id": tenant_id, "InvalidationBatch": batch("/b")}
    assert aws.refused("create_invalidation_for_distribution_tenant", **params) == INVALID


def test_listed_the_newest_first(aws, tenant_id):
    ids = [create(aws, tenant_id, "/a", reference=str(n))["Invalidation"]["Id"] for n in range(3)]
    pages = aws.cloudfront.get_paginator("list_invalidations_for_distribution_tenant").paginate(
        Id=tenant_id, PaginationConfig={"PageSize": 2}
    )
    lists = [page["InvalidationList"] for page in pages]
    assert [row["Id"] for each in lists for row in each["Items"]] == ids[::-1]
    assert [(each["Quantity"], each["IsTruncated"]) for each in lists] == [(2, True), (1, False)]


REFUSED = {
    "a wrong quantity": (batch("/a", quantity=2), ("InconsistentQuantities", 400)),
    "no path": (batch(), INVALID),
    "a path without slash": (batch("a"), INVALID),
    "too many paths": (batch(*(f"/{n}" for n in range(3001))), ("BatchTooLarge", 413)),
    "too many wildcards": (batch(*["/*"] * 16), ("TooManyInvalidationsInProgress", 400)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_create_refuses(aws, tenant_id, case):
    wanted, expected = REFUSED[case]
    params = {"Id": tenant_id, "InvalidationBatch": wanted}
    assert aws.refused("create_invalidation_for_distribution_tenant", **params) == expected
    found = aws.cloudfront.list_invalidations_for_distribution_tenant(Id=tenant_id)
    assert found["InvalidationList"]["Quantity"] == 0


def test_paths_in_progress_count_together(aws, admin, tenant_id):
    admin.settings(invalidation_paths=2)
    create(aws, tenant_id, "/a", "/b")
    params = {"Id": tenant_id, "InvalidationBatch": batch("/c", reference="two")}
    refused = aws.refused("create_invalidation_for_distribution_tenant", **params)
    assert refused == ("TooManyInvalidationsInProgress", 400)
    admin.step(60)
    create(aws, tenant_id, "/c", reference="two")


def test_unknown_ones(aws, tenant_id):
    get, listed = "get_invalidation_for_distribution_tenant", "list_invalidations_for_distribution_tenant"
    assert aws.refused(get, DistributionTenantId=tenant_id, Id="I0") == ("NoSuchInvalidation", 404)
    assert aws.refused(get, DistributionTenantId="dt_0", Id="I0") == NOT_FOUND
    assert aws.refused(listed, Id="dt_0") == NOT_FOUND
    assert aws.refused(listed, Id=tenant_id, Marker="nonsense") == INVALID
    params = {"Id": "dt_0", "InvalidationBatch": batch("/a")}
    assert aws.refused("create_invalidation_for_distribution_tenant", **params) == NOT_FOUND


def test_those_of_a_distribution(aws, admin, tenant_id):
    named = {"DistributionId": aws.parent}
    create(aws, tenant_id, "/a")
    made = aws.cloudfront.create_invalidation(**named, InvalidationBatch=batch("/a", "/b/*"))
    first = made["Invalidation"]
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert made["Location"].endswith(f"/distribution/{aws.parent}/invalidation/{first['Id']}")
    assert (first["Status"], first["InvalidationBatch"]) == ("InProgress", batch("/a", "/b/*"))
    assert aws.cloudfront.create_invalidation(**named, InvalidationBatch=batch("/a", "/b/*")) == {
        **made,
        "ResponseMetadata": ANY,
    }

    def running():
        return aws.cloudfront.get_distribution(Id=aws.parent)["Distribution"]["InProgressInvalidationBatches"]

    assert running() == 1
    admin.step(60)
    assert running() == 0
    aws.cloudfront.get_waiter("invalidation_completed").wait(
        **named, Id=first["Id"], WaiterConfig={"MaxAttempts": 1}
    )
    second = aws.cloudfront.create_invalidation(**named, InvalidationBatch=batch("/c", reference="two"))
    pages = aws.cloudfront.get_paginator("list_invalidations").paginate(
        **named, PaginationConfig={"PageSize": 1}
    )
    rows = [row for page in pages for row in page["InvalidationList"]["Items"]]
    ids = [second["Invalidation"]["Id"], first["Id"]]
    assert [(row["Id"], row["Status"]) for row in rows] == list(
        zip(ids, ("InProgress", "Completed"), strict=True)
    )
