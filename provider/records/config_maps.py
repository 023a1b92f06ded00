"""The records of which namespace has which domain, stored in ConfigMaps in the provider's own namespace.

They outlive the process, and besides it only administrators write there, and with shards its other processes.
The leader reads all records before
it needs the first, and again in each round: an administrator may release a domain, and the last write of a
former process may arrive late. The provider overwrites only the version of a ConfigMap that it has read.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeGuard

import structlog

from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, TooLarge
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.cloudfront.safety.name_keys import is_name
from provider.records import life
from provider.records.life import Record
from provider.records.rereads import Rereads
from provider.records.turns import Ticket, Turns
from provider.records.use import Looks

__all__ = ["LABEL", "DomainRecords", "Objects", "config_map"]

_log = structlog.get_logger("provider.domainrecords")

LABEL: Final = "edgetenants.io/kept-domains"
"""The label of every ConfigMap with records; its value is "true"."""
_LABELS: Final = {LABEL: "true"}
_TRIES: Final = 10
_TURN_SECONDS: Final = 5.0
"""How long a caller waits for another's write of the same ConfigMap, in real time."""
_TOLD: Final = 20
"""Maximum number of domains in one log line."""
_LOADED_SECONDS: Final = 5.0
"""How long a write waits for the records at the start, in real time."""

Entries = Mapping[str, Record]
Change = Callable[[Entries], Mapping[str, Record | None]]
"""Maps the records of one ConfigMap to their new states; None ends a record."""


