"""No declared error of the other operations of distributions, and of Anycast lists, is forgotten: each one of
botocore's model is provoked here, or stands with the reason why only a fault can bring it.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from botocore import xform_name

from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.protocol.operations import service_model

FIRST_VERSION, SECOND_VERSION = "E23ZP02F085DFQ", "ETVPDKIKX0DER"
OF_CONFIGURATIONS = {"CreateDistribution", "CreateDistributionWithTags", "UpdateDistribution"}
RESERVED = {"Items": [{"Key": "aws:mine", "Value": ""}]}
OWN_ADDRESSES = [{"Cidr": "192.0.2.0/24", "IpamPoolArn": "arn:aws:ec2::123456789012:ipam-pool/p"}]


def declared(operation: str) -> dict[str, int]:
    """Error name to HTTP status, as the model has them."""
    shapes = service_model("cloudfront").operation_model(operation).error_shapes
    return {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in shapes}


@dataclass
class Scene:
    """An account with a tenant, and the Anycast list `first`, which is still being deployed."""

    aws: Any
    admin: Any

    def __post_init__(self) -> None:
        self.aws.tenant()
        made = self.aws.cloudfront.create_anycast_ip_list(Name="first", IpCount=3)
        self.anycast_list = made["AnycastIpList"]["Id"]

    def of_parent(self, **members: Any) -> dict[str, Any]:
        return {"Id": self.aws.parent, "IfMatch": FIRST_VERSION, **members}

    def of_list(self, **members: Any) -> dict[str, Any]:
        return {"Id": self.anycast_list, "IfMatch": FIRST_VERSION, **members}

    def parent_without_tenants(self) -> dict[str, Any]:
        return self.of_parent(Id=self.aws.distribution("second"))

    def invalidation(self, *paths: str, quantity: int | None = None, **settings: int) -> dict[str, Any]:
        if settings:
            self.admin.settings(**settings)
        wanted = {"Quantity": len(paths) if quantity is None else quantity, "Items": list(paths)}
        batch = {"Paths": wanted, "CallerReference": "r"}
        return {"DistributionId": self.aws.parent, "InvalidationBatch": batch}

    def list_in_use(self) -> dict[str, Any]:
        self.aws.group(AnycastIpListId=self.anycast_list)
        return self.of_list()

    def list_above(self, quota: int) -> dict[str, Any]:
        self.admin.settings(anycast_ip_lists_per_account=quota)
        return {"Name": "second", "IpCount": 3}


# Operation to error to the parameters that provoke it.
PROVOKED = {
    "GetDistribution": {"NoSuchDistribution": lambda _: {"Id": "E0UNKNOWN"}},
    "GetDistributionConfig": {"NoSuchDistribution": lambda _: {"Id": "E0UNKNOWN"}},
    "DeleteDistribution": {
        "DistributionNotDisabled": Scene.parent_without_tenants,
        "InvalidIfMatchVersion": lambda s: s.of_parent(IfMatch=""),
        "NoSuchDistribution": lambda s: s.of_parent(Id="E0UNKNOWN"),
        "PreconditionFailed": lambda s: s.of_parent(IfMatch=SECOND_VERSION),
        "ResourceInUse": lambda s: s.of_parent(),
    },
    "ListDistributions": {"InvalidArgument": lambda _: {"MaxItems": "many"}},
    "ListDistributionsByConnectionMode": {"InvalidArgument": lambda _: {"ConnectionMode": "both"}},
    "ListDistributionsByAnycastIpListId": {
        "EntityNotFound": lambda _: {"AnycastIpListId": "aip_0"},
        "InvalidArgument": lambda s: {"AnycastIpListId": s.anycast_list, "MaxItems": "0"},
    },
    "CreateInvalidation": {
        "BatchTooLarge": lambda s: s.invalidation("/a", "/b", invalidation_paths=1),
        "InconsistentQuantities": lambda s: s.invalidation("/a", quantity=2),
        "InvalidArgument": lambda s: s.invalidation("no slash"),
        "NoSuchDistribution": lambda s: {**s.invalidation("/a"), "DistributionId": "E0UNKNOWN"},
        "TooManyInvalidationsInProgress": lambda s: s.invalidation("/*", invalidation_wildcards=0),
    },
    "GetInvalidation": {
        "NoSuchDistribution": lambda _: {"DistributionId": "E0UNKNOWN", "Id": "I0"},
        "NoSuchInvalidation": lambda s: {"DistributionId": s.aws.parent, "Id": "I0"},
    },
    "ListInvalidations": {
        "InvalidArgument": lambda s: {"DistributionId": s.aws.parent, "MaxItems": "0"},
        "NoSuchDistribution": lambda _: {"DistributionId": "E0UNKNOWN"},
    },
    "CreateAnycastIpList": {
        "EntityAlreadyExists": lambda _: {"Name": "first", "IpCount": 3},
        "EntityLimitExceeded": lambda s: s.list_above(1),
        "InvalidArgument": lambda _: {"Name": "second", "IpCount": 4},
        "InvalidTagging": lambda _: {"Name": "second", "IpCount": 3, "Tags": RESERVED},
        "UnsupportedOperation": lambda _: {"Name": "second", "IpCount": 3, "IpamCidrConfigs": OWN_ADDRESSES},
    },
    "GetAnycastIpList": {"EntityNotFound": lambda _: {"Id": "aip_0"}},
    "UpdateAnycastIpList": {
        "EntityNotFound": lambda s: s.of_list(Id="aip_0"),
        "InvalidArgument": lambda s: s.of_list(IpAddressType="ipv5"),
        "InvalidIfMatchVersion": lambda s: s.of_list(IfMatch=""),
        "PreconditionFailed": lambda s: s.of_list(IfMatch=SECOND_VERSION),
        "UnsupportedOperation": lambda s: s.of_list(IpamCidrConfigs=OWN_ADDRESSES),
    },
    "DeleteAnycastIpList": {
        "CannotDeleteEntityWhileInUse": Scene.list_in_use,
        "EntityNotFound": lambda s: s.of_list(Id="aip_0"),
        "IllegalDelete": lambda s: s.of_list(),
        "InvalidIfMatchVersion": lambda s: s.of_list(IfMatch="nonsense"),
        "PreconditionFailed": lambda s: s.of_list(IfMatch=SECOND_VERSION),
    },
    "ListAnycastIpLists": {"InvalidArgument": lambda _: {"MaxItems": 0}},
}
ONLY_BY_FAULT = {
    "IAM policies are not evaluated, and the request can name nothing of another account.": {
        (name, "AccessDenied") for name in PROVOKED if "AccessDenied" in declared(name)
    },
    "It takes an id, and every text is one.": {
        ("DeleteAnycastIpList", "InvalidArgument"),
        ("GetAnycastIpList", "InvalidArgument"),
    },
    "An SDK sends no request without its body: test_missing_bodies does.": {
        ("CreateInvalidation", "MissingBody")
    },
    "It names no resource.": {("ListAnycastIpLists", "EntityNotFound")},
    "It has no part that the emulator lacks.": {
        ("DeleteAnycastIpList", "UnsupportedOperation"),
        ("GetAnycastIpList", "UnsupportedOperation"),
        ("ListAnycastIpLists", "UnsupportedOperation"),
        ("ListDistributionsByAnycastIpListId", "UnsupportedOperation"),
    },
}


@pytest.mark.parametrize(
    ("operation", "error"), [(name, error) for name, errors in PROVOKED.items() for error in errors]
)
def test_provoked(aws, admin, operation, error):
    params = PROVOKED[operation][error](Scene(aws, admin))
    with pytest.raises(getattr(aws.cloudfront.exceptions, error)) as raised:
        getattr(aws.cloudfront, xform_name(operation))(**params)
    answer = raised.value.response
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == declared(operation)[error]
    assert answer["Error"]["Message"]


def test_none_is_forgotten(is_of_distributions):
    operations = {name for name in HANDLERS if is_of_distributions(name)} - OF_CONFIGURATIONS
    wanted = {(name, error) for name in operations for error in declared(name)}
    provoked = {(name, error) for name, errors in PROVOKED.items() for error in errors}
    excused = [pair for pairs in ONLY_BY_FAULT.values() for pair in pairs]
    assert len(excused) == len(set(excused))
    assert provoked.isdisjoint(excused)
    assert provoked | set(excused) == wanted
