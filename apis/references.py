"""The objects to which fields of our kinds can refer, and the values that the provider takes from them.

Kinds of other providers are those of provider-upjet-aws (package/crds); for Crossplane v2 their groups
contain `.m`. A distribution's external name is its id; certificates and web ACLs have their ARN in status.
"""

from typing import Final

from edgetenants_runtime.api.model import Scope
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget

UPJET: Final = "provider-upjet-aws"
ROLE: Final = "edgetenants-references"
"""Name of the optional ClusterRole that allows the provider to read kinds of other providers."""

_HINT: Final = f"the ClusterRole {ROLE} in docs/how-to/reference-other-providers.md has it"


def tenant_references(scope: Scope, group: str, version: str) -> tuple[ReferenceField, ...]:
    """The references of a DistributionTenant in that scope; group and version are its own."""
    connection_group = ReferenceTarget(
        group=group,
        versions=(version,),
        kind="ConnectionGroup",
        plural="connectiongroups",
        namespaced=scope is Scope.NAMESPACED,
        value="status.atProvider.id",
    )
    arn = "status.atProvider.arn"
    return (
        ReferenceField("distributionId", _upjet(scope, "cloudfront", "Distribution", "distributions")),
        # The author of a claim chooses its connection group, and the plan's changes must not wait for it.
        ReferenceField("connectionGroupId", connection_group, follows_later=True),
        ReferenceField("customizations.webAcl.arn", _upjet(scope, "wafv2", "WebACL", "webacls", arn)),
        ReferenceField(
            "customizations.certificate.arn", _upjet(scope, "acm", "Certificate", "certificates", arn)
        ),
    )


def _upjet(scope: Scope, service: str, kind: str, plural: str, value: str = "") -> ReferenceTarget:
    namespaced = scope is Scope.NAMESPACED
    return ReferenceTarget(
        group=f"{service}.aws.m.upbound.io" if namespaced else f"{service}.aws.upbound.io",
        versions=("v1beta1", "v1beta2"),
        kind=kind,
        plural=plural,
        namespaced=namespaced,
        value=value,
        provider=UPJET,
        hint=_HINT,
    )
