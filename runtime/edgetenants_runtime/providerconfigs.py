"""Finds the provider config of a managed resource, records its usage and loads its credentials."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.config.controller import ConfigController, Parts
from edgetenants_runtime.config.credentials import CredentialLoader, secrets_of
from edgetenants_runtime.config.held_secrets import HeldSecrets
from edgetenants_runtime.config.resolved import PRIMARY, ConfigUse, ResolvedConfig
from edgetenants_runtime.config.restrictions import Restrictions
from edgetenants_runtime.config.status import COPY_IT
from edgetenants_runtime.config.usages import BY_CONFIG, UsageTracker, Users, by_config
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.rules.events import Recorder
from edgetenants_runtime.shards import Mine, everything

__all__ = ["Access", "ConfigKinds", "ProviderConfigs"]


@dataclass(frozen=True)
class Access:
    """What the configs may request."""

    allow_namespaced_identity: bool = False
    """Lifts the restrictions on namespaced configs."""
    served: Callable[[ResourceKind], bool] = lambda _: True
    """Whether the API server may serve a kind."""
    exists: Callable[[ResourceKind], bool] = lambda _: False
    """Whether a kind is known to exist."""
    mine: Mine = everything
    """Whether this process works on a config, its Secrets and its resources."""


@dataclass(frozen=True)
class ConfigKinds:
    """The configuration kinds of one API tree: namespaced (Crossplane v2) or legacy."""

    configs: tuple[ResourceKind, ...]
    """The kinds that `spec.providerConfigRef.kind` may name; in the legacy tree, the one cluster-scoped
    ProviderConfig."""
    usage: ResourceKind
    """ProviderConfigUsage, with the same scope as the managed resources."""
    restricted_fields: tuple[str, ...] = ()
    """Fields of spec that a namespaced config may not set, because they reach beyond its namespace."""
    credentialed_fields: tuple[str, ...] = ()
    """Fields of spec that a namespaced config may set only with credentials from a Secret, because otherwise
    they would use the provider's own identity."""
    secret_paths: tuple[str, ...] = ("credentials.secretRef",)
    """Paths in spec that refer to Secrets. The Secrets are protected while the config is in use."""
    annotations: Mapping[str, int] = field(default_factory=dict)
    """Annotations of a config that the provider reads, each with the number of characters that it reads.
    Others are not in `ResolvedConfig.annotations`."""
    owner_field: str = ""
    """Field of status that the provider reports and that names the owner of the resources, such as their
    account. With shards, all resources of an owner are in one shard. Anyone who may write the status decides
    which process tries first, so a client must check the owner itself."""
    secret_mark: str = ""
    """Finalizer and label of Secrets in use, `domain/name`. Unset: `in-use` in the group of the usages, which
    belongs to this provider. Two providers, or two trees, never release each other's Secrets."""


