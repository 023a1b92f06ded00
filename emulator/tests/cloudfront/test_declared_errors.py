"""No declared error is forgotten: each one of botocore's model is provoked here, or stands with the reason
why only a fault can bring it. Those of distributions and Anycast lists have a file of their own.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from botocore import xform_name

from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.protocol.operations import service_model

FIRST_VERSION, SECOND_VERSION = "E23ZP02F085DFQ", "ETVPDKIKX0DER"
FOREIGN = "arn:aws:cloudfront::210987654321"


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

    def anycast_list(self) -> str:
        return self.aws.cloudfront.create_anycast_ip_list(Name="list", IpCount=3)["AnycastIpList"]["Id"]

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
        "EntityLimitExceeded": lambda s: with_quota(
            s, s.of_group(AnycastIpListId=s.anycast_list()), groups_per_anycast_ip_list=0
        ),
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
    "TagResource": {
        "AccessDenied": lambda _: {"Resource": f"{FOREIGN}:distribution/E0", **NO_TAGS},
        "InvalidArgument": lambda _: {"Resource": "no ARN", **NO_TAGS},
        "InvalidTagging": lambda s: s.of_tags(Tags=RESERVED),
        "NoSuchResource": lambda s: {"Resource": s.of_tags()["Resource"] + "0", **NO_TAGS},
    },
    "UntagResource": {
        "AccessDenied": lambda _: {"Resource": f"{FOREIGN}:distribution/E0", **NO_KEYS},
        "InvalidArgument": lambda _: {"Resource": "no ARN", **NO_KEYS},
        "InvalidTagging": lambda s: s.of_tags(TagKeys={"Items": ["aws:mine"]}),
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
    "An SDK sends no request without its body: test_missing_bodies does.": {
        ("CreateInvalidationForDistributionTenant", "MissingBody"),
    },
    "A name is given at the create and never changed.": {
        ("UpdateDistributionTenant", "EntityAlreadyExists"),
        ("UpdateConnectionGroup", "EntityAlreadyExists"),
    },
    "Two booleans and the id of a list: a bad boolean is MalformedXML, an unknown id EntityNotFound.": {
        ("UpdateConnectionGroup", "InvalidArgument"),
    },
    "A web ACL or certificate that nobody uses gives an empty list.": {
        ("ListDistributionTenantsByCustomization", "EntityNotFound"),
    },
    "It carries no tag.": {
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


def test_missing_bodies(bare):
    for path in ("distribution-tenant/dt_0/invalidation", "distribution/E0/invalidation"):
        assert bare("POST", path) == (400, "MissingBody")


def test_none_is_forgotten(is_of_distributions):
    operations = [name for name in HANDLERS if not is_of_distributions(name)]
    wanted = {(name, error) for name in operations for error in declared(name)}
    provoked = {(name, error) for name, errors in PROVOKED.items() for error in errors}
    excused = [pair for pairs in ONLY_BY_FAULT.values() for pair in pairs]
    assert len(excused) == len(set(excused))
    assert provoked.isdisjoint(excused)
    assert provoked | set(excused) == wanted
