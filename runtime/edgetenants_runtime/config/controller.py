"""Protects provider configs and their Secrets while they are in use, and counts their users in their status.

    unused ── first user ──► held: finalizer in-use.crossplane.io, Secrets marked
      ▲                        │
      │                        ├─ deleted ──► Terminating/InUse
      └────── last user ───────┘              removed after the last user, then its Secrets are released

The messages are crossplane-runtime's (pkg/reconciler/providerconfig). The reconcile of the first user
protects its config before it creates anything in the external system. All else is done here, a moment later.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import Clock, SystemClock, utc_now
from edgetenants_runtime.config import status as config_status
from edgetenants_runtime.config.held_secrets import HeldSecrets
from edgetenants_runtime.config.resolved import ConfigUse
from edgetenants_runtime.config.shared_lock import SharedLocks
from edgetenants_runtime.config.usages import UsageTracker, Users, config_of, controller_of, user_of
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.errors import Conflict, KubeError, NotFound
from edgetenants_runtime.kube.handlers import tell
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.kube.transform import check_whole
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind, key_of
from edgetenants_runtime.queueing.queue import WorkQueue
from edgetenants_runtime.rules.events import EventReason, EventType, Recorder

__all__ = ["ConfigController", "Parts"]

_log = structlog.get_logger("edgetenants_runtime.config_controller")


@dataclass(frozen=True)
class Parts:
    """The parts that the controller of one API tree uses."""

    objects: Objects
    configs: Mapping[str, Informer]
    """By kind."""
    usages: Informer
    tracker: UsageTracker
    users: Users
    secrets: HeldSecrets
    recorder: Recorder
    served: Callable[[ResourceKind], bool]
    """Whether the kind is installed at all."""
    mine: Callable[[ProviderConfigKey], bool] = lambda _: True
    """Whether this process works on a config: the one that reconciles its resources."""
    mine_too: Callable[[ObjectKey], bool] = lambda _: True
    """Whether this process releases a Secret, which configs of several processes may use."""
    leads_elsewhere: Callable[[Mapping[str, Any]], bool] = lambda _: False
    """Whether reported fields of the status lead another process to a config."""


@dataclass(frozen=True)
class _Config:
    key: ProviderConfigKey


@dataclass(frozen=True)
class _Secret:
    key: ObjectKey


@dataclass(frozen=True)
class _StrayUsage:
    key: ObjectKey


@dataclass(frozen=True)
class _UnusedSecrets:
    pass


_Task = _Config | _Secret | _StrayUsage | _UnusedSecrets


class ConfigController:
    """One thread that reconciles the configs of one API tree, from informer caches.

    A burst of changes costs one reconcile, and counts are written so rarely that ten thousand users cost a
    dozen writes. After a restart, nothing is written that is already correct.
    """

    LOOK_SECONDS = 0.25
    """Real seconds for which changes are collected before a reconcile."""
    COUNT_SECONDS = 5.0
    """Real seconds between two writes of one config's status, unless it becomes used, unused or deleted."""
    RELEASE_SECONDS = 2.0
    """Real seconds for which those that start to use a config wait for a release of it."""
    RESYNC_SECONDS = 60.0
    """Real seconds between two reconciles of a config that is being deleted and in use."""

    def __init__(
        self,
        parts: Parts,
        rng: random.Random,
        *,
        secrets_of: Callable[[ProviderConfigKey, Mapping[str, Any]], tuple[ObjectKey, ...]],
        clock: Clock | None = None,
    ) -> None:
        """`secrets_of` returns the Secrets that a config's spec refers to; `clock` is real time."""
        self.releases = SharedLocks()
        """By config and Secret: held alone during a release, which is a request to the API server, and shared
        by those that start to use them."""
        self._parts, self._secrets_of = parts, secrets_of
        self._clock = clock or SystemClock()
        self._queue: WorkQueue[_Task] = WorkQueue(self._clock, rng, real_clock=self._clock)
        self._resources: list[Informer] = []
        self._told: list[Callable[[ProviderConfigKey], None]] = []
        self._lock = threading.Lock()
        self._reported: dict[ProviderConfigKey, tuple[str, dict[str, Any]]] = {}
        self._written: dict[ProviderConfigKey, float] = {}
        self._may_act: Callable[[], bool] = lambda: True
        self._thread = threading.Thread(target=self._work, name="provider configs", daemon=True)
        for informer in parts.configs.values():
            informer.add_handler(self._config_handler(informer.kind.kind))
        parts.usages.add_handler(self._on_usage)
        parts.usages.cache.on_own_write(self._on_usage)
        parts.secrets.on_change(lambda key: self._queue.add(_Secret(key)))
        parts.secrets.informer.add_handler(lambda _: self._look_for_unused_secrets())

    def count(self, resources: Informer, use: ConfigUse) -> None:
        """Count managed resources as users while they may have an external resource."""
        self._parts.users.add(resources.cache, use)
        self._resources.append(resources)

        def on_change(change: ObjectChange) -> None:
            before, after = user_of(change.old, use), user_of(change.new, use)
            for ref in (before, after) if before != after else ():
                if ref is not None:
                    self.look_at(ref)

        resources.add_handler(on_change)
        resources.cache.on_own_write(on_change)

    def on_new_credentials(self, handler: Callable[[ProviderConfigKey], None]) -> None:
        """Call the handler for configs with changed content of their Secrets."""
        self._told.append(handler)

    def start(self, may_act: Callable[[], bool]) -> None:
        """Start to reconcile, as soon as everything has been listed."""
        self._may_act = may_act
        self._parts.secrets.informer.start()
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Stop; wait up to `timeout` real seconds for a running reconcile. True: it ended."""
        ended = self._queue.shutdown(drain=timeout)
        self._parts.secrets.informer.stop(timeout=0.5)
        return ended

    def look_at(self, key: ProviderConfigKey) -> None:
        """Something about the config or its users has changed."""
        self._queue.add_after_real(_Config(key), self.LOOK_SECONDS)

    def look_at_all(self) -> None:
        """This process works on further configs and Secrets."""
        for key, _ in self._all_configs():
            self.look_at(key)
        for usage in self._parts.usages.cache.objects():
            self._look_at_stray(usage)
        self._look_for_unused_secrets()

    def report(self, key: ProviderConfigKey, uid: str, fields: Mapping[str, Any]) -> None:
        """See `ConfigResolver.report`."""
        with self._lock:
            of, known = self._reported.get(key, ("", {}))
            merged = {**known, **fields} if of == uid else dict(fields)
            if (of, known) == (uid, merged):
                return
            self._reported[key] = (uid, merged)
        self.look_at(key)

    def warn(self, key: ProviderConfigKey, uid: str, message: str) -> None:
        """See `ConfigResolver.warn`."""
        config = self._find(key)
        if config is not None and config["metadata"].get("uid") == uid:
            reason = EventReason.QUOTA_NEARLY_USED
            self._parts.recorder.event(Managed(config), EventType.WARNING, reason, message)

    # Holding.

    def is_held(self, key: ProviderConfigKey) -> bool:
        """The config and its Secrets are protected from deletion."""
        config = self._find(key)
        if config is None or not _holds(config):
            return False
        return all(map(self._parts.secrets.settled, self._secrets_of(key, config.get("spec") or {})))

    @contextmanager
    def using(self, key: ProviderConfigKey) -> Iterator[None]:
        """Neither the config nor its Secrets are released in the block.

        Raises:
            NotYet: one of them is being released, and the API server has not answered; or the config changes.
        """
        secrets = self._secrets_in_use(key)
        with ExitStack() as held:
            try:
                held.enter_context(self.releases.shared(key, *secrets, timeout=self.RELEASE_SECONDS))
            except TimeoutError:
                words = f"{key} or its Secret is being released, and the API server has not answered"
                raise NotYet(words, after=2 * self.RELEASE_SECONDS) from None
            if self._secrets_in_use(key) != secrets:
                raise NotYet(f"{key} has just changed", after=1.0)
            yield

    def _secrets_in_use(self, key: ProviderConfigKey) -> tuple[ObjectKey, ...]:
        config = self._find(key)
        return self._secrets_of(key, config.get("spec") or {}) if config else ()

    def hold(self, key: ProviderConfigKey) -> None:
        """Protect the config, and then its Secrets, from deletion; in a block of `using`. Raises
        KubeError."""
        config = self._find(key)
        if config is None:
            return
        # An object that is being deleted accepts no new finalizers.
        if not _holds(config) and not config["metadata"].get("deletionTimestamp"):
            self._put_finalizer(key, config)
        for secret in self._secrets_of(key, config.get("spec") or {}):
            self._parts.secrets.hold(secret)

    def _put_finalizer(self, key: ProviderConfigKey, config: Mapping[str, Any]) -> None:
        finalizers = [*(config["metadata"].get("finalizers") or ()), names.PROVIDER_CONFIG_FINALIZER]
        try:
            self._patch(key, config, {"finalizers": finalizers})
        except Conflict:
            # Several users started at the same time, and another one was first.
            if not _holds(self._parts.objects.get(self._kind(key), _name(key))):
                raise

    # Looking.

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            try:
                self._attempt(task)
            except Exception:  # noqa: BLE001 - a bug in one reconcile must not stop the controller
                _log.exception("cannot reconcile provider configs, backing off", task=str(task))
                self._queue.retry_real(task)
            finally:
                self._queue.done(task)

    def _attempt(self, task: _Task) -> None:
        if not self._may_act() or not self._everything_read():
            self._queue.add_after_real(task, 2 * self.LOOK_SECONDS)
            return
        try:
            self._do(task)
            self._queue.forget(task)
        except NotFound:
            # Deleted meanwhile: the watch reports it.
            self._queue.forget(task)
        except (Conflict, NotYet):
            # The watch delivers the other writer's change; wait for a lagging cache.
            self._queue.retry_real(task)
        except KubeError as error:
            _log.warning("cannot reconcile provider configs, backing off", task=str(task), error=str(error))
            self._queue.retry_real(task)

    def _everything_read(self) -> bool:
        # An object that has not been listed may be a user: release nothing before.
        informers = (*self._parts.configs.values(), self._parts.usages, *self._resources)
        secrets = self._parts.secrets.informer
        read = secrets.synced or bool(secrets.problem) or not secrets.served
        # For a moment after its start, the API server may not serve a kind that has objects.
        return read and all(i.synced or not self._parts.served(i.kind) for i in informers)

    def _do(self, task: _Task) -> None:
        match task:
            case _Config(key) if self._parts.mine(key):
                self._look_at_config(key)
            case _Config(key):
                # What this process reported of it may be out of date when it works on it again.
                self._forget(key)
            case _Secret(key):
                self._tell_of_secret(key)
            case _StrayUsage(key):
                self._adopt(key)
            case _UnusedSecrets():
                self._release_unused_secrets()

    def _adopt(self, key: ObjectKey) -> None:
        usage = self._parts.usages.cache.get(key)
        if usage is not None and self._parts.mine(config_of(usage)):
            self._parts.tracker.adopt(key)

    def _look_at_config(self, key: ProviderConfigKey) -> None:
        config = self._find(key)
        if config and self._parts.users.any(key):
            with self.using(key):
                self.hold(key)
        elif config and _holds(config):
            self._release(key)
            self._release_unused_secrets()
        self._write_status(key)

    def _release(self, key: ProviderConfigKey) -> None:
        with self.releases.alone(key):
            config = self._find(key)
            if config is None or not _holds(config) or self._parts.users.any(key):
                return
            finalizers = config["metadata"]["finalizers"]
            kept = [f for f in finalizers if f != names.PROVIDER_CONFIG_FINALIZER]
            self._patch(key, config, {"finalizers": kept})

    def _release_unused_secrets(self) -> None:
        failed: KubeError | None = None
        unused = sorted(set(self._parts.secrets.held) - self._used_secrets())
        for secret in filter(self._parts.mine_too, unused):
            try:
                with self.releases.alone(secret):
                    if secret not in self._used_secrets():
                        self._parts.secrets.release(secret)
            except KubeError as error:
                # One Secret must not keep those of other namespaces.
                failed = failed or error
        if failed is not None:
            raise failed

    def _used_secrets(self) -> set[ObjectKey]:
        return {
            secret
            for key, config in self._all_configs()
            if self._parts.users.any(key)
            for secret in self._secrets_of(key, config.get("spec") or {})
        }

    def _tell_of_secret(self, secret: ObjectKey) -> None:
        moved = self._parts.secrets.moved(secret)
        for key, config in self._all_configs():
            if secret not in self._secrets_of(key, config.get("spec") or {}):
                continue
            # Another client may have removed our mark.
            self.look_at(key)
            if moved:
                tell(self._told, key, config=str(key))

    # Status.

    def _write_status(self, key: ProviderConfigKey) -> None:
        config, used = self._find(key), self._parts.users.any(key)
        if config is None:
            self._forget(key)
            return
        reported = self._reported_of(key, config["metadata"].get("uid") or "")
        news = config_status.is_news(config, used=used) or self._parts.leads_elsewhere(reported)
        wait = self._written.get(key, -self.COUNT_SECONDS) + self.COUNT_SECONDS - self._clock.now()
        if wait > 0 and not news:
            self._queue.add_after_real(_Config(key), wait)
            return
        users = self._parts.users.count(key)
        terminating = config_status.is_terminating(config, used=users > 0)
        if terminating:
            self._queue.add_after_real(_Config(key), self.RESYNC_SECONDS)
        patch = config_status.patch_for(config, {**reported, "users": users}, now=utc_now())
        if terminating and "conditions" in patch:
            self._parts.recorder.event(
                Managed(config), EventType.WARNING, EventReason.USAGE_ACCOUNTING, config_status.IN_USE
            )
        if patch:
            self._patch_status(key, config, patch)

    def _patch_status(
        self, key: ProviderConfigKey, config: Mapping[str, Any], patch: Mapping[str, Any]
    ) -> None:
        self._written[key] = self._clock.now()
        body = {"metadata": {"resourceVersion": config["metadata"].get("resourceVersion")}, "status": patch}
        self._take_in(key, self._parts.objects.patch(self._kind(key), _name(key), body, subresource="status"))
        if not self._parts.mine(key):
            # The status now leads to another process. The watch does not report our own write.
            self._forget(key)

    def _reported_of(self, key: ProviderConfigKey, uid: str) -> Mapping[str, Any]:
        with self._lock:
            of, fields = self._reported.get(key, ("", {}))
        return fields if of == uid else {}

    def _forget(self, key: ProviderConfigKey) -> None:
        with self._lock:
            self._reported.pop(key, None)
        self._written.pop(key, None)

    # Configs.

    def _find(self, key: ProviderConfigKey) -> Mapping[str, Any] | None:
        informer = self._parts.configs.get(key.kind)
        return informer.cache.get(_name(key)) if informer else None

    def _all_configs(self) -> list[tuple[ProviderConfigKey, Mapping[str, Any]]]:
        found = []
        for kind, informer in self._parts.configs.items():
            for name in informer.cache.keys():  # noqa: SIM118 - not a dict
                config = informer.cache.get(name)
                if config is not None:
                    found.append((ProviderConfigKey(kind, name.name, name.namespace), config))
        return found

    def _patch(self, key: ProviderConfigKey, config: Mapping[str, Any], metadata: dict[str, Any]) -> None:
        # With the version: the response must not contain a change of spec that the watch then ignores as old.
        check_whole(self._kind(key), config["metadata"], "finalizers")
        versioned = metadata | {"resourceVersion": config["metadata"].get("resourceVersion")}
        self._take_in(key, self._parts.objects.patch(self._kind(key), _name(key), {"metadata": versioned}))

    def _take_in(self, key: ProviderConfigKey, stored: Mapping[str, Any]) -> None:
        self._parts.configs[key.kind].cache.observed(stored)

    def _kind(self, key: ProviderConfigKey) -> ResourceKind:
        return self._parts.configs[key.kind].kind

    # Changes.

    def _config_handler(self, kind: str) -> Callable[[ObjectChange], None]:
        def handle(change: ObjectChange) -> None:
            self.look_at(ProviderConfigKey(kind, change.key.name, change.key.namespace))
            if change.new is None or change.new.get("spec") != (change.old or {}).get("spec"):
                self._look_for_unused_secrets()

        return handle

    def _on_usage(self, change: ObjectChange) -> None:
        for usage in filter(None, (change.old, change.new)):
            self.look_at(config_of(usage))
        if change.new is not None:
            self._look_at_stray(change.new)

    def _look_at_stray(self, usage: Mapping[str, Any]) -> None:
        if controller_of(usage) is None:
            self._queue.add_after_real(_StrayUsage(key_of(usage)), self.LOOK_SECONDS)

    def _look_for_unused_secrets(self) -> None:
        self._queue.add_after_real(_UnusedSecrets(), self.LOOK_SECONDS)


def _holds(config: Mapping[str, Any]) -> bool:
    return names.PROVIDER_CONFIG_FINALIZER in (config["metadata"].get("finalizers") or ())


def _name(key: ProviderConfigKey) -> ObjectKey:
    return ObjectKey(key.namespace, key.name)