class Objects(Protocol):
    """What the records need of the API server. Every method raises KubeError."""

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        """Return one object."""
        ...

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the objects of a namespace with these labels."""
        ...

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object; return it as stored."""
        ...

    def patch(self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Apply a JSON merge patch; return the object as stored."""
        ...


def config_map(shard: int) -> str:
    """Return the name of the ConfigMap with this number."""
    return f"edgetenants-domains-{shard:02d}"


@dataclass(frozen=True)
class _Shard:
    """One ConfigMap as it was last read or written."""

    version: str = ""
    """Its resourceVersion; "" if it does not exist yet."""
    entries: Entries = field(default_factory=lambda: MappingProxyType({}))


_NONE: Final = _Shard()


class DomainRecords:
    """Implements provider.cloudfront.safety.kept_domains.KeptDomains. Thread-safe."""

    recording = True

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        looks: Looks,
        *,
        clock: Clock | None = None,
        shared: bool = False,
    ) -> None:
        """`namespace` is the provider's own; `clock` is real time; `shared`: other processes write, too."""
        self._shared = shared
        self._objects, self._namespace, self._looks = objects, namespace, looks
        self._lock = threading.Lock()
        self._loaded = threading.Event()
        self._shards: dict[int, _Shard] = {}
        self._turns = Turns()
        self._rereads = Rereads(clock or SystemClock())

    # Reading.

    @property
    def known(self) -> bool:
        """See KeptDomains."""
        return self._loaded.is_set()

    def load(self) -> None:
        """Read all records; skip ConfigMaps that have not changed.

        Raises:
            KubeError: the records cannot be read.
        """
        with self._lock:
            before = {shard: known.version for shard, known in self._shards.items() if known.version}
        numbers = {config_map(shard): shard for shard in range(life.SHARDS)}
        missing = set(before)
        for stored in self._objects.select(CONFIG_MAPS, self._namespace, _LABELS):
            shard = numbers.get(stored["metadata"]["name"])
            if shard is None:
                continue
            missing.discard(shard)
            known = before.get(shard, "")
            if _number(_version(stored)) < _number(known):
                # A backup was restored, or the list is an old one: a second answer decides.
                self._read(shard)
            elif _version(stored) != known:
                self._take_in(shard, stored, over=known)
        for shard in sorted(missing):
            # It was deleted, or lost its label, which does not release anything.
            self._read(shard)
        self._loaded.set()

    def holder(self, domain: str) -> str | None:
        """See KeptDomains."""
        if not self._loaded.wait(_LOADED_SECONDS):
            raise RecordsFailed("the ConfigMaps with its records have not been read yet")
        record = self._shard(life.shard_of(domain)).entries.get(domain)
        return None if record is None else record.namespace

    def vouches(self, key: str, namespace: str) -> bool:
        """See KeptDomains."""
        record = self._shard(life.shard_of(key)).entries.get(key)
        return record is not None and record.namespace == namespace and not record.deleted

    def reread(self, domains: Iterable[str]) -> None:
        """See KeptDomains."""
        try:
            for shard in sorted({life.shard_of(domain) for domain in domains}):
                if self._rereads.due(shard):
                    self._read(shard)
        except KubeError as error:
            raise RecordsFailed(str(error)) from error

    def reread_free(self, domains: Iterable[str]) -> None:
        """See KeptDomains."""
        if self._shared:
            self.reread(domain for domain in domains if self.holder(domain) is None)

    def begin_again(self) -> None:
        """This process works on further resources: read what another process wrote for them. Raises
        KubeError."""
        self._looks.begin_again()
        self.load()

    def entries(self) -> Mapping[int, Entries]:
        """Return all records, by the number of their ConfigMap."""
        with self._lock:
            return {shard: known.entries for shard, known in sorted(self._shards.items())}

    def place(self, domain: str) -> str:
        """See KeptDomains."""
        name, key = config_map(life.shard_of(domain)), life.data_key(domain)
        return f"key {key} of ConfigMap {name} in namespace {self._namespace}"

    # Writing.

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """See KeptDomains."""
        by_shard: dict[int, dict[str, Record]] = {}
        for domain in domains:
            by_shard.setdefault(life.shard_of(domain), {})[domain] = Record(namespace)
        try:
            for shard, wanted in sorted(by_shard.items()):
                self._hold_together(shard, wanted)
        except KubeError as error:
            raise RecordsFailed(str(error)) from error

    def _hold_together(self, shard: int, wanted: Entries) -> None:
        """Let one caller write for all that wait for the same ConfigMap: on their own, they would conflict
        and start over."""
        ticket = self._turns.ask(shard, wanted)
        while not ticket.done:
            batch = self._turns.take(shard, ticket, _TURN_SECONDS)
            if batch is None:
                continue
            try:
                self._change_or_leave(shard, _bounded(batch))
            except BaseException:
                self._turns.give_back(shard, batch, ticket)
                raise
            self._turns.finish(shard, batch)

    def _change_or_leave(self, shard: int, change: Change) -> None:
        try:
            self.change(shard, change)
        except TooLarge as error:
            # No change of a resource helps: the provider does not keep the new domains, and nothing waits.
            _log.error("a ConfigMap of records is full", config_map=config_map(shard), error=str(error))

    def change(self, shard: int, change: Change) -> None:
        """Change the records of one ConfigMap; call `change` again after a conflict.

        Raises:
            KubeError: the ConfigMap was not written.
        """
        for tries_left in reversed(range(_TRIES)):
            known = self._shard(shard)
            wanted = change(known.entries)
            changes = {domain: each for domain, each in wanted.items() if known.entries.get(domain) != each}
            if not changes:
                return
            try:
                stored = self._write(shard, known, changes)
            except (AlreadyExists, Conflict, NotFound):
                if not tries_left:
                    raise
                self._read(shard)
            else:
                self._take_in(shard, stored)
                _tell(shard, known.entries, changes)
                return

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """See KeptDomains."""
        self._looks.note(mr, active)

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """See KeptDomains."""
        for namespace, key in sorted(self._looks.note_deleted(mr, names)):
            # Immediately: otherwise, if the process ends before the next round, the record would vouch for a
            # forged status. Domains do not vouch for anything.
            if is_name(key):
                self._mark_deleted(namespace, key)

    def _mark_deleted(self, namespace: str, key: str) -> None:
        def marked(known: Entries) -> Entries:
            record = known.get(key)
            ours = record is not None and record.namespace == namespace
            return {key: replace(record, deleted=True)} if record and ours else {}

        try:
            self.change(life.shard_of(key), marked)
        except KubeError as error:
            _log.warning("cannot record a deletion; the next round retries", name=key, error=str(error))

    def on_hold(self, mr: Managed) -> None:
        """See KeptDomains."""
        self._looks.note_hold(mr)

    def _write(self, shard: int, known: _Shard, changes: Mapping[str, Record | None]) -> dict[str, Any]:
        data = {life.data_key(domain): each and each.to_value() for domain, each in changes.items()}
        key = ObjectKey(self._namespace, config_map(shard))
        if known.version:
            return self._objects.patch(
                CONFIG_MAPS, key, {"metadata": {"resourceVersion": known.version}, "data": data}
            )
        metadata = {"name": key.name, "namespace": key.namespace, "labels": dict(_LABELS)}
        made = {name: value for name, value in data.items() if value is not None}
        return self._objects.create(CONFIG_MAPS, {"metadata": metadata, "data": made})

    # What is known.

    def _shard(self, shard: int) -> _Shard:
        with self._lock:
            return self._shards.get(shard, _NONE)

    def _read(self, shard: int) -> None:
        before = self._shard(shard).version
        try:
            stored = self._objects.get(CONFIG_MAPS, ObjectKey(self._namespace, config_map(shard)))
        except NotFound:
            self._put(shard, _NONE, over=before)
        else:
            # The version may be older than the known one, after the restore of a backup.
            self._take_in(shard, stored, over=before)

    def _take_in(self, shard: int, stored: Mapping[str, Any], *, over: str = "") -> None:
        data = stored.get("data") or {}
        entries = {life.domain_of(key): Record.of_value(value) for key, value in data.items()}
        spoilt = [domain for domain, record in entries.items() if record.namespace == life.UNREADABLE]
        if spoilt:
            _log.warning(
                "unreadable records; no namespace gets their domains",
                config_map=config_map(shard),
                domains=spoilt,
            )
        self._put(shard, _Shard(_version(stored), MappingProxyType(entries)), over=over)

    def _put(self, shard: int, read: _Shard, *, over: str) -> None:
        with self._lock:
            known = self._shards.get(shard, _NONE).version
            # Two responses may arrive in the wrong order: keep the greater version, unless no other response
            # arrived since this request was sent.
            if known == over or _number(read.version) >= _number(known):
                self._shards[shard] = read


def _tell(shard: int, known: Entries, changes: Mapping[str, Record | None]) -> None:
    kept = {d: record.namespace for d, record in sorted(changes.items()) if _is_news(record, known.get(d))}
    ended = sorted(domain for domain, record in changes.items() if record is None)
    if not kept and not ended:
        return
    _log.info(
        "kept domains changed",
        config_map=config_map(shard),
        kept=dict(islice(kept.items(), _TOLD)),
        ended=ended[:_TOLD],
        more=max(0, len(kept) - _TOLD) + max(0, len(ended) - _TOLD),
    )


def _is_news(after: Record | None, before: Record | None) -> TypeGuard[Record]:
    """Whether the log tells of it; counts change every few minutes."""
    if after is None:
        return False
    return before is None or not life.differs_only_in_count(before, after)


def _bounded(wanted: Sequence[Ticket]) -> Change:
    """Return a change with as many of the wanted records as their namespaces have room for."""

    def change(known: Entries) -> Entries:
        used: Counter[str] = Counter()
        for domain, record in known.items():
            used[record.namespace] += life.size(domain, record)
        taken: dict[str, Record] = {}
        for domain, record in (each for ticket in wanted for each in ticket.wanted.items()):
            if domain not in known and domain not in taken:
                used[record.namespace] += life.size(domain, record)
            if domain in known or used[record.namespace] <= life.MOST_OF_ONE:
                taken[domain] = record
        return taken

    return change


def _version(stored: Mapping[str, Any]) -> str:
    return str(stored["metadata"].get("resourceVersion") or "")


def _number(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdigit() else 0
