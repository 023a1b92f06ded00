"""The DNS services outside of AWS that provider configs name: servers, by `dns.rfc2136` or `dns.powerdns`,
and services on the internet, by `dns.cloudflare` or `dns.azure`.

They need no credentials of AWS, so such a config is not opened as an account, and its `credentials.source`
may be None. Nothing here sends a request: a store does, when it is first used. Equal configs share a store,
and so what it remembers; all stores of a server share its pace. At a service on the internet, each namespace
has a pace of its own.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from apis.errors import InvalidInput, parse
from apis.providerconfig import AzureDns, Cloudflare, PowerDns, Propagation, ProviderConfigSpec, Rfc2136
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.config.resolved import ResolvedConfig, SecretField
from edgetenants_runtime.errors import ExternalError, Retry
from provider.cloudfront.account import hosted_dns, record_stores, secret_values
from provider.cloudfront.account.hosted_dns import PUBLIC_SERVICES, Clients
from provider.cloudfront.account.public_addresses import is_public
from provider.cloudfront.account.record_stores import Records
from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns import remembering
from provider.dns.azure import AzureStore
from provider.dns.cloudflare import CloudflareStore
from provider.dns.cloudflare.calls import MOST_RECORDS, throttle_of_token
from provider.dns.errors import Failure
from provider.dns.powerdns import Api, PowerDnsStore
from provider.dns.remembering import RememberingStore
from provider.dns.rfc2136 import Rfc2136Store, Server
from provider.dns.rfc2136.serving import system_addresses
from provider.dns.rfc2136.store import NameServers
from provider.dns.server_pace import HostedPace, Pace, ServerPace, connections_to
from provider.dns.store import RecordStore
from provider.dns.throttle import Throttle

__all__ = ["SECRETS", "Allowed", "DnsServers", "is_named_by", "parse_servers"]

_TSIG: Final = "dns.rfc2136.tsigSecretRef"
_API_KEY: Final = "dns.powerdns.apiKeySecretRef"
SECRETS: Final = (
    SecretField(_TSIG, ("name", "secret"), optional=("algorithm",)),
    SecretField(_API_KEY),
    *hosted_dns.SECRETS,
)
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


_SERVICES: Final = ("rfc2136", "powerdns", "cloudflare", "azure")
"""Fields of spec.dns."""
_SECONDS_BEHIND_COPIES: Final = 300.0
"""How long records of Cloudflare are remembered: its store answers from copies as old as that."""
_ROOM_OF_TEAM: Final = 6 * 1024 * 1024
"""Bytes that the store of a namespaced config remembers: some hundred domains."""


@dataclass(frozen=True)
class _Opened:
    fingerprint: str
    records: Records
    namespace: str


class DnsServers:
    """Those of all provider configs. Thread-safe."""

    def __init__(
        self, clock: Clock, allowed: Allowed = Allowed(), clients: Clients = PUBLIC_SERVICES
    ) -> None:
        self._clock, self._allowed, self._clients = clock, allowed, clients
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        """By the uid of the config; the one used last is the last one."""
        self._stores: WeakValueDictionary[str, RememberingStore] = WeakValueDictionary()
        self._paces: WeakValueDictionary[str, ServerPace] = WeakValueDictionary()
        self._throttles: WeakValueDictionary[str, Throttle] = WeakValueDictionary()
        """By token: a service counts the requests of each."""
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
        if spec.dns is not None and spec.dns.cloudflare is not None:
            return self._cloudflare(config, spec.dns.cloudflare)
        if spec.dns is not None and spec.dns.azure is not None:
            return self._azure(config, spec.dns.azure)
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
        return name, self._shared(identity, store, partial(self._pace, name), _OF_RFC2136, of_team=of_team)

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
        return name, self._shared(identity, store, partial(self._pace, name), _OF_POWERDNS, of_team=of_team)

    def _cloudflare(self, config: ResolvedConfig, said: Cloudflare) -> tuple[str, RecordStore]:
        settings, of_team = hosted_dns.cloudflare_settings(config, said), self._is_of_team(config)
        with self._lock:
            token = _digest("cloudflare", settings.token)
            throttle = self._throttles.setdefault(token, throttle_of_token(self._clock))
        store = CloudflareStore(
            settings,
            self._clock,
            self._clients.cloudflare,
            # A team's token may read zones of any size.
            most_copied=0 if of_team else MOST_RECORDS,
            throttle=throttle,
        )
        identity = _digest(token, said.model_dump_json(), config.key.namespace, of_team)
        name = str(store)
        return name, self._shared(
            identity,
            store,
            partial(self._hosted_pace, name, config.key.namespace),
            hosted_dns.ADVICE_FOR_CLOUDFLARE,
            of_team=of_team,
            seconds=remembering.SECONDS if of_team else _SECONDS_BEHIND_COPIES,
        )

    def _azure(self, config: ResolvedConfig, said: AzureDns) -> tuple[str, RecordStore]:
        settings, of_team = hosted_dns.azure_settings(config, said), self._is_of_team(config)
        store = AzureStore(settings, self._clock, self._clients.azure)
        application = (settings.tenant_id, settings.client_id, settings.client_secret)
        identity = _digest("azure", said.model_dump_json(), *application, config.key.namespace, of_team)
        # A cloud may be out of reach alone.
        pace = partial(self._hosted_pace, f"Azure DNS, cloud {said.cloud}", config.key.namespace)
        name = f"{store} of subscription {said.subscription_id}"
        return name, self._shared(identity, store, pace, hosted_dns.ADVICE_FOR_AZURE, of_team=of_team)

    def _pace(self, server: str) -> ServerPace:
        """The pace of a server, however configs spell its name. Call under the lock."""
        pace = self._paces.get(server)
        if pace is None:
            pace = self._paces[server] = ServerPace(self._clock, server)
        return pace

    def _hosted_pace(self, service: str, namespace: str) -> HostedPace:
        """The pace of a namespace at a service; "" for cluster-scoped configs. Call under the lock."""
        own, connections = (f"{each} of {service}" for each in (f"namespace {namespace}", "connections"))
        pace = self._paces.get(own) or ServerPace(self._clock, service)
        shared = self._paces.get(connections) or connections_to(self._clock, service)
        self._paces[own], self._paces[connections] = pace, shared
        return HostedPace(pace, shared)

    def _shared(
        self,
        identity: str,
        store: RecordStore,
        pace: Callable[[], Pace],
        advice: str,
        *,
        of_team: bool,
        seconds: float = remembering.SECONDS,
    ) -> RecordStore:
        """The store of equal configs."""
        with self._lock:
            known = self._stores.get(identity)
            if known is not None:
                return known
            advices = {Failure.NOT_PERMITTED: advice}
            room = _ROOM_OF_TEAM if of_team else remembering.ROOM
            made = RememberingStore(store, pace(), self._clock, advices, room, seconds)
            self._stores[identity] = made
            return made

    def _check(self, config: ResolvedConfig, field: str, host: str, port: int) -> bool:
        """Whether a team wrote the config, so that it is restricted.

        Raises:
            ExternalError: it names a server that it may not name: requests from inside of the cluster reach
                more than the team does.
        """
        if not self._is_of_team(config):
            return False
        if (_bare(host), port) not in self._allowed.servers:
            raise ExternalError(
                f"{field}: {_bare(host)}:{port} is not one of the DNS servers that a namespaced "
                f"{config.key.kind} may use; have an administrator add it to the provider's flag {_FLAG}, or "
                "use a cluster-scoped provider config",
                retry=Retry.poll(),
            )
        return True

    def _is_of_team(self, config: ResolvedConfig) -> bool:
        """Whether a team wrote the config, and no flag trusts it."""
        return bool(config.key.namespace) and not self._allowed.all


def is_named_by(config: ResolvedConfig) -> bool:
    """Whether a config writes its records to a DNS service outside of AWS."""
    dns = config.spec.get("dns")
    return isinstance(dns, Mapping) and any(dns.get(each) for each in _SERVICES)


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
