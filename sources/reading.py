"""Opens the store of a TenantSource, for one read. Secrets and ConfigMaps are read by name, in its own
namespace only, each time, so that a new password takes effect with the next read. Where the process may
connect to is for its administrator to say: the author of a TenantSource uses the process's network."""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apis.tenantsource import (
    ConfigMapSource,
    HttpHeader,
    HttpSource,
    MysqlSource,
    PostgresqlSource,
    RedisSource,
    SourceChoice,
)
from edgetenants_runtime import deadline
from edgetenants_runtime.api.references import SecretKeySelector
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotFound
from edgetenants_runtime.kube.kinds import CONFIG_MAPS, SECRETS
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from sources.stores import http, mysql, postgresql, redis
from sources.stores.config_map import TextStore
from sources.stores.store import Store, StoreError, StoreReason

__all__ = ["DATABASES_FLAG", "Allowed", "Get", "OpenStore", "opener"]

Get = Callable[[ResourceKind, ObjectKey], Mapping[str, Any]]
"""Reads one object. Raises KubeError."""
OpenStore = Callable[[str, SourceChoice], Store]
"""Opens the store of a TenantSource in a namespace. Raises StoreError."""

DATABASES_FLAG: Final = "--allowed-database-hosts"
_LONGEST_READ: Final = 900.0
_TIME_TO_FOLLOW: Final = 10.0
"""Seconds of a reconcile that are left after the longest read."""


@dataclass(frozen=True)
class Allowed:
    """Where the process connects to for TenantSources: nowhere, unless an administrator names it."""

    databases: frozenset[tuple[str, int]] = frozenset()
    """Hosts in lower case, without brackets, and ports."""
    http: http.Confinement = field(default_factory=lambda: http.Confinement(hosts=()))


def opener(get: Get, clock: Clock, allowed: Allowed) -> OpenStore:
    """What opens stores, with `get` for the objects that they name."""

    def open_store(namespace: str, choice: SourceChoice) -> Store:
        objects = _Objects(get, namespace)
        if choice.postgresql is not None:
            return _postgresql(objects, choice.postgresql, clock, allowed)
        if choice.mysql is not None:
            return _mysql(objects, choice.mysql, clock, allowed)
        if choice.redis is not None:
            return _redis(objects, choice.redis, clock, allowed)
        if choice.http is not None:
            return _http(objects, choice.http, clock, allowed)
        if choice.config_map is None:
            raise _invalid("the spec names no source that this version knows")
        return objects.table(choice.config_map)

    return open_store


def _check_listed(host: str, port: int, allowed: Allowed) -> None:
    """Before any Secret is read. Raises StoreError."""
    if (host.lower(), port) not in allowed.databases:
        message = (
            f"the database {host}:{port} is not in {DATABASES_FLAG} of edgetenants-sources, which an "
            "administrator sets"
        )
        raise StoreError(StoreReason.ACCESS_DENIED, message)


def _login(
    objects: _Objects, source: PostgresqlSource | MysqlSource | RedisSource, allowed: Allowed
) -> dict[str, Any]:
    """What the address of each database has. Raises StoreError."""
    _check_listed(source.host, source.port, allowed)
    return {
        "host": source.host,
        "port": source.port,
        "database": source.database,
        "user": source.user,
        "password": objects.secret(source.password_secret_ref),
        "ca": objects.authorities(source.ca_secret_ref),
    }


def _postgresql(objects: _Objects, source: PostgresqlSource, clock: Clock, allowed: Allowed) -> Store:
    address = postgresql.Address(**_login(objects, source, allowed))
    limits = postgresql.Limits(read=_longest_read())
    return postgresql.PostgresStore(address, _what(source), clock, limits=limits)


def _what(source: PostgresqlSource) -> postgresql.Table | postgresql.Query:
    if source.query is not None:
        return postgresql.Query(source.query)
    return postgresql.Table(source.table or "", source.schema_name, source.columns)


