"""ETags: a counter shared by all resources."""

import pytest

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.state import etag

# The beginnings of the first seven ETags of any resource in the AWS CLI's examples.
PUBLISHED = [
    "E23ZP02F085",
    "ETVPDKIKX0",
    "E3UN6WX5RRO2",
    "E1F83G8C2AR",
    "E1PA6795UKM",
    "E13V1IB3VIY",
    "E1VC38T7YXB",
]


def test_the_first_are_awss():
    for version, beginning in enumerate(PUBLISHED, start=1):
        assert etag.token(version).startswith(beginning)


def test_none_comes_twice():
    assert len({etag.token(version) for version in range(1, 2000)}) == 1999


def test_every_one_is_valid():
    for version in range(1, 200):
        etag.check(etag.token(version), version)
        etag.check(f'"{etag.token(version)}"', version)


@pytest.mark.parametrize("if_match", [None, "", "*", "e23zp02f085dfq", "E1", "not a version"])
def test_what_is_no_version(if_match):
    with pytest.raises(AwsError, match="InvalidIfMatchVersion"):
        etag.check(if_match, 1)


def test_a_stale_one():
    with pytest.raises(AwsError, match="PreconditionFailed"):
        etag.check(etag.token(1), 2)


def test_resources_count_alike_and_for_themselves(aws):
    tenant = aws.tenant()
    group = aws.group()
    assert tenant["ETag"] == group["ETag"] == etag.token(1)
    for version in (2, 3):
        tenant = aws.cloudfront.update_distribution_tenant(
            Id=tenant["DistributionTenant"]["Id"], IfMatch=tenant["ETag"], Enabled=version == 3
        )
        assert tenant["ETag"] == etag.token(version)
    assert aws.cloudfront.get_connection_group(Identifier="edge")["ETag"] == etag.token(1)
