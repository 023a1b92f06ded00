"""A reflector: lists a kind once, watches it, and lists again if the server no longer has the version.

    list (in pages) ──────► synced ──► watch ──► ended ──► watch again from the last version
      ▲   ▲                              │                   (if the server has reached it)
      │   └──────────── 410 Gone ────────┤
      └── back-off ◄── 403, 404, 5xx, no response, 410 again without any event

Changes between two watches are not lost: the server sends them from the last version on, or reports that it
no longer has the version (410), and then they follow from the difference between two lists.

A server whose etcd was restored from a backup accepts a watch from a version that it has not reached, and
sends no event until it has (kube-apiserver 1.35 answers 504 to a list only). So before it watches again, the
reflector lists one object, which tells the server's version. It also notices events and bookmarks of earlier
versions. After an outage it lists the kind in any case, as the server may have passed the last version again
(see outages.py). It watches on from the last version if that list is refused, and tries the list again later:
a server that has just started may refuse whole lists for minutes, and answer watches.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import structlog

from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.kube.cache import Cache, Index, ObjectChange
from edgetenants_runtime.kube.client import KubeClient, Page, PageTooLarge
from edgetenants_runtime.kube.errors import Forbidden, Gone, KubeError, NotFound
from edgetenants_runtime.kube.handlers import tell
from edgetenants_runtime.kube.outages import Outages
from edgetenants_runtime.kube.transform import Transform
from edgetenants_runtime.kube.watch import EventType, Watch, WatchEvent
from edgetenants_runtime.managed import ResourceKind

__all__ = ["Handler", "Informer"]

JsonObject = Mapping[str, Any]
Handler = Callable[[ObjectChange], None]

_log = structlog.get_logger("edgetenants_runtime.kube.informer")

_BREAKS_WATCHES = (410, 500, 504)
"""Errors of a watch that a list may not have. A server that cannot continue from a version, as it has not
reached it, may answer 504."""
_WHOLE = 4
"""A list in one response may be as large as that many pages."""


class Informer:
    """Keeps a cache of one kind and calls handlers for changes, from its own thread.

    Waits for the API server in real time. An error is logged once, shown in `problem`, and retried forever.
    """

    FIRST_RETRY = 1.0
    LONGEST_RETRY = 30.0
    WATCH_SECONDS = (300, 600)
    AGAIN_SECONDS = 15
    """The shortest watch, after which a server is asked again that was down and refuses lists (429)."""
    GATE_SECONDS = 1.0
    FIRST_PAGE = 50
    LARGEST_PAGE = 500
    """Objects."""
    PAGE_BYTES = 4 * 1024 * 1024
    """Anyone may create objects of a megabyte: pages of such objects are smaller."""
    GONE_AFTER = 3
    """The number of consecutive 404 responses after which the objects count as deleted."""

    def __init__(  # noqa: PLR0913 - options, by name
        self,
        client: KubeClient,
        kind: ResourceKind,
        rng: random.Random,
        *,
        indexes: Mapping[str, Index] | None = None,
        annotations: Mapping[str, int] | None = None,
        first: Collection[str] = (),
        metadata_only: bool = False,
        gate: Callable[[], bool] = lambda: True,
        exists: Callable[[], bool] = lambda: False,
    ) -> None:
        """`annotations`: those that the cache keeps besides those that the kind declares, each with a number
        of characters; `first`: labels and finalizers that it keeps before others. `gate` returns whether to
        list the kind; while it is False, no requests are sent. `exists` returns whether the kind is known to
        exist: then its objects do too, although the API server answers 404."""
        self.kind = kind
        self.cache = Cache(indexes, Transform.of(kind, annotations, first=first, metadata_only=metadata_only))
        self._client = client
        self._rng = rng
        self._metadata_only = metadata_only
        self._gate, self._exists = gate, exists
        self._handlers: list[Handler] = []
        self._synced = threading.Event()
        self._stopping = threading.Event()
        self._poked = threading.Event()
        self._watch: Watch | None = None
        self._version = ""
        self._newest = ""
        self._failures = 0
        self._outages = Outages()
        self._broken_watches = 0
        """The number of consecutive watches that failed without any event, although lists succeeded."""
        self._problem = ""
        self._unlisted = ""
        """Why the server refused the list that is due, while it is watched; "" if it refused none."""
        self._served = True
        self._forbidden = False
        self._thread = threading.Thread(target=self._run, name=f"informer {kind.resource}", daemon=True)

    def add_handler(self, handler: Handler) -> None:
        """Call the handler for changes, in the informer's thread. Add it before `start`. It must not
        block."""
        self._handlers.append(handler)

    def start(self) -> None:
        """Start listing and watching."""
        self._thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """Stop; wait up to `timeout` real seconds for the thread."""
        self._stopping.set()
        self._poked.set()
        if self._watch is not None:
            self._watch.close()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def poke(self) -> None:
        """Retry now, if it is backing off: something that it waits for has changed."""
        self._failures = 0
        self._poked.set()

    @property
    def synced(self) -> bool:
        """The cache has been filled with a whole list at least once."""
        return self._synced.is_set()

    def wait_synced(self, timeout: float) -> bool:
        """Wait up to `timeout` real seconds until it is synced."""
        return self._synced.wait(timeout)

    @property
    def served(self) -> bool:
        """The API server serves the kind; False while its CRD is missing or not yet established."""
        return self._served

    @property
    def absent(self) -> bool:
        """The API server has reported repeatedly that it does not serve the kind, so it is not just
        starting."""
        return not self._served and self._failures > self.GONE_AFTER

    @property
    def forbidden(self) -> bool:
        """The API server's last response was that the provider may not read the objects."""
        return self._forbidden

    @property
    def problem(self) -> str:
        """Why objects cannot be read at present, with the RBAC rule if one is missing; "" if they can. If the
        server refuses the list after an outage, changes are followed meanwhile."""
        return self._problem

    def _run(self) -> None:
        while not self._stopping.is_set():
            # Clear it before the attempt, so that a poke during it is not lost.
            self._poked.clear()
            if not self._gate():
                self._problem, self._served = "", False
                self._all_gone()
                self._rest(self.GATE_SECONDS)
                continue
            try:
                self._catch_up()
                self._follow()
            except Gone as error:
                self._forgotten(error)
            except KubeError as error:
                self._failed(error)
            except Exception:  # noqa: BLE001 - a bug must not stop the informer
                _log.exception("cannot watch objects, listing again", resource=self.kind.resource)
                self._version = ""
                self._rest(self.LONGEST_RETRY)

    def _catch_up(self) -> None:
        """List the kind, if there is no version to watch from, or if the server may have lost it."""
        reached = self._reached() if self._version else None
        if reached is not None and self._is_earlier(reached):
            self._version = ""
        if not self._version:
            self._version = self._list()
        elif reached is not None and (self._broken_watches or self._outages.in_doubt == 0.0):
            self._list_or_watch_on()

    def _list_or_watch_on(self) -> None:
        """A server that refuses whole lists may answer watches: without one, the cache would stand still."""
        try:
            self._version = self._list()
        except KubeError as error:
            self._outages.refused(error.retry_after)
            self._unlisted = str(error)
            self._name(error)

    def _list(self) -> str:
        objects, version = self._pages()
        for change in self._replaced(objects, version):
            self._tell(change)
        self._newest, self._unlisted = version, ""
        self._outages.listed()
        self._readable()
        self._synced.set()
        return version

    def _replaced(self, objects: list[JsonObject], version: str) -> list[ObjectChange]:
        if not self._is_earlier(version):
            return self.cache.replaced(objects, version)
        # The server's state was replaced, for example by a backup: earlier versions are meaningless.
        _log.warning(
            "the API server returned an older resource version, replacing the cache",
            resource=self.kind.resource,
        )
        return self.cache.restored(objects)

    def _pages(self) -> tuple[list[JsonObject], str]:
        """All objects, of which only what is kept: a page is parsed, and then forgotten."""
        objects: list[JsonObject] = []
        token, limit = "", self.FIRST_PAGE
        while True:
            try:
                page = self._page(token, limit)
            except PageTooLarge:
                limit = max(1, limit // 2)
                continue
            except Gone:
                if not token:
                    raise
                # The snapshot was compacted between two pages; that is likely to happen again.
                page, objects = self._whole(), []
            objects += map(self.cache.kept, page.items)
            token = page.continue_token
            if not token:
                return objects, page.resource_version
            if page.size <= self.PAGE_BYTES // 2:
                limit = min(self.LARGEST_PAGE, limit * 2)

    def _whole(self) -> Page:
        try:
            return self._page("", 0)
        except PageTooLarge as error:
            raise Gone(error.operation, 410, "the list changes faster than its pages can be read") from error

    def _page(self, token: str, limit: int) -> Page:
        """Raises PageTooLarge, unless it is of one object."""
        return self._client.list_page(
            self.kind,
            limit=limit,
            continue_token=token,
            metadata_only=self._metadata_only,
            at_most=self.PAGE_BYTES * (1 if limit else _WHOLE) if limit != 1 else None,
        )

    def _reached(self) -> str | None:
        """The version that the server has reached; None if it does not tell."""
        try:
            reached = self._client.reached(self.kind)
        except KubeError:
            # Its watch will tell what is wrong, and its bookmarks whether the server was restored.
            return None
        self._outages.answered()
        return reached

    def _is_earlier(self, version: str) -> bool:
        """The server has not reached a version that it had: its state was replaced by an older one."""
        return _number(version) < _number(self._newest)

    def _all_gone(self) -> None:
        self._version = self._newest = ""
        for change in self.cache.emptied():
            self._tell(change)

    def _follow(self) -> None:
        seconds, doubt = self._rng.randint(*self.WATCH_SECONDS), self._outages.in_doubt
        if doubt is not None:
            seconds = min(seconds, max(self.AGAIN_SECONDS, 1 + int(doubt)))
        lasted = Stopwatch()
        watch = self._client.watch(
            self.kind, self._version, seconds=seconds, metadata_only=self._metadata_only
        )
        self._watch = watch
        self._outages.answered()
        self._readable()
        if self._broken_watches <= 1:
            self._failures = 0
        if self._stopping.is_set():
            watch.close()
        for event in watch:
            self._outages.heard()
            self._tells()
            version = event.object["metadata"]["resourceVersion"]
            if self._is_earlier(version):
                watch.close()
                self._version = ""
                break
            self._take_in(event)
            self._version = self._newest = version
        if watch.broken:
            self._outages.broke()
        self._tells()
        # Do not loop without delay if a server ends each watch immediately.
        if lasted.elapsed() < self.FIRST_RETRY:
            self._rest(self.FIRST_RETRY * self._rng.uniform(0.75, 1.25))

    def _tells(self) -> None:
        """The watch works: it has delivered an event, or has ended normally."""
        if self._broken_watches:
            self._broken_watches = self._failures = 0
            self._readable()

    def _take_in(self, event: WatchEvent) -> None:
        if event.type is EventType.BOOKMARK:
            return
        if event.type is not EventType.DELETED:
            for change in self.cache.changed(event.object):
                self._tell(change)
            return
        gone = self.cache.deleted(event.object)
        if gone is not None:
            self._tell(gone)

    def _tell(self, change: ObjectChange) -> None:
        tell(self._handlers, change, resource=self.kind.resource, key=str(change.key))

    def _readable(self) -> None:
        self._served, self._forbidden = True, False
        if self._broken_watches > 1:
            # Lists succeed, but no watch has delivered an event since: changes are not observed.
            return
        if self._unlisted:
            # Changes are observed, but the cache may have objects of a lost history.
            self._problem = self._unlisted
            return
        if self._problem:
            _log.info("objects can be read again", resource=self.kind.resource)
        self._problem = ""

    def _forgotten(self, error: Gone) -> None:
        """The server cannot continue from the version. That is normal once: it drops versions that are some
        minutes old. A server that drops the version that it has just listed delivers no changes."""
        self._version = ""
        if error.operation.verb == "watch" and not self._broken_watches:
            self._broken_watches = 1
            self._rest(self._rng.uniform(0.0, 1.0))
        else:
            self._failed(error)

    def _failed(self, error: KubeError) -> None:
        if self._stopping.is_set():
            return
        if error.operation.verb == "watch" and error.code in _BREAKS_WATCHES:
            self._broken_watches += 1
        self._outages.failed(transient=error.transient)
        self._served = not isinstance(error, NotFound)
        self._forbidden = isinstance(error, Forbidden)
        self._name(error)
        if not self._served:
            self._version = ""
        if not self._served and self._failures >= self.GONE_AFTER and not self._exists():
            # The server is not just starting: the objects were deleted with their kind.
            self._all_gone()
        delay = min(self.LONGEST_RETRY, self.FIRST_RETRY * 2.0 ** min(self._failures, 30))
        self._failures += 1
        self._rest(max(error.retry_after, delay * self._rng.uniform(0.75, 1.25)))

    def _name(self, error: KubeError) -> None:
        if str(error) != self._problem:
            log = _log.warning if self._served else _log.info
            log("cannot read objects, backing off", resource=self.kind.resource, error=str(error))
        self._problem = str(error)

    def _rest(self, seconds: float) -> None:
        if not self._stopping.is_set():
            self._poked.wait(seconds)


def _number(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdigit() else 0