class ProviderConfigs:
    """The provider configs of one API tree, read from informer caches; a `ConfigResolver`."""

    def __init__(
        self,
        client: KubeClient,
        kinds: ConfigKinds,
        rng: random.Random,
        recorder: Recorder,
        access: Access | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`clock` is real time."""
        access = access or Access()
        self._kinds, self._mine = kinds, access.mine
        self._restrictions = (
            None
            if access.allow_namespaced_identity
            else Restrictions(kinds.restricted_fields, kinds.credentialed_fields)
        )

        def informer(kind: ResourceKind, **options: Any) -> Informer:
            gate, exists = partial(access.served, kind), partial(access.exists, kind)
            return Informer(client, kind, rng, gate=gate, exists=exists, **options)

        self._configs = {kind.kind: informer(kind, annotations=kinds.annotations) for kind in kinds.configs}
        self._usages = informer(kinds.usage, indexes={BY_CONFIG: by_config})
        self._tracker = UsageTracker(client, self._usages)
        self._secrets = HeldSecrets(
            client,
            kinds.secret_mark or f"{kinds.usage.group}/in-use",
            rng,
            gate=lambda: any(access.served(kind) for kind in kinds.configs),
        )
        self._loader = CredentialLoader(self._secrets)
        self._users = Users(self._usages.cache)
        self._seconds: list[ConfigUse] = []
        self._controller = ConfigController(
            Parts(
                client,
                self._configs,
                self._usages,
                self._tracker,
                self._users,
                self._secrets,
                recorder,
                access.served,
                mine=lambda key: access.mine(self.owner(key)),
                mine_too=lambda secret: access.mine(f"secret {secret}"),
                leads_elsewhere=self._leads_elsewhere,
            ),
            rng,
            secrets_of=lambda key, spec: secrets_of(key, spec, kinds.secret_paths),
            clock=clock,
        )

    @property
    def informers(self) -> tuple[Informer, ...]:
        """The informers, which the manager starts and stops."""
        return (*self._configs.values(), self._usages)

    @property
    def settled(self) -> bool:
        """Every informer has listed once, reports why it cannot, or waits for its kind to be served."""
        return all(i.synced or i.problem or not i.served for i in self.informers)

    def start(self, may_act: Callable[[], bool] = lambda: True) -> None:
        """Start to count users and to protect configs in use; nothing is written while `may_act` is False."""
        self._controller.start(may_act)

    def stop(self, timeout: float) -> bool:
        """Stop; wait up to `timeout` real seconds for a running write. True: nothing was aborted."""
        return self._controller.stop(timeout)

    def on_change(self, handler: Callable[[ProviderConfigKey], None]) -> None:
        """Call the handler for configs that are created, changed or deleted, or whose credentials change.
        Call it before the informers start."""
        for informer in self._configs.values():
            informer.add_handler(_spec_changes(informer.kind, handler))
        self._controller.on_new_credentials(handler)

    def on_removal(self, handler: Callable[[str], None]) -> None:
        """Call the handler with the uid of each deleted config. Call it before the informers start."""
        for informer in self._configs.values():
            informer.add_handler(_removals(handler))

    def on_appearance(self, handler: Callable[[str], None]) -> None:
        """Call the handler with the uid of each config that is created, or listed again after it seemed to be
        deleted. Call it before the informers start."""
        for informer in self._configs.values():
            informer.add_handler(_appearances(handler))

    def on_moved(self, handler: Callable[[ProviderConfigKey], None]) -> None:
        """Call the handler for configs whose owner has changed in their status. Call it before the informers
        start."""
        for informer in self._configs.values():
            informer.add_handler(_moves(informer.kind, self._kinds.owner_field, handler))

    def owner(self, key: ProviderConfigKey) -> str:
        """The owner of a config's resources, as its status has it; the config itself if it has none yet."""
        informer = self._configs.get(key.kind)
        config = informer.cache.get(ObjectKey(key.namespace, key.name)) if informer else None
        return str(key) if config is None else _owner(config, self._kinds.owner_field)

    def _leads_elsewhere(self, status: Mapping[str, Any]) -> bool:
        owner = status.get(self._kinds.owner_field)
        return owner is not None and not self._mine(str(owner))

    def mine(self, mr: Managed) -> bool:
        """Whether this process works on the resource."""
        return self._mine(self.owner(mr.provider_config_ref))

    def look_at_all(self) -> None:
        """This process works on further configs."""
        self._controller.look_at_all()

    def used_by(self, resources: Informer, use: ConfigUse = PRIMARY) -> None:
        """Count the managed resources of this informer as users while they exist. Call it before the informer
        starts."""
        self._controller.count(resources, use)
        if use.suffix:
            self._seconds.append(use)

    def stored(self, mr: Managed, use: ConfigUse = PRIMARY) -> Mapping[str, Any] | None:
        """The config object that a managed resource names, as last read; None if it does not exist or cannot
        be read. Reads no credentials and records no usage."""
        ref = use.ref(mr)
        informer = None if ref is None else self._configs.get(ref.kind)
        if ref is None or informer is None:
            return None
        return informer.cache.get(ObjectKey(ref.namespace, ref.name))

    def cluster_scoped(self) -> list[Mapping[str, Any]] | None:
        """The configs that resources in every namespace can use, as last read; None if not all were read."""
        if any(informer.served and not informer.synced for informer in self._configs.values()):
            return None
        shared = (informer for informer in self._configs.values() if not informer.kind.namespaced)
        return [config for informer in shared for config in informer.cache.objects()]

    def resolve(self, mr: Managed, use: ConfigUse = PRIMARY) -> ResolvedConfig:
        """See `ConfigResolver.resolve`. Raises KubeError too."""
        ref = use.ref(mr)
        if ref is None:
            raise ExternalError(f"{use.field}: expected a provider config, got none", retry=Retry.poll())
        config = self._find(ref, use)
        spec: Mapping[str, Any] = config.get("spec") or {}
        if self._restrictions is not None:
            self._restrictions.check(ref, spec)
        credentials = self._loader.load(ref, spec.get("credentials") or {})
        secrets = self._loader.secrets(ref, spec, use.secrets)
        if not mr.deleted:
            # Do not recreate the usage of a resource that is being deleted: the garbage collector has just
            # removed it, and would wait for it.
            self._record(mr, ref, use)
        source = (spec.get("credentials") or {}).get("source") or CredentialsSource.NONE
        return ResolvedConfig(
            key=ref,
            spec=spec,
            uid=config["metadata"].get("uid") or "",
            generation=int(config["metadata"].get("generation") or 0),
            source=str(source),
            credentials=credentials,
            annotations=config["metadata"].get("annotations") or {},
            secrets=secrets,
        )

    def report(self, config: ResolvedConfig, fields: Mapping[str, Any]) -> None:
        """See `ConfigResolver.report`."""
        self._controller.report(config.key, config.uid, fields)

    def warn(self, config: ResolvedConfig, message: str) -> None:
        """See `ConfigResolver.warn`."""
        self._controller.warn(config.key, config.uid, message)

    def _record(self, mr: Managed, ref: ProviderConfigKey, use: ConfigUse) -> None:
        if use == PRIMARY:
            for second in self._seconds:
                if second.ref(mr) is None:
                    self._tracker.let_go(mr, second)
        if self._tracker.recorded(mr, ref, use.suffix) and self._controller.is_held(ref):
            return
        # Keep this order: if the process dies in between, nothing in use is unprotected.
        with self._controller.using(ref):
            config = self._find(ref, use)
            if config["metadata"].get("deletionTimestamp") and names.FINALIZER not in mr.finalizers:
                raise ExternalError(
                    f"{use.field}: {ref} is being deleted and accepts no new resources; {COPY_IT}",
                    retry=Retry.poll(),
                )
            self._controller.hold(ref)
            self._tracker.track(mr, ref, use.suffix)

    def _find(self, ref: ProviderConfigKey, use: ConfigUse) -> Mapping[str, Any]:
        informer = self._configs.get(ref.kind)
        if informer is None:
            known = ", ".join(sorted(self._configs))
            raise ExternalError(
                f"{use.field}.kind: expected one of {known}, got {ref.kind}", retry=Retry.poll()
            )
        config = informer.cache.get(ObjectKey(ref.namespace, ref.name))
        if config is not None:
            return config
        if not informer.synced and not informer.problem:
            # Quiet: after each start, it would be an event for every resource.
            raise NotYet(f"{informer.kind.resource} have not been listed yet", after=1.0, quiet=True)
        if informer.problem:
            raise ExternalError(f"{use.field}: {ref} cannot be read: {informer.problem}")
        # No back-off: the creation of the config requeues the resources that name it.
        raise ExternalError(
            f"{use.field}: {ref} does not exist; create it or use another one", retry=Retry.poll()
        )


def _spec_changes(
    kind: ResourceKind, handler: Callable[[ProviderConfigKey], None]
) -> Callable[[ObjectChange], None]:
    def handle(change: ObjectChange) -> None:
        if change.old is None or change.new is None or _generation(change.old) != _generation(change.new):
            handler(ProviderConfigKey(kind.kind, change.key.name, change.key.namespace))

    return handle


def _removals(handler: Callable[[str], None]) -> Callable[[ObjectChange], None]:
    def handle(change: ObjectChange) -> None:
        # A config that is deleted and recreated between two reads arrives as two changes.
        if change.old is not None and change.new is None:
            handler(change.old["metadata"].get("uid") or "")

    return handle


def _appearances(handler: Callable[[str], None]) -> Callable[[ObjectChange], None]:
    def handle(change: ObjectChange) -> None:
        if change.old is None and change.new is not None:
            handler(change.new["metadata"].get("uid") or "")

    return handle


def _moves(
    kind: ResourceKind, field: str, handler: Callable[[ProviderConfigKey], None]
) -> Callable[[ObjectChange], None]:
    def handle(change: ObjectChange) -> None:
        if change.new is not None and _owner(change.old or {}, field) != _owner(change.new, field):
            handler(ProviderConfigKey(kind.kind, change.key.name, change.key.namespace))

    return handle


def _owner(config: Mapping[str, Any], field: str) -> str:
    known = (config.get("status") or {}).get(field) if field else None
    return str(known or (config.get("metadata") or {}).get("uid") or "")


def _generation(obj: Mapping[str, Any]) -> tuple[Any, Any]:
    return obj["metadata"].get("uid"), obj["metadata"].get("generation")
