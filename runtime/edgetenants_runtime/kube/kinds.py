"""The Kubernetes kinds that the runtime uses."""

from edgetenants_runtime.managed import ResourceKind

__all__ = ["CONFIG_MAPS", "CRDS", "EVENTS", "LEASES", "SECRETS"]

SECRETS = ResourceKind("", "v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS = ResourceKind("", "v1", "ConfigMap", "configmaps", namespaced=True)
EVENTS = ResourceKind("", "v1", "Event", "events", namespaced=True)
LEASES = ResourceKind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
CRDS = ResourceKind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