def _mysql(objects: _Objects, source: MysqlSource, clock: Clock, allowed: Allowed) -> Store:
    address = mysql.Address(**_login(objects, source, allowed))
    what = (
        mysql.Table(source.table or "", source.columns) if source.query is None else mysql.Query(source.query)
    )
    limits = mysql.Limits(read=_longest_read())
    return mysql.MysqlStore(address, what, clock, json=source.json_columns, limits=limits)


def _redis(objects: _Objects, source: RedisSource, clock: Clock, allowed: Allowed) -> Store:
    address = redis.Address(**_login(objects, source, allowed))
    what = redis.Hashes(source.prefix, source.key_column, source.json_columns)
    return redis.RedisStore(address, what, clock, limits=redis.Limits(read=_longest_read()))


def _http(objects: _Objects, source: HttpSource, clock: Clock, allowed: Allowed) -> Store:
    http.check_url(source.url, allowed.http)
    pages = http.Pages(
        source.url,
        source.paging,
        items=source.items,
        headers={header.name: objects.header(header) for header in source.headers},
        next_url=source.next_url or "",
        cursor=source.cursor or "",
        cursor_parameter=source.cursor_parameter,
        total=source.total or "",
        total_header=source.total_header or "",
        ca=objects.authorities(source.ca_secret_ref),
    )
    return http.HttpStore(pages, allowed.http, clock, limits=http.Limits(read=_longest_read()))


def _longest_read() -> float:
    return max(1.0, min(_LONGEST_READ, deadline.remaining() - _TIME_TO_FOLLOW))


@dataclass(frozen=True)
class _Objects:
    """The ConfigMaps and Secrets of one namespace. No message has what is in them."""

    get: Get
    namespace: str

    def table(self, source: ConfigMapSource) -> TextStore:
        found = self._object(CONFIG_MAPS, source.name)
        text = (found.get("data") or {}).get(source.key)
        if not isinstance(text, str):
            raise _invalid(f"the ConfigMap {source.name} has no key {source.key}")
        # Another one of that name may have the same version.
        metadata = found.get("metadata") or {}
        uid, version = metadata.get("uid"), metadata.get("resourceVersion")
        return TextStore(text, source.format, f"{uid} {version}" if uid and version else None)

    def secret(self, ref: SecretKeySelector) -> str:
        """Without the line end that editors and files add."""
        value = self._data(SECRETS, ref.name).get(ref.key)
        if not isinstance(value, str):
            raise _invalid(f"the Secret {ref.name} has no key {ref.key}")
        try:
            text = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            # Without the cause: it has the value.
            raise _invalid(f"the key {ref.key} of the Secret {ref.name} is no text") from None
        return text.removesuffix("\n").removesuffix("\r")

    def header(self, header: HttpHeader) -> str:
        value = self.secret(header.secret_ref)
        if not value.isascii() or not value.isprintable():
            ref = header.secret_ref
            raise _invalid(f"the key {ref.key} of the Secret {ref.name} must be one line of ASCII text")
        return value

    def authorities(self, ref: SecretKeySelector | None) -> str | None:
        if ref is None:
            return None
        text = self.secret(ref)
        if not _has_certificates(text):
            raise _invalid(f"the key {ref.key} of the Secret {ref.name} has no certificates in PEM")
        return text

    def _data(self, kind: ResourceKind, name: str) -> Mapping[str, Any]:
        data: Mapping[str, Any] = self._object(kind, name).get("data") or {}
        return data

    def _object(self, kind: ResourceKind, name: str) -> Mapping[str, Any]:
        try:
            return self.get(kind, ObjectKey(self.namespace, name))
        except NotFound as error:
            raise _invalid(f"the {kind.kind} {name} does not exist") from error
        except Forbidden as error:
            raise StoreError(StoreReason.ACCESS_DENIED, str(error)) from error
        except KubeError as error:
            raise StoreError(StoreReason.UNREACHABLE, str(error)) from error


def _has_certificates(text: str) -> bool:
    if not text:
        # It would stand for the authorities of the system.
        return False
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        return False
    return True


def _invalid(message: str) -> StoreError:
    return StoreError(StoreReason.INVALID_CONFIGURATION, message)
