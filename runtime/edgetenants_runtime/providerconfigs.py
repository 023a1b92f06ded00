"""Finds the provider config of a managed resource, records its use, loads its credentials."""

from __future__ import annotations

import base64
import binascii
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.configuration import ResolvedConfig
from edgetenants_runtime.connection import controller_reference
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import AlreadyExists, KubeError, NotFound
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.writer import Objects

__all__ = ["ConfigKinds", "CredentialLoader", "ProviderConfigs", "UsageTracker"]


@dataclass(frozen=True)
class ConfigKinds:
    """The configuration kinds of one API tree: namespaced (Crossplane v2) or legacy."""

    configs: tuple[ResourceKind, ...]
    """What `spec.providerConfigRef.kind` may name; in the legacy tree the one cluster-scoped
    ProviderConfig."""
    usage: ResourceKind
    """ProviderConfigUsage, of the same scope as the managed resources."""
    restricted_fields: tuple[str, ...] = ()
    """Fields of spec that a namespaced config may not set, because they reach beyond its namespace."""


class ProviderConfigs:
    """The provider configs of one API tree, from informers' caches; a `ConfigResolver`."""

    def __init__(
        self,
        client: KubeClient,
        kinds: ConfigKinds,
        rng: random.Random,
        *,
        allow_namespaced_identity: bool = False,
        served: Callable[[ResourceKind], bool] = lambda _: True,
    ) -> None:
        """`allow_namespaced_identity` lifts the restrictions on namespaced configs; `served` says whether a
        kind is worth asking for."""
        self._kinds = kinds
        self._restricted = not allow_namespaced_identity

        def informer(kind: ResourceKind) -> Informer:
            return Informer(client, kind, rng, gate=lambda: served(kind))

        self._configs = {kind.kind: informer(kind) for kind in kinds.configs}
        self._usages = informer(kinds.usage)
        self._tracker = UsageTracker(client, self._usages)
        self._loader = CredentialLoader(client)

    @property
    def informers(self) -> tuple[Informer, ...]:
        """To be started and stopped by whoever runs them."""
        return (*self._configs.values(), self._usages)

    @property
    def settled(self) -> bool:
        """Every informer has listed once, said why it cannot, or waits for its kind to be served."""
        return all(i.synced or i.problem or not i.served for i in self.informers)

    def on_change(self, handler: Callable[[ProviderConfigKey], None]) -> None:
        """Tell of configs that appear, change or go; before the informers start."""
        for informer in self._configs.values():
            informer.add_handler(_spec_changes(informer.kind, handler))

    def resolve(self, mr: Managed) -> ResolvedConfig:
        """See `ConfigResolver.resolve`. Raises KubeError too."""
        ref = mr.provider_config_ref
        config = self._find(ref)
        spec: Mapping[str, Any] = config.get("spec") or {}
        if ref.namespace and self._restricted:
            _refuse_reaching_out(ref, spec, self._kinds.restricted_fields)
        if not mr.deleted:
            # A resource that goes needs no new usage: the collector has just removed it, and would wait for
            # it.
            self._tracker.track(mr, ref)
        source = (spec.get("credentials") or {}).get("source") or CredentialsSource.NONE
        return ResolvedConfig(
            key=ref,
            spec=spec,
            uid=config["metadata"].get("uid") or "",
            generation=int(config["metadata"].get("generation") or 0),
            source=str(source),
            credentials=self._loader.load(ref, spec.get("credentials") or {}),
        )

    def _find(self, ref: ProviderConfigKey) -> Mapping[str, Any]:
        informer = self._configs.get(ref.kind)
        if informer is None:
            known = ", ".join(sorted(self._configs))
            raise ExternalError(
                f"spec.providerConfigRef.kind: {ref.kind} is none of {known}", retry=Retry.poll()
            )
        config = informer.cache.get(ObjectKey(ref.namespace, ref.name))
        if config is not None:
            return config
        if not informer.synced and not informer.problem:
            raise NotYet(f"{informer.kind.resource} have not been read yet", after=1.0)
        if informer.problem:
            raise ExternalError(f"spec.providerConfigRef: {ref} cannot be read: {informer.problem}")
        # No back-off: the config's appearance requeues whoever names it.
        raise ExternalError(
            f"spec.providerConfigRef: {ref} does not exist; create it or name another one",
            retry=Retry.poll(),
        )


def _spec_changes(
    kind: ResourceKind, handler: Callable[[ProviderConfigKey], None]
) -> Callable[[ObjectChange], None]:
    def handle(change: ObjectChange) -> None:
        if change.old is None or change.new is None or _generation(change.old) != _generation(change.new):
            handler(ProviderConfigKey(kind.kind, change.key.name, change.key.namespace))

    return handle


def _generation(obj: Mapping[str, Any]) -> tuple[Any, Any]:
    return obj["metadata"].get("uid"), obj["metadata"].get("generation")


def _refuse_reaching_out(
    ref: ProviderConfigKey, spec: Mapping[str, Any], restricted: tuple[str, ...]
) -> None:
    credentials = spec.get("credentials") or {}
    source = credentials.get("source") or CredentialsSource.NONE
    if source not in (CredentialsSource.NONE, CredentialsSource.SECRET):
        raise _not_for_namespaced(ref, "spec.credentials.source", f"{source} is the provider's own identity")
    namespace = (credentials.get("secretRef") or {}).get("namespace")
    if namespace and namespace != ref.namespace:
        raise _not_for_namespaced(ref, "spec.credentials.secretRef.namespace", "is another namespace")
    for field in restricted:
        if spec.get(field):
            raise _not_for_namespaced(ref, f"spec.{field}", "reaches beyond the namespace")


