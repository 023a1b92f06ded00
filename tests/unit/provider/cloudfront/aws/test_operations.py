"""The operations are declared as botocore's model has them."""

from __future__ import annotations

import botocore.session
import pytest

from provider.cloudfront.aws.operations import OPERATIONS, creates, writes


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=str)
def test_every_operation_is_in_the_model(operation):
    model = botocore.session.get_session().get_service_model(operation.service)
    assert operation.name in model.operation_names
    if operation.writes:
        assert model.operation_model(operation.name).http["method"] != "GET"


def test_what_nobody_declared_is_taken_to_write():
    assert writes("DeleteEverything")
    assert writes("TagResource")
    assert not writes("GetDistributionTenant")


def test_what_creates_is_told_by_its_name():
    made = {name for name in OPERATIONS if creates(name)}
    assert made == {"CreateDistributionTenant", "CreateConnectionGroup"}
