"""Pages of a list, and what happens to them when the list changes underneath."""


def create(aws, *names):
    for name in names:
        aws.tenant(name)


def page(aws, marker=None, size=2):
    marked = {"Marker": marker} if marker else {}
    answer = aws.cloudfront.list_distribution_tenants(MaxItems=size, **marked)
    return [row["Name"] for row in answer["DistributionTenantList"]], answer.get("NextMarker")


def test_in_order_of_creation(aws):
    create(aws, "one", "two", "three", "four", "five")
    pages = aws.cloudfront.get_paginator("list_distribution_tenants").paginate(
        PaginationConfig={"PageSize": 2}
    )
    found = [[row["Name"] for row in p["DistributionTenantList"]] for p in pages]
    assert found == [["one", "two"], ["three", "four"], ["five"]]


def test_a_full_last_page_has_no_marker(aws):
    create(aws, "one", "two")
    assert page(aws) == (["one", "two"], None)


def test_a_page_that_is_filtered_may_be_empty_and_not_the_last(aws, admin):
    create(aws, "one", "two")
    group = aws.group()["ConnectionGroup"]["Id"]
    aws.tenant("three", ConnectionGroupId=group)
    admin.settings(list_filters_each_page=True, page_size_default=2)
    of_group = {"AssociationFilter": {"ConnectionGroupId": group}}
    first = aws.cloudfront.list_distribution_tenants(**of_group)
    assert first["DistributionTenantList"] == []
    second = aws.cloudfront.list_distribution_tenants(**of_group, Marker=first["NextMarker"])
    assert [row["Name"] for row in second["DistributionTenantList"]] == ["three"]
    assert "NextMarker" not in second


def test_an_empty_list(aws):
    assert page(aws) == ([], None)


def test_what_changes_in_between_neither_skips_nor_repeats_another(aws, admin):
    create(aws, "one", "two", "three", "four")
    _, marker = page(aws)
    admin("DELETE", "distribution-tenants/two")
    create(aws, "five")
    assert page(aws, marker, size=100) == (["three", "four", "five"], None)


def test_the_default_page_and_the_largest(aws, admin):
    create(aws, "one", "two", "three")
    admin.settings(page_size_default=1, page_size_max=2)
    assert len(aws.cloudfront.list_distribution_tenants()["DistributionTenantList"]) == 1
    assert page(aws, size=50)[0] == ["one", "two"]


def test_a_page_size_in_a_body_that_is_no_number(bare):
    """botocore would not send it."""
    root, namespace = "ListDistributionTenantsRequest", "http://cloudfront.amazonaws.com/doc/2020-05-31/"
    body = f'<{root} xmlns="{namespace}"><MaxItems>many</MaxItems></{root}>'
    assert bare("POST", "distribution-tenants", body) == (400, "MalformedXML")


def test_connection_groups(aws):
    for name in ("one", "two"):
        aws.group(name)
    pages = aws.cloudfront.get_paginator("list_connection_groups").paginate(PaginationConfig={"PageSize": 1})
    assert [len(p["ConnectionGroups"]) for p in pages] == [1, 1, 1]


def test_distributions(aws):
    aws.distribution("second")
    pages = aws.cloudfront.get_paginator("list_distributions_by_connection_mode").paginate(
        ConnectionMode="tenant-only", PaginationConfig={"PageSize": 1}
    )
    lists = [p["DistributionList"] for p in pages]
    assert [(p["Quantity"], p["IsTruncated"]) for p in lists] == [(1, True), (1, False)]
