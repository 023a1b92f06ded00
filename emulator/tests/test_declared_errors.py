"""No declared error is forgotten: each one of botocore's model is provoked here, or stands with the reason
why only a fault can bring it; and what a fault brings is the exception that botocore has for it.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from edgetenants_emulator.cloudfront import HANDLERS
from edgetenants_emulator.operations import service_model

FIRST_VERSION, SECOND_VERSION = "E23ZP02F085DFQ", "ETVPDKIKX0DER"
FOREIGN = "arn:aws:cloudfront::210987654321"
# They take a whole configuration, and most of their errors are about members that are kept as given.
OF_CONFIGURATIONS = {"CreateDistribution", "CreateDistributionWithTags", "UpdateDistribution"}


def declared(operation: str) -> dict[str, int]:
    """Error name to HTTP status, as the model has them."""
    shapes = service_model("cloudfront").operation_model(operation).error_shapes
    return {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in shapes}


@dataclass
class Scene:
    """An account with a tenant `first` in the group `edge`."""

    aws: Any
    admin: Any

    def __post_init__(self) -> None:
        self.group = self.aws.group()
        group_id = self.group["ConnectionGroup"]["Id"]
        self.tenant = self.aws.tenant("first", ConnectionGroupId=group_id)

    def new_tenant(self, **members: Any) -> dict[str, Any]:
        domains = [{"Domain": "second.example.com"}]
        return {"DistributionId": self.aws.parent, "Name": "second", "Domains": domains, **members}

    def of_tenant(self, **members: Any) -> dict[str, Any]:
        return {"Id": self.tenant["DistributionTenant"]["Id"], "IfMatch": FIRST_VERSION, **members}

    def of_group(self, **members: Any) -> dict[str, Any]:
        return {"Id": self.group["ConnectionGroup"]["Id"], "IfMatch": FIRST_VERSION, **members}

    def of_parent(self, **members: Any) -> dict[str, Any]:
        return {"Id": self.aws.parent, "IfMatch": FIRST_VERSION, **members}

    def invalidation(self, *paths: str, quantity: int | None = None) -> dict[str, Any]:
        wanted = {"Quantity": len(paths) if quantity is None else quantity, "Items": list(paths)}
        return {"Id": self.of_tenant()["Id"], "InvalidationBatch": {"Paths": wanted, "CallerReference": "r"}}

    def of_domain(self, member: str, **resource: str) -> dict[str, Any]:
        """About the domain that `first` has."""
        return {"Domain": "first.example.com", member: resource}

    def of_tags(self, **members: Any) -> dict[str, Any]:
        return {"Resource": self.tenant["DistributionTenant"]["Arn"], **members}

    def of_another_tenant(self, **members: Any) -> dict[str, Any]:
        """An update of `second`, beside `first`."""
        return {**self.of_tenant(**members), "Id": self.aws.tenant("second")["DistributionTenant"]["Id"]}

    def standard(self) -> str:
        return self.aws.distribution("standard", ConnectionMode="direct", TenantConfig=None)

    def quota(self, **limits: int) -> None:
        self.admin.settings(**limits)


def with_quota(scene: Scene, params: dict[str, Any], **limits: int) -> dict[str, Any]:
    scene.quota(**limits)
    return params


def disabled_group_with_tenant(scene: Scene) -> dict[str, Any]:
    scene.admin.settings(group_disable_needs_no_tenants=False)
    scene.aws.cloudfront.update_connection_group(**scene.of_group(Enabled=False))
    return scene.of_group(IfMatch=SECOND_VERSION)


def parent_without_tenants(scene: Scene) -> dict[str, Any]:
    return {"Id": scene.aws.distribution("second"), "IfMatch": FIRST_VERSION}


WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/w/0"
TAKEN = [{"Domain": "first.example.com"}]
RESERVED = {"Items": [{"Key": "aws:mine", "Value": ""}]}
NO_TAGS, NO_KEYS = {"Tags": {"Items": []}}, {"TagKeys": {"Items": []}}
# Operation to error to the parameters that provoke it.
PROVOKED = {
    "CreateDistributionTenant": {
        "CNAMEAlreadyExists": lambda s: s.new_tenant(Domains=TAKEN),
        "EntityAlreadyExists": lambda s: s.new_tenant(Name="first"),
        "EntityLimitExceeded": lambda s: with_quota(s, s.new_tenant(), tenants_per_account=1),
        "EntityNotFound": lambda s: s.new_tenant(DistributionId="E0UNKNOWN"),
        "InvalidArgument": lambda s: s.new_tenant(Name="a"),
        "InvalidAssociation": lambda s: s.new_tenant(DistributionId=s.standard()),
        "InvalidTagging": lambda s: s.new_tenant(Tags=RESERVED),
    },
    "GetDistributionTenant": {
        "AccessDenied": lambda _: {"Identifier": f"{FOREIGN}:distribution-tenant/dt_0"},
        "EntityNotFound": lambda _: {"Identifier": "nobody"},
    },
    "GetDistributionTenantByDomain": {"EntityNotFound": lambda _: {"Domain": "nobody.example.com"}},
    "UpdateDistributionTenant": {
        "CNAMEAlreadyExists": lambda s: s.of_another_tenant(Domains=TAKEN),
        "EntityLimitExceeded": lambda s: with_quota(
            s, s.of_tenant(Domains=[*TAKEN, {"Domain": "more.example.com"}]), domains_per_tenant=1
        ),
        "EntityNotFound": lambda s: s.of_tenant(Id="dt_0"),
        "InvalidArgument": lambda s: s.of_tenant(Domains=[]),
        "InvalidAssociation": lambda s: s.of_tenant(DistributionId=s.standard()),
        "InvalidIfMatchVersion": lambda s: s.of_tenant(IfMatch=""),
        "PreconditionFailed": lambda s: s.of_tenant(IfMatch=SECOND_VERSION),
    },
    "DeleteDistributionTenant": {
        "EntityNotFound": lambda s: s.of_tenant(Id="dt_0"),
        "InvalidIfMatchVersion": lambda s: s.of_tenant(IfMatch="nonsense"),
        "PreconditionFailed": lambda s: s.of_tenant(IfMatch=SECOND_VERSION),
        "ResourceNotDisabled": lambda s: s.of_tenant(),
    },
    "ListDistributionTenants": {
        "EntityNotFound": lambda _: {"AssociationFilter": {"DistributionId": "E0UNKNOWN"}},
        "InvalidArgument": lambda _: {"MaxItems": 0},
    },
    "ListDistributionTenantsByCustomization": {"InvalidArgument": lambda _: {}},
    "CreateConnectionGroup": {
        "EntityAlreadyExists": lambda _: {"Name": "edge"},
        "EntityLimitExceeded": lambda s: with_quota(s, {"Name": "new"}, groups_per_account=1),
        "EntityNotFound": lambda _: {"Name": "new", "AnycastIpListId": "aip_0"},
        "InvalidArgument": lambda _: {"Name": ""},
        "InvalidTagging": lambda _: {"Name": "new", "Tags": RESERVED},
    },
    "GetConnectionGroup": {
        "AccessDenied": lambda _: {"Identifier": f"{FOREIGN}:connection-group/cg_0"},
        "EntityNotFound": lambda _: {"Identifier": "nobody"},
    },
    "GetConnectionGroupByRoutingEndpoint": {
        "EntityNotFound": lambda _: {"RoutingEndpoint": "d0.cloudfront.net"}
    },
    "UpdateConnectionGroup": {
        "EntityNotFound": lambda s: s.of_group(Id="cg_0"),
        "InvalidIfMatchVersion": lambda s: s.of_group(IfMatch=""),
        "PreconditionFailed": lambda s: s.of_group(IfMatch=SECOND_VERSION),
        "ResourceInUse": lambda s: s.of_group(Enabled=False),
    },
    "DeleteConnectionGroup": {
        "CannotDeleteEntityWhileInUse": disabled_group_with_tenant,
        "EntityNotFound": lambda s: s.of_group(Id="cg_0"),
        "InvalidIfMatchVersion": lambda s: s.of_group(IfMatch="nonsense"),
        "PreconditionFailed": lambda s: s.of_group(IfMatch=SECOND_VERSION),
        "ResourceNotDisabled": lambda s: {
            "Id": s.aws.group("other")["ConnectionGroup"]["Id"],
            "IfMatch": FIRST_VERSION,
        },
    },
    "ListConnectionGroups": {
        "EntityNotFound": lambda _: {"AssociationFilter": {"AnycastIpListId": "aip_0"}},
        "InvalidArgument": lambda _: {"Marker": "nonsense"},
    },
    "AssociateDistributionTenantWebACL": {
        "EntityNotFound": lambda s: s.of_tenant(Id="dt_0", WebACLArn=WEB_ACL),
        "InvalidArgument": lambda s: s.of_tenant(WebACLArn="no ARN"),
        "InvalidIfMatchVersion": lambda s: s.of_tenant(IfMatch="nonsense", WebACLArn=WEB_ACL),
        "PreconditionFailed": lambda s: s.of_tenant(IfMatch=SECOND_VERSION, WebACLArn=WEB_ACL),
    },
    "DisassociateDistributionTenantWebACL": {
        "EntityNotFound": lambda s: s.of_tenant(Id="dt_0"),
        "InvalidArgument": lambda s: s.of_tenant(),
        "InvalidIfMatchVersion": lambda s: s.of_tenant(IfMatch="nonsense"),
        "PreconditionFailed": lambda s: s.of_tenant(IfMatch=SECOND_VERSION),
    },
    "CreateInvalidationForDistributionTenant": {
        "BatchTooLarge": lambda s: with_quota(s, s.invalidation("/a", "/b"), invalidation_paths=1),
        "EntityNotFound": lambda s: {**s.invalidation("/a"), "Id": "dt_0"},
        "InconsistentQuantities": lambda s: s.invalidation("/a", quantity=2),
        "InvalidArgument": lambda s: s.invalidation("no slash"),
        "TooManyInvalidationsInProgress": lambda s: with_quota(
            s, s.invalidation("/*"), invalidation_wildcards=0
        ),
    },
    "GetInvalidationForDistributionTenant": {
        "EntityNotFound": lambda _: {"DistributionTenantId": "dt_0", "Id": "I0"},
        "NoSuchInvalidation": lambda s: {"DistributionTenantId": s.of_tenant()["Id"], "Id": "I0"},
    },
    "ListInvalidationsForDistributionTenant": {
        "EntityNotFound": lambda _: {"Id": "dt_0"},
        "InvalidArgument": lambda s: {"Id": s.of_tenant()["Id"], "MaxItems": 0},
    },
    "GetManagedCertificateDetails": {
        "AccessDenied": lambda _: {"Identifier": f"{FOREIGN}:distribution-tenant/dt_0"},
        "EntityNotFound": lambda _: {"Identifier": "first"},
    },
    "VerifyDnsConfiguration": {
        "AccessDenied": lambda _: {"Identifier": f"{FOREIGN}:distribution-tenant/dt_0"},
        "EntityNotFound": lambda _: {"Identifier": "nobody"},
        "InvalidArgument": lambda _: {"Identifier": "first", "Domain": "other.example.com"},
    },
    "ListDomainConflicts": {
        "EntityNotFound": lambda s: s.of_domain(
            "DomainControlValidationResource", DistributionTenantId="dt_0"
        ),
        "InvalidArgument": lambda s: s.of_domain("DomainControlValidationResource"),
    },
    "UpdateDomainAssociation": {
        "EntityNotFound": lambda s: s.of_domain("TargetResource", DistributionTenantId="dt_0"),
        "IllegalUpdate": lambda s: s.of_domain("TargetResource", DistributionTenantId=s.of_tenant()["Id"]),
        "InvalidArgument": lambda s: s.of_domain("TargetResource"),
        "InvalidIfMatchVersion": lambda s: {
            **s.of_domain("TargetResource", DistributionTenantId=s.of_tenant()["Id"]),
            "IfMatch": "nonsense",
        },
        "PreconditionFailed": lambda s: {
            **s.of_domain("TargetResource", DistributionTenantId=s.of_tenant()["Id"]),
            "IfMatch": SECOND_VERSION,
        },
    },
    "GetDistribution": {"NoSuchDistribution": lambda _: {"Id": "E0UNKNOWN"}},
    "GetDistributionConfig": {"NoSuchDistribution": lambda _: {"Id": "E0UNKNOWN"}},
    "DeleteDistribution": {
        "DistributionNotDisabled": parent_without_tenants,
        "InvalidIfMatchVersion": lambda s: s.of_parent(IfMatch=""),
        "NoSuchDistribution": lambda s: s.of_parent(Id="E0UNKNOWN"),
        "PreconditionFailed": lambda s: s.of_parent(IfMatch=SECOND_VERSION),
        "ResourceInUse": lambda s: s.of_parent(),
    },
    "ListDistributions": {"InvalidArgument": lambda _: {"MaxItems": "many"}},
    "ListDistributionsByConnectionMode": {"InvalidArgument": lambda _: {"ConnectionMode": "both"}},
    "TagResource": {
        "AccessDenied": lambda _: {"Resource": f"{FOREIGN}:distribution/E0", **NO_TAGS},
        "InvalidArgument": lambda _: {"Resource": "no ARN", **NO_TAGS},
        "InvalidTagging": lambda s: s.of_tags(Tags=RESERVED),
        "NoSuchResource": lambda s: {"Resource": s.of_tags()["Resource"] + "0", **NO_TAGS},
    },
    "UntagResource": {
        "AccessDenied": lambda _: {"Resource": f"{FOREIGN}:distribution/E0", **NO_KEYS},
        "InvalidArgument": lambda _: {"Resource": "no ARN", **NO_KEYS},
        "NoSuchResource": lambda s: {"Resource": s.of_tags()["Resource"] + "0", **NO_KEYS},
    },
    "ListTagsForResource": {
        "AccessDenied": lambda _: {"Resource": f"{FOREIGN}:distribution/E0"},
        "InvalidArgument": lambda _: {"Resource": "no ARN"},
        "NoSuchResource": lambda s: {"Resource": s.of_tags()["Resource"] + "0"},
    },
}
NO_POLICIES = "IAM policies are not evaluated, and the request can name nothing of another account."
ONLY_BY_FAULT = {
    NO_POLICIES: {
        ("CreateDistributionTenant", "AccessDenied"),
        ("GetDistributionTenantByDomain", "AccessDenied"),
        ("UpdateDistributionTenant", "AccessDenied"),
        ("DeleteDistributionTenant", "AccessDenied"),
        ("ListDistributionTenants", "AccessDenied"),
        ("ListDistributionTenantsByCustomization", "AccessDenied"),
        ("CreateConnectionGroup", "AccessDenied"),
        ("GetConnectionGroupByRoutingEndpoint", "AccessDenied"),
        ("UpdateConnectionGroup", "AccessDenied"),
        ("DeleteConnectionGroup", "AccessDenied"),
        ("ListConnectionGroups", "AccessDenied"),
        ("GetDistribution", "AccessDenied"),
        ("GetDistributionConfig", "AccessDenied"),
        ("DeleteDistribution", "AccessDenied"),
        ("ListDistributionsByConnectionMode", "AccessDenied"),
        ("AssociateDistributionTenantWebACL", "AccessDenied"),
        ("DisassociateDistributionTenantWebACL", "AccessDenied"),
        ("CreateInvalidationForDistributionTenant", "AccessDenied"),
        ("GetInvalidationForDistributionTenant", "AccessDenied"),
        ("ListInvalidationsForDistributionTenant", "AccessDenied"),
        ("ListDomainConflicts", "AccessDenied"),
        ("UpdateDomainAssociation", "AccessDenied"),
    },
    "A tenant has one web ACL, and no quota counts them.": {
        ("AssociateDistributionTenantWebACL", "EntityLimitExceeded"),
    },
    "An SDK sends no request without its body; without one the answer is MalformedXML.": {
        ("CreateInvalidationForDistributionTenant", "MissingBody"),
    },
    "A name is given at the create and never changed.": {
        ("UpdateDistributionTenant", "EntityAlreadyExists"),
        ("UpdateConnectionGroup", "EntityAlreadyExists"),
    },
    "An update adds no connection group to those that the quota counts.": {
        ("UpdateConnectionGroup", "EntityLimitExceeded"),
    },
    "Two booleans and the id of a list: a bad boolean is MalformedXML, an unknown id EntityNotFound.": {
        ("UpdateConnectionGroup", "InvalidArgument"),
    },
    "A web ACL or certificate that nobody uses gives an empty list.": {
        ("ListDistributionTenantsByCustomization", "EntityNotFound"),
    },
    "No tag is written: a key that is not there is ignored.": {
        ("UntagResource", "InvalidTagging"),
        ("ListTagsForResource", "InvalidTagging"),
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


def test_none_is_forgotten():
    wanted = {(name, error) for name in HANDLERS.keys() - OF_CONFIGURATIONS for error in declared(name)}
    provoked = {(name, error) for name, errors in PROVOKED.items() for error in errors}
    excused = [pair for pairs in ONLY_BY_FAULT.values() for pair in pairs]
    assert len(excused) == len(set(excused))
    assert provoked.isdisjoint(excused)
    assert provoked | set(excused) == wanted


# The least that botocore lets pass, by shape; what it says never reaches a handler.
CONFIG = {
    "CallerReference": "r",
    "Comment": "",
    "Enabled": True,
    "Origins": {"Quantity": 1, "Items": [{"Id": "o", "DomainName": "o.example.com"}]},
    "DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "https-only"},
}
FILLING: dict[str, Any] = {
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
