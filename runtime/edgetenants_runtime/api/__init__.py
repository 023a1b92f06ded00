"""The API types that all Crossplane providers share. Needs pydantic only, no Kubernetes client."""

from .conditions import (
    Condition,
    Conditions,
    ConditionStatus,
    ConditionType,
    ReadyReason,
    SyncedReason,
)
from .managed import (
    ClusterManagedSpec,
    DeletionPolicy,
    ManagedSpec,
    ManagedStatus,
    ManagementPolicy,
    NamespacedManagedSpec,
)
from .model import NOT_TEXT, ApiModel, Bool, Kube, Rule, Scope
from .providerconfig import Credentials, CredentialsSource, ProviderConfigStatus, ProviderConfigUsage
from .references import (
    ProviderConfigKind,
    ProviderConfigReference,
    Reference,
    ReferenceField,
    ReferenceTarget,
    SecretKeySelector,
    SecretReference,
    Selector,
)

__all__ = [
    "NOT_TEXT",
    "ApiModel",
    "Bool",
    "ClusterManagedSpec",
    "Condition",
    "ConditionStatus",
    "ConditionType",
    "Conditions",
    "Credentials",
    "CredentialsSource",
    "DeletionPolicy",
    "Kube",
    "ManagedSpec",
    "ManagedStatus",
    "ManagementPolicy",
    "NamespacedManagedSpec",
    "ProviderConfigKind",
    "ProviderConfigReference",
    "ProviderConfigStatus",
    "ProviderConfigUsage",
    "ReadyReason",
    "Reference",
    "ReferenceField",
    "ReferenceTarget",
    "Rule",
    "Scope",
    "SecretKeySelector",
    "SecretReference",
    "Selector",
    "SyncedReason",
]
