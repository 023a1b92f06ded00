"""The DNS services outside of AWS that provider configs name, by `dns.rfc2136` or `dns.powerdns`.

They need no credentials of AWS, so such a config is not opened as an account, and its `credentials.source`
may be None. Nothing here sends a request: a store does, when it is first used. Equal configs share a store,
and so what it remembers; all stores of a server share its pace.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import socket
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from apis.errors import InvalidInput, parse
from apis.providerconfig import PowerDns, Propagation, ProviderConfigSpec, Rfc2136
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.config.resolved import ResolvedConfig, SecretField
from edgetenants_runtime.errors import ExternalError, Retry
from provider.cloudfront.account import record_stores, secret_values
from provider.cloudfront.account.public_addresses import is_public
from provider.cloudfront.account.record_stores import Records
from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns.errors import Failure
from provider.dns.powerdns import Api, PowerDnsStore
from provider.dns.remembering import RememberingStore
from provider.dns.rfc2136 import Rfc2136Store, Server
from provider.dns.rfc2136.serving import system_addresses
from provider.dns.rfc2136.store import NameServers
from provider.dns.server_pace import ServerPace
from provider.dns.store import RecordStore

__all__ = ["SECRETS", "Allowed", "DnsServers", "is_named_by", "parse_servers"]

_TSIG: Final = "dns.rfc2136.tsigSecretRef"
_API_KEY: Final = "dns.powerdns.apiKeySecretRef"
SECRETS: Final = (SecretField(_TSIG, ("name", "secret"), optional=("algorithm",)), SecretField(_API_KEY))
"""The Secrets of these services."""
_FLAG: Final = "--namespaced-dns-servers"
_MOST: Final = 1000
"""Configs that are kept; those used last. What is known of the others is read again."""
_MOST_OF_NAMESPACE: Final = 20
"""Of one namespace: a team that makes many must not have those of others dropped."""
_MOST_TICKETS_OF_NAMESPACE: Final = 2 * _MOST_OF_NAMESPACE
_NUMBERS: Final = re.compile("[0-9a-fx.]*[0-9]")
_PORTS: Final = {"http": 80, "https": 443}
_OF_RFC2136: Final = (
    "Check the fields tsigSecretRef and zones in spec.dns.rfc2136 of the ProviderConfig, and what the server "
    "permits this key"
)
_OF_POWERDNS: Final = (
    "Check the fields apiKeySecretRef and caCertificates in spec.dns.powerdns of the ProviderConfig, and the "
    "server's settings api-key and webserver-allow-from"
)


@dataclass(frozen=True)
class Allowed:
    """The servers that a namespaced config may name, which a team of the namespace writes."""

    servers: frozenset[tuple[str, int]] = frozenset()
    """Hosts in lower case, without brackets, and ports."""
    all: bool = False


_ROOM_OF_TEAM: Final = 6 * 1024 * 1024
"""Bytes that the store of a namespaced config remembers: some hundred domains."""


@dataclass(frozen=True)
class _Opened:
    fingerprint: str
    records: Records
    namespace: str


class DnsServers:
    """Those of all provider configs. Thread-safe."""

    def __init__(self, clock: Clock, allowed: Allowed = Allowed()) -> None:
        self._clock, self._allowed = clock, allowed
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        """By the uid of the config; the one used last is the last one."""
        self._stores: WeakValueDictionary[str, RememberingStore] = WeakValueDictionary()
        self._paces: WeakValueDictionary[str, ServerPace] = WeakValueDictionary()
        self._tickets: OrderedDict[tuple[str, str, str], RecordTickets] = OrderedDict()
        """By namespace and uid of the config, and its server: what is under way there outlives an edit of the
        config, and a time in which it is not used."""

    def of(self, config: ResolvedConfig) -> Records:
        """Return the service of a config of which `is_named_by` is true. Open it again if the config or its
        Secret changed.

        Raises:
            ExternalError: the config or its Secret cannot be used. The message has nothing of the Secret.
        """
        fingerprint = _fingerprint(config)
        with self._lock:
            known = self._opened.get(config.uid)
            if known is not None and known.fingerprint == fingerprint:
                self._opened.move_to_end(config.uid)
                return known.records
        spec = _spec(config)
        server, store = self._store(config, spec)
        with self._lock:
            records = record_stores.made(spec, store, self._tickets_of(config, server))
            # Another worker may have opened it meanwhile: all must share its tickets.
            known = self._opened.get(config.uid)
            if known is not None and known.fingerprint == fingerprint:
                return known.records
            self._opened.pop(config.uid, None)
            self._opened[config.uid] = _Opened(fingerprint, records, config.key.namespace)
            self._make_room(config.key.namespace)
        return records

    def gone(self, uid: str) -> None:
        """Forget a deleted provider config. A store that no config uses closes its connections."""
        with self._lock:
            self._opened.pop(uid, None)
            for key in [each for each in self._tickets if each[1] == uid]:
                del self._tickets[key]

    def _tickets_of(self, config: ResolvedConfig, server: str) -> RecordTickets:
        """Call under the lock. Those at another server say nothing about this one."""
        key = (config.key.namespace, config.uid, server)
        tickets = self._tickets.pop(key) if key in self._tickets else RecordTickets()
        self._tickets[key] = tickets
        of_team = [each for each in self._tickets if each[0] == config.key.namespace]
        most = _MOST_TICKETS_OF_NAMESPACE if config.key.namespace else _MOST
        for each in of_team[:-most]:
            del self._tickets[each]
        return tickets

    def _make_room(self, namespace: str) -> None:
        """Call under the lock."""
        of_team = [uid for uid, each in self._opened.items() if namespace and each.namespace == namespace]
        for uid in of_team[:-_MOST_OF_NAMESPACE]:
            del self._opened[uid]
        while len(self._opened) > _MOST:
            self._opened.popitem(last=False)

    def _store(self, config: ResolvedConfig, spec: ProviderConfigSpec) -> tuple[str, RecordStore]:
        if spec.dns is not None and spec.dns.powerdns is not None:
            return self._powerdns(config, spec.dns.powerdns)
        if spec.dns is not None and spec.dns.rfc2136 is not None:
            return self._rfc2136(config, spec.dns.rfc2136)
        raise ExternalError(f"{config.key}: spec.dns: expected a DNS server, got none", retry=Retry.poll())

    def _rfc2136(self, config: ResolvedConfig, said: Rfc2136) -> tuple[str, RecordStore]:
        field = f"{config.key}: spec.dns.rfc2136"
        of_team = self._check(config, f"{field}.server", said.server, said.port)
        secret = config.secrets.get(_TSIG)
        if of_team and secret is None:
            # The server would permit them by the provider's address, which is not the team's.
            raise ExternalError(
                f"{field}.tsigSecretRef: expected a Secret with a key, got none; a namespaced "
                f"{config.key.kind} may not send updates without a signature",
                retry=Retry.poll(),
            )
        key = secret_values.tsig_key(f"{field}.tsigSecretRef", secret) if secret is not None else None
        names = NameServers(addresses=_public_addresses if of_team else system_addresses)
        store = Rfc2136Store(
            Server(said.server, said.port),
            key,
            clock=self._clock,
            zones=said.zones or (),
            name_servers=names if said.propagation is Propagation.NAME_SERVERS else None,
        )
        name = f"DNS server {_host(said.server)} port {said.port}"
        identity = _digest("rfc2136", said.model_dump_json(), secret or {}, of_team)
        return name, self._shared(identity, store, name, _OF_RFC2136, of_team=of_team)

    def _powerdns(self, config: ResolvedConfig, said: PowerDns) -> tuple[str, RecordStore]:
        field = f"{config.key}: spec.dns.powerdns"
        scheme, host, port, path = _reached(f"{field}.url", said.url)
        of_team = self._check(config, f"{field}.url", host, port)
        secret = config.secrets.get(_API_KEY) or {}
        key = secret_values.api_key(f"{field}.apiKeySecretRef", secret)
        try:
            store = PowerDnsStore(
                Api(said.url, key, said.server_id),
                zones=said.zones or (),
                authorities=said.ca_certificates,
                has_alias=said.apex_alias,
                clock=self._clock,
            )
        except ValueError as error:
            raise ExternalError(f"{field}.caCertificates: {error}", retry=Retry.poll()) from error
        identity = _digest("powerdns", said.model_dump_json(), secret, of_team)
        # Several servers may be behind one proxy, each with a path. The authorities are no part of it: a
        # certificate that a config does not trust is an answer, which pauses no other config.
        name = f"PowerDNS {scheme}://{_host(host)}:{port}{path}"
        return name, self._shared(identity, store, name, _OF_POWERDNS, of_team=of_team)

    def _shared(
        self, identity: str, store: RecordStore, server: str, advice: str, *, of_team: bool
    ) -> RecordStore:
        """The store of equal configs. `server` names it, however configs spell it: all requests to it share
        its pace."""
        with self._lock:
            known = self._stores.get(identity)
            if known is not None:
                return known
            pace = self._paces.get(server)
            if pace is None:
                pace = self._paces[server] = ServerPace(self._clock, server)
            advices = {Failure.NOT_PERMITTED: advice}
            how = {"room": _ROOM_OF_TEAM} if of_team else {}
            made = RememberingStore(store, pace, self._clock, advices, **how)
            self._stores[identity] = made
            return made

    def _check(self, config: ResolvedConfig, field: str, host: str, port: int) -> bool:
        """Whether a team wrote the config, so that it is restricted.

        Raises:
            ExternalError: it names a server that it may not name: requests from inside of the cluster reach
                more than the team does.
        """
        if not config.key.namespace or self._allowed.all:
            return False
        if (_bare(host), port) not in self._allowed.servers:
            raise ExternalError(
                f"{field}: {_bare(host)}:{port} is not one of the DNS servers that a namespaced "
                f"{config.key.kind} may use; have an administrator add it to the provider's flag {_FLAG}, or "
                "use a cluster-scoped provider config",
                retry=Retry.poll(),
            )
        return True


def is_named_by(config: ResolvedConfig) -> bool:
    """Whether a config writes its records to a DNS service outside of AWS."""
    dns = config.spec.get("dns")
    return isinstance(dns, Mapping) and bool(dns.get("rfc2136") or dns.get("powerdns"))


def _bare(host: str) -> str:
    return host.strip("[]").lower()


def _host(host: str) -> str:
    """A host in one spelling: an address as most people write it, a name without the final dot."""
    bare = _bare(host)
    with suppress(OSError, UnicodeError):
        # Such as 127.1, which the system takes for an address.
        bare = socket.inet_ntoa(socket.inet_aton(bare)) if _NUMBERS.fullmatch(bare) else bare
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        # A name of one label may be completed by the resolver, unless a dot ends it: that is another host.
        return bare.removesuffix(".") if "." in bare[:-1] else bare
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _reached(field: str, url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and path, as the HTTP client itself reads them: another reader could see another
    host."""
    try:
        parsed = parse_url(url)
    except LocationParseError as error:
        raise ExternalError(f"{field}: expected a URL, got something else", retry=Retry.poll()) from error
    if parsed.scheme not in _PORTS or not parsed.host or parsed.auth:
        raise ExternalError(
            f"{field}: expected an http or https URL with a host and without a user", retry=Retry.poll()
        )
    path = (parsed.path or "").rstrip("/")
    return parsed.scheme, _bare(parsed.host), parsed.port or _PORTS[parsed.scheme], path


