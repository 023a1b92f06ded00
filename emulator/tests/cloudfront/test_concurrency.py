"""Uniqueness and versions under callers that race."""

from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import ClientError

CALLERS = 16


def outcomes(function):
    """What became of CALLERS calls at once, sorted: `ok` or the error's code."""

    def attempt(number):
        try:
            function(number)
        except ClientError as error:
            return error.response["Error"]["Code"]
        return "ok"

    with ThreadPoolExecutor(CALLERS) as pool:
        return sorted(pool.map(attempt, range(CALLERS)))


def lost(code):
    return sorted([code] * (CALLERS - 1) + ["ok"])


def test_one_name_goes_to_one(aws):
    found = outcomes(lambda n: aws.tenant("acme", Domains=[{"Domain": f"d{n}.example.com"}]))
    assert found == lost("EntityAlreadyExists")


def test_one_domain_goes_to_one(aws):
    found = outcomes(lambda n: aws.tenant(f"tenant-{n}", Domains=[{"Domain": "acme.example.com"}]))
    assert found == lost("CNAMEAlreadyExists")


def test_one_version_is_updated_once(aws):
    made = aws.tenant()
    params = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"]}
    found = outcomes(lambda n: aws.cloudfront.update_distribution_tenant(**params, Enabled=bool(n % 2)))
    assert found == lost("PreconditionFailed")


def test_all_that_differ_are_made(aws, admin):
    assert outcomes(lambda n: aws.tenant(f"tenant-{n}")) == ["ok"] * CALLERS
    names = {tenant["Name"] for tenant in admin("GET", "state")["tenants"]}
    assert names == {f"tenant-{n}" for n in range(CALLERS)}


def test_the_quota_is_exact(aws, admin):
    admin.settings(tenants_per_account=4)
    assert outcomes(lambda n: aws.tenant(f"tenant-{n}")).count("ok") == 4
