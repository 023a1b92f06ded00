"""A managed resource as Kubernetes has it: the runtime's own reconciler and the provider's connector, against
the emulator."""

from __future__ import annotations

from typing import Any

from edgetenants_runtime.config.resolved import PRIMARY, ConfigUse
from edgetenants_runtime.testing import World
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.clients.connector import GroupConnector, TenantConnector
from provider.main import TREES, managed_kind
from tests.contract.emulated import Emulated, config
from tests.unit.provider.world import INSTALLATION

_CONNECTORS = {"DistributionTenant": TenantConnector, "ConnectionGroup": GroupConnector}


class Configs:
    """One provider config for all."""

    def __init__(self, resolved: Any) -> None:
        self.resolved = resolved
        self.dns: Any = None
        """That of the DNS records."""
        self.refusal: Exception | None = None
        """What is raised instead."""
        self.warnings: list[str] = []
        self.reported: list[Any] = []
        """What became the status of the config, each time that it changed."""

    def resolve(self, mr: Any, use: ConfigUse = PRIMARY) -> Any:
        """The config of that use; what `refusal` says instead, if it is set."""
        del mr
        if self.refusal is not None:
            raise self.refusal
        return self.dns if use.suffix else self.resolved

    def warn(self, resolved: Any, words: str) -> None:
        """Note the warning."""
        del resolved
        self.warnings.append(words)

    def report(self, resolved: Any, fields: Any) -> None:
        """Note the fields that changed."""
        del resolved
        before = self.reported[-1] if self.reported else {}
        if before | fields != before:
            self.reported.append(before | fields)


class Reconciled(World):
    """One managed resource."""

    def __init__(
        self, obj: dict[str, Any], aws: Emulated, resolved: Any = None, installation: str = INSTALLATION
    ) -> None:
        self.installation = installation
        self.aws, self.configs = aws, Configs(resolved or config(aws.url))
        self.connect = _CONNECTORS[obj["kind"]]
        self.connector = self._connect()
        of_kind = {kind.kind: kind for kind in (TREES[0].tenant, TREES[0].group)}[obj["kind"]]
        super().__init__(obj, managed_kind(of_kind), self.connector)
        self.objects.touch(self.kind, self.key)

    def restart(self) -> None:
        """Start a new process, which has no memory of accounts either."""
        if self._connector is self.connector:
            self._connector = self.connector = self._connect()
        super().restart()

    def _connect(self) -> Any:
        return self.connect(self.configs, Accounts(self.aws.clock), installation=self.installation)

    @property
    def stored(self) -> dict[str, Any]:
        """As the API server has it."""
        found = self.objects.find(self.kind, self.key)
        assert found is not None
        return found

    def edit(self, annotations: dict[str, str] | None = None, **for_provider: Any) -> None:
        """A user changes spec.forProvider, or annotations alone."""
        stored = self.stored
        stored["metadata"]["annotations"] |= annotations or {}
        stored["spec"]["forProvider"] |= for_provider
        stored["metadata"]["generation"] += bool(for_provider)
        self.objects.put(self.kind, stored)
        self.objects.touch(self.kind, self.key)

    def come_to_rest(self, passes: int = 10) -> None:
        """Reconcile with time that passes until nothing is written any more."""
        for _ in range(passes):
            before = len(self.writes)
            self.aws.deploy()
            self.reconcile()
            if len(self.writes) == before:
                return
        raise AssertionError(f"does not come to rest: {self.journal[-10:]}")

    @property
    def writes(self) -> list[str]:
        """What was written to Kubernetes but events."""
        return [entry for entry in self.journal if not entry.startswith("event")]

    def told(self, type_: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        for each in self.stored.get("status", {}).get("conditions", ()):
            if each["type"] == type_:
                return each["status"], each["reason"], each.get("message", "")
        return ("", "", "")