def _public_addresses(host: str) -> Iterable[str]:
    """The public addresses of a name server. Who may change a zone of a team chooses its name servers."""
    return [each for each in system_addresses(host) if is_public(each)]


def _spec(config: ResolvedConfig) -> ProviderConfigSpec:
    try:
        return parse(ProviderConfigSpec, dict(config.spec), root="spec")
    except InvalidInput as error:
        raise ExternalError(f"{config.key}: {error}", retry=Retry.poll()) from error


def _fingerprint(config: ResolvedConfig) -> str:
    spec = {name: config.spec.get(name) for name in ("dns", "writes", "credentials")}
    return _digest(str(config.key), json.dumps(spec, sort_keys=True, default=str), config.secrets)


def _digest(*parts: object) -> str:
    """A digest, also of the contents of Secrets."""
    return hashlib.sha256("\0".join(map(_text, parts)).encode()).hexdigest()


def _text(part: object) -> str:
    if isinstance(part, Mapping):
        return json.dumps({name: _text(each) for name, each in part.items()}, sort_keys=True)
    return part.hex() if isinstance(part, bytes) else str(part)


def parse_servers(texts: Collection[str]) -> frozenset[tuple[str, int]]:
    """Return the servers of a flag, each as HOST:PORT, with an IPv6 address in brackets.

    Raises:
        ValueError: one is something else.
    """
    found = set()
    for text in texts:
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536 or (":" in host) != ("[" in host):
            raise ValueError(f"expected HOST:PORT, got {text!r}")
        found.add((_bare(host), int(port)))
    return frozenset(found)
