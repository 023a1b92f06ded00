"""Annotations, labels and finalizers that Crossplane defines for managed resources (crossplane-runtime
pkg/meta)."""

from typing import Final

EXTERNAL_NAME: Final = "crossplane.io/external-name"
"""The name of the external resource in the external system. Defaults to metadata.name."""
EXTERNAL_CREATE_PENDING: Final = "crossplane.io/external-create-pending"
"""When a creation was last started (RFC 3339). Written before the call; the write must fail on a conflict."""
EXTERNAL_CREATE_SUCCEEDED: Final = "crossplane.io/external-create-succeeded"
"""When a creation last succeeded (RFC 3339)."""
EXTERNAL_CREATE_FAILED: Final = "crossplane.io/external-create-failed"
"""When a creation last failed (RFC 3339)."""
PAUSED: Final = "crossplane.io/paused"
"""`"true"` pauses all reconciliation, including deletion."""
RECONCILE_REQUESTED_AT: Final = "crossplane.io/reconcile-requested-at"
"""A token. Each new value requests one immediate reconcile."""
POLL_INTERVAL: Final = "crossplane.io/poll-interval"
"""A Go duration (`5m`): the poll interval of this resource."""

FINALIZER: Final = "finalizer.managedresource.crossplane.io"
"""Blocks the deletion of a managed resource until its external resource is deleted or orphaned."""
PROVIDER_CONFIG_FINALIZER: Final = "in-use.crossplane.io"
"""Blocks the deletion of a ProviderConfig while a ProviderConfigUsage names it."""

LABEL_PROVIDER_CONFIG: Final = "crossplane.io/provider-config"
"""On a ProviderConfigUsage: the name of the ProviderConfig."""
LABEL_PROVIDER_CONFIG_KIND: Final = "crossplane.io/provider-config-kind"
"""On a namespaced ProviderConfigUsage: the kind of the ProviderConfig."""
LABEL_CLAIM_NAME: Final = "crossplane.io/claim-name"
"""On a composed resource of a claim: the claim's name."""
LABEL_CLAIM_NAMESPACE: Final = "crossplane.io/claim-namespace"
"""On a composed resource of a claim: the claim's namespace."""
LABEL_COMPOSITE: Final = "crossplane.io/composite"
"""On a composed resource: the name of its composite."""
LABEL_OWNER_UID: Final = "secret.crossplane.io/owner-uid"
"""On a Secret that crossplane-runtime's Kubernetes store wrote: the uid of the managed resource."""
CONNECTION_SECRET_TYPE: Final = "connection.crossplane.io/v1alpha1"  # noqa: S105
"""The type of a Secret with connection details."""
