"""A managed-resource runtime for Crossplane providers written in Python.

This package exports what a provider author needs for a kind. Import the wiring (`manager`, `providerconfigs`,
`kube`) from its module, so that a client's code never loads a Kubernetes library.
"""

from edgetenants_runtime.clock import Clock, FakeClock, RemoteClock, SystemClock
from edgetenants_runtime.config.resolved import ConfigResolver, ResolvedConfig
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import (
    AsyncOperation,
    Change,
    Connector,
    Disconnects,
    ExternalClient,
    FieldDiff,
    Observation,
    OperationState,
    RecordsDeletions,
    TellsOfReferences,
    TellsOfWaiting,
)
from edgetenants_runtime.managed import Managed, ManagedKind, ProviderConfigKey, ResourceKind
from edgetenants_runtime.rules.init_provider import at_creation

__all__ = [
    "AsyncOperation",
    "Change",
    "Clock",
    "ConfigResolver",
    "Connector",
    "Disconnects",
    "ExternalClient",
    "ExternalError",
    "FakeClock",
    "FieldDiff",
    "Managed",
    "ManagedKind",
    "NotYet",
    "Observation",
    "OperationState",
    "ProviderConfigKey",
    "RecordsDeletions",
    "RemoteClock",
    "ResolvedConfig",
    "ResourceKind",
    "Retry",
    "SystemClock",
    "TellsOfReferences",
    "TellsOfWaiting",
    "at_creation",
]
