"""What a namespaced provider config may not set, as the namespace's own team writes it (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.managed import ProviderConfigKey

__all__ = ["Restrictions"]


@dataclass(frozen=True)
class Restrictions:
    """Fields of spec that a namespaced config may not set. Credentials are always restricted."""

    fields: tuple[str, ...] = ()
    """Always rejected: they reach beyond the namespace."""
    begun_by_credentials: tuple[str, ...] = ()
    """Rejected without credentials from a Secret: they would use the provider's own identity."""

    def check(self, ref: ProviderConfigKey, spec: Mapping[str, Any]) -> None:
        """Raises ExternalError that names the field if a namespaced config sets a restricted field."""
        if not ref.namespace:
            return
        credentials = spec.get("credentials") or {}
        source = credentials.get("source") or CredentialsSource.NONE
        if source not in (CredentialsSource.NONE, CredentialsSource.SECRET):
            raise _refused(ref, "spec.credentials.source", f"{source} uses the provider's own identity")
        namespace = (credentials.get("secretRef") or {}).get("namespace")
        if namespace and namespace != ref.namespace:
            raise _refused(ref, "spec.credentials.secretRef.namespace", "names another namespace")
        for field in self.fields:
            if spec.get(field):
                raise _refused(ref, f"spec.{field}", "reaches beyond the namespace")
        for field in self.begun_by_credentials:
            if spec.get(field) and source != CredentialsSource.SECRET:
                raise _refused(ref, f"spec.{field}", "would use the provider's own identity")


def _refused(ref: ProviderConfigKey, field: str, why: str) -> ExternalError:
    return ExternalError(
        f"{ref}: {field}: {why}, which a namespaced {ref.kind} may not do; "
        "use a cluster-scoped provider config",
        retry=Retry.poll(),
    )
