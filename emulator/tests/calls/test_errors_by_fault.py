"""What a fault brings is the exception that botocore has for it: each declared error of each operation."""

from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.protocol.operations import service_model

FOREIGN = "arn:aws:cloudfront::210987654321"
NO_TAGS, NO_KEYS = {"Tags": {"Items": []}}, {"TagKeys": {"Items": []}}


def declared(operation: str) -> dict[str, int]:
    """Error name to HTTP status, as the model has them."""
    shapes = service_model("cloudfront").operation_model(operation).error_shapes
    return {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in shapes}


# The least that botocore lets pass, by shape; what it says never reaches a handler.
CONFIG = {
    "CallerReference": "r",
    "Comment": "",
    "Enabled": True,
    "Origins": {"Quantity": 1, "Items": [{"Id": "o", "DomainName": "o.example.com"}]},
    "DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "https-only"},
}
FILLING: dict[str, Any] = {
    "IpCount": 3,
    "Domains": [{"Domain": "a.example.com"}],
    "DistributionConfig": CONFIG,
    "DistributionConfigWithTags": {"DistributionConfig": CONFIG, "Tags": {"Items": []}},
    "Resource": f"{FOREIGN}:distribution/E0",
    "InvalidationBatch": {"Paths": {"Quantity": 0}, "CallerReference": "r"},
    "DomainControlValidationResource": {},
    "TargetResource": {},
    **NO_TAGS,
    **NO_KEYS,
}


@pytest.mark.parametrize("operation", HANDLERS)
def test_brought_by_a_fault(aws, admin, operation):
    required = service_model("cloudfront").operation_model(operation).input_shape.required_members
    params = {name: FILLING.get(name, "anything") for name in required}
    for error, status in declared(operation).items():
        wanted = {"code": error, "message": "as asked"}
        admin("POST", "faults", {"operation": operation, "action": "fail", "error": wanted})
        with pytest.raises(ClientError) as raised:
            getattr(aws.cloudfront, xform_name(operation))(**params)
        assert type(raised.value) is getattr(aws.cloudfront.exceptions, error)
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
        assert raised.value.response["Error"]["Message"] == "as asked"
