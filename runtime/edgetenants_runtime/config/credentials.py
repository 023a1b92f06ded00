"""Loads the credentials of a provider config from their source. Never logs them."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.config.held_secrets import HeldSecrets
from edgetenants_runtime.config.resolved import SecretField
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.kube.errors import KubeError, NotFound
from edgetenants_runtime.managed import ObjectKey, ProviderConfigKey

__all__ = ["CredentialLoader", "secret_key", "secrets_of"]


def secrets_of(
    ref: ProviderConfigKey, spec: Mapping[str, Any], paths: tuple[str, ...]
) -> tuple[ObjectKey, ...]:
    """The Secrets that a config refers to at the given paths of its spec (`credentials.secretRef`)."""
    keys = (secret_key(ref, _at(spec, path)) for path in paths)
    return tuple(dict.fromkeys(key for key in keys if key.name and key.namespace))


def secret_key(ref: ProviderConfigKey, selector: Mapping[str, Any]) -> ObjectKey:
    """The Secret that a config refers to. A namespaced config can refer to its own namespace only."""
    return ObjectKey(ref.namespace or selector.get("namespace") or "", selector.get("name") or "")


def _at(spec: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    found: Any = spec
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


class CredentialLoader:
    """Loads the credentials of provider configs. Thread-safe."""

    def __init__(self, secrets: HeldSecrets, environment: Mapping[str, str] | None = None) -> None:
        self._secrets = secrets
        self._environment = os.environ if environment is None else environment

    def load(self, ref: ProviderConfigKey, credentials: Mapping[str, Any]) -> bytes | None:
        """The credentials; None for sources without any. Raises ExternalError that names the field."""
        match credentials.get("source"):
            case CredentialsSource.SECRET:
                return self._from_secret(ref, credentials.get("secretRef") or {})
            case CredentialsSource.ENVIRONMENT:
                return self._from_environment(ref, str((credentials.get("env") or {}).get("name")))
            case CredentialsSource.FILESYSTEM:
                return _from_file(ref, str((credentials.get("fs") or {}).get("path")))
            case _:
                return None

    def secrets(
        self, ref: ProviderConfigKey, spec: Mapping[str, Any], fields: Iterable[SecretField]
    ) -> dict[str, Mapping[str, bytes]]:
        """The values of other Secrets of a config, by path and key, where the spec refers to one. Raises
        ExternalError that names the field."""
        found: dict[str, Mapping[str, bytes]] = {}
        for field in fields:
            if selector := _at(spec, field.path):
                keys = field.keys or (str(selector.get("key") or ""),)
                where = f"{ref}: spec.{field.path}"
                found[field.path] = self._values(where, secret_key(ref, selector), keys, field.optional)
        return found

    def _from_secret(self, ref: ProviderConfigKey, selector: Mapping[str, str]) -> bytes:
        key, name = secret_key(ref, selector), selector.get("key") or ""
        return self._values(f"{ref}: spec.credentials.secretRef", key, (name,))[name]

    def _values(
        self, field: str, key: ObjectKey, names: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Mapping[str, bytes]:
        if not key.name or not key.namespace:
            raise ExternalError(f"{field}: name and namespace are required", retry=Retry.poll())
        stored = self._read(field, key, (*names, *optional))
        # A reference to one key has it in its field `key`.
        field = f"{field}.key" if len(names) == 1 else field
        values = {name: stored[name] for name in names}
        values |= {name: stored[name] for name in optional if stored[name] is not None}
        return {name: self._decoded(field, key, name, value) for name, value in values.items()}

    def _decoded(self, field: str, key: ObjectKey, name: str, value: str | None) -> bytes:
        if value is None:
            raise _unusable(self._secrets, f"{field}: Secret {key} has no key {name!r}", key)
        try:
            content = base64.b64decode(value, validate=True)
        except binascii.Error:
            raise _unusable(self._secrets, f"{field}: Secret {key} has invalid base64", key) from None
        if not content.strip():
            raise _unusable(self._secrets, f"{field}: Secret {key} has no value for {name!r}", key)
        return content

    def _read(self, field: str, key: ObjectKey, names: tuple[str, ...]) -> Mapping[str, str | None]:
        try:
            return self._secrets.values(key, names)
        except NotFound:
            raise ExternalError(f"{field}: Secret {key} does not exist") from None
        except KubeError as error:
            if error.transient:
                raise
            raise ExternalError(f"{field}: {error}") from error

    def _from_environment(self, ref: ProviderConfigKey, name: str) -> bytes:
        field = f"{ref}: spec.credentials.env.name: the provider's process has"
        value = self._environment.get(name)
        if value is None:
            raise ExternalError(f"{field} no environment variable {name!r}", retry=Retry.poll())
        if not value.strip():
            raise ExternalError(f"{field} an empty environment variable {name!r}", retry=Retry.poll())
        return value.encode()


def _unusable(secrets: HeldSecrets, message: str, key: ObjectKey) -> ExternalError:
    # Not cached: the next reconcile sees the correction, even if Secrets cannot be watched.
    secrets.forget(key)
    return ExternalError(message)


def _from_file(ref: ProviderConfigKey, path: str) -> bytes:
    field = f"{ref}: spec.credentials.fs.path: {path}"
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ExternalError(f"{field}: {error.strerror or type(error).__name__}") from error
    if not content.strip():
        raise ExternalError(f"{field}: the file is empty")
    return content