def _not_for_namespaced(ref: ProviderConfigKey, field: str, why: str) -> ExternalError:
    return ExternalError(
        f"{ref}: {field}: {why}, which a namespaced {ref.kind} may not use; "
        "a cluster-scoped provider config may",
        retry=Retry.poll(),
    )


class UsageTracker:
    """Records by a ProviderConfigUsage, written once, that a managed resource uses a provider config."""

    def __init__(self, objects: Objects, usages: Informer) -> None:
        self._objects = objects
        self._usages = usages

    def track(self, mr: Managed, ref: ProviderConfigKey) -> None:
        """Have the usage say what it should. Raises KubeError."""
        kind = self._usages.kind
        wanted = _usage(mr, ref, kind)
        key = ObjectKey(mr.namespace if kind.namespaced else "", mr.uid)
        stored = self._usages.cache.get(key)
        if stored is None:
            stored = self._create(key, wanted)
        if stored.get("providerConfigRef") != wanted["providerConfigRef"]:
            stored = self._objects.patch(kind, key, _repoint(wanted))
            self._usages.cache.observed(stored)

    def _create(self, key: ObjectKey, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            stored = self._objects.create(self._usages.kind, wanted)
        except AlreadyExists:
            stored = self._objects.get(self._usages.kind, key)
        # Into the cache although the informer may not be allowed to list: what is there is not created again.
        self._usages.cache.observed(stored)
        return stored


def _usage(mr: Managed, ref: ProviderConfigKey, kind: ResourceKind) -> dict[str, Any]:
    labels = {names.LABEL_PROVIDER_CONFIG: ref.name}
    reference = {"name": ref.name}
    metadata: dict[str, Any] = {"name": mr.uid, "ownerReferences": [controller_reference(mr)]}
    if kind.namespaced:
        labels[names.LABEL_PROVIDER_CONFIG_KIND] = ref.kind
        reference["kind"] = ref.kind
        metadata["namespace"] = mr.namespace
    resource = {"apiVersion": mr.api_version, "kind": mr.kind, "name": mr.name, "uid": mr.uid}
    return {
        "metadata": metadata | {"labels": labels},
        "providerConfigRef": reference,
        "resourceRef": resource,
    }


def _repoint(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"labels": wanted["metadata"]["labels"]},
        "providerConfigRef": wanted["providerConfigRef"],
    }


class CredentialLoader:
    """Loads credentials from where a config says that they are. Never logs them."""

    SECRET_SECONDS = 60.0
    """Real seconds for which a Secret's content is used before it is read again."""

    def __init__(self, objects: Objects, environment: Mapping[str, str] | None = None) -> None:
        self._objects = objects
        self._environment = os.environ if environment is None else environment
        self._secrets: dict[ObjectKey, tuple[Mapping[str, str], Stopwatch]] = {}

    def load(self, ref: ProviderConfigKey, credentials: Mapping[str, Any]) -> bytes | None:
        """The credentials, None for sources that hold none. Raises ExternalError that names the field."""
        match credentials.get("source"):
            case CredentialsSource.SECRET:
                return self._from_secret(ref, credentials.get("secretRef") or {})
            case CredentialsSource.ENVIRONMENT:
                return self._from_environment(ref, str((credentials.get("env") or {}).get("name")))
            case CredentialsSource.FILESYSTEM:
                return _from_file(ref, str((credentials.get("fs") or {}).get("path")))
            case _:
                return None

    def _from_secret(self, ref: ProviderConfigKey, selector: Mapping[str, str]) -> bytes:
        key = ObjectKey(ref.namespace or selector.get("namespace") or "", selector.get("name") or "")
        field = f"{ref}: spec.credentials.secretRef"
        if not key.name or not key.namespace:
            raise ExternalError(f"{field}: name and namespace are needed", retry=Retry.poll())
        value = self._secret(field, key).get(selector.get("key") or "")
        if value is None:
            self._secrets.pop(key, None)
            raise ExternalError(f"{field}: Secret {key} has no key {selector.get('key')!r}")
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            raise ExternalError(f"{field}: Secret {key} does not hold base64") from None

    def _secret(self, field: str, key: ObjectKey) -> Mapping[str, str]:
        known = self._secrets.get(key)
        if known and known[1].elapsed() < self.SECRET_SECONDS:
            return known[0]
        try:
            data = self._objects.get(SECRETS, key).get("data") or {}
        except NotFound:
            raise ExternalError(f"{field}: Secret {key} does not exist") from None
        except KubeError as error:
            if error.transient:
                raise
            raise ExternalError(f"{field}: {error}") from error
        self._secrets[key] = (data, Stopwatch())
        return data

    def _from_environment(self, ref: ProviderConfigKey, name: str) -> bytes:
        value = self._environment.get(name)
        if value is None:
            raise ExternalError(
                f"{ref}: spec.credentials.env: the provider's process has no environment variable {name!r}",
                retry=Retry.poll(),
            )
        return value.encode()


def _from_file(ref: ProviderConfigKey, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ExternalError(f"{ref}: spec.credentials.fs: {path}: {why}") from error
