"""What the webhooks know: the records of kept domains, the distributions that reconciles have read, and DNS.

Any pod may send a review, so a review must not make the provider do much. It waits at most a second and a
half for what it does not know, and a few threads do that work. What stays unknown refuses nothing.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import structlog

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.serving.repeats import Repeats
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.checks.preflight import distribution_key
from provider.cloudfront.safety.holds import ConfigOf
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.cloudfront.state.distribution import Distribution

__all__ = ["BriefJobs", "KnownFacts", "ReadableRecords", "does_not_exist"]

_log = structlog.get_logger("provider.admission")

Result = TypeVar("Result")

_SECONDS: Final = 1.5
"""How long a review waits for one kind of fact. A user waits for the answer."""
_RECORDS_SECONDS: Final = 10.0
"""How old the records may be. The leader reads them in its rounds, too; other processes only here."""
_REREAD_SECONDS: Final = 1.0
"""How often a refusal reads a record again, and a failed read of all records is repeated."""
_MOST_LOOKUPS: Final = 3
"""Maximum number of domains of one review that are looked up in DNS."""
_MOST_JOBS: Final = 12
_NO_RECORD: Final = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class ReadableRecords(Protocol):
    """What is needed of the records of kept domains; see KeptDomains."""

    def load(self) -> None:
        """Read all records. Raises KubeError."""
        ...

    def holder(self, domain: str) -> str | None:
        """See KeptDomains."""
        ...

    def reread(self, domains: frozenset[str]) -> None:
        """See KeptDomains."""
        ...

    def place(self, domain: str) -> str:
        """See KeptDomains."""
        ...


class BriefJobs:
    """Runs a bounded number of jobs, each in a thread, and waits a bounded time for each result.
    Thread-safe."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._room = threading.BoundedSemaphore(_MOST_JOBS)

    def run(self, *jobs: Callable[[], Result]) -> list[Result | None]:
        """Return the results in the order of the jobs; None for a job that had no room or took too long."""
        started = [self._start(job) for job in jobs]
        running = [each for each in started if each is not None]
        wait(running, timeout=self._seconds)
        return [each.result() if each is not None and each.done() else None for each in started]

    def _start(self, job: Callable[[], Result]) -> Future[Result] | None:
        if not self._room.acquire(blocking=False):
            return None
        future: Future[Result] = Future()
        future.add_done_callback(lambda _: self._room.release())
        # A daemon, unlike those of a ThreadPoolExecutor: DNS that hangs does not delay the process's end.
        threading.Thread(target=_complete, args=(future, job), name="admission", daemon=True).start()
        return future


def _complete(future: Future[Result], job: Callable[[], Result]) -> None:
    try:
        future.set_result(job())
    except Exception as error:  # noqa: BLE001 - the thread that waits raises it
        future.set_exception(error)


def does_not_exist(domain: str) -> bool:
    """Whether DNS says that a domain has no address. An uncertain answer is no."""
    try:
        # The dot at the end: a pod's resolver would try the cluster's own domains first.
        socket.getaddrinfo(f"{domain}.", 443, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return error.errno in _NO_RECORD
    except (OSError, UnicodeError):
        return False
    return False


class KnownFacts:
    """Implements rules.Facts. Thread-safe."""

    def __init__(
        self,
        records: ReadableRecords | None,
        accounts: Accounts,
        config_of: ConfigOf,
        *,
        lookup: Callable[[str], bool] | None = does_not_exist,
        jobs: BriefJobs | None = None,
    ) -> None:
        """`records` is None if the provider keeps no domains, `lookup` is None if it asks no DNS."""
        self._records, self._accounts, self._config_of, self._lookup = records, accounts, config_of, lookup
        # Apart: a client can name domains whose DNS servers hang.
        self._jobs, self._lookups = jobs or BriefJobs(), jobs or BriefJobs()
        self._clock = SystemClock()
        self._loading = threading.Lock()
        self._load_at = self._reread_at = float("-inf")
        self._repeats = Repeats()

    def kept_for_others(self, domains: frozenset[str], namespace: str) -> Mapping[str, str]:
        """See Facts."""
        records = self._records
        if records is None:
            return {}
        [kept] = self._jobs.run(partial(self._kept, records, domains, namespace))
        return kept or {}

    def _kept(self, records: ReadableRecords, domains: frozenset[str], namespace: str) -> Mapping[str, str]:
        try:
            self._load(records)
            others = _others(records, domains, namespace)
            if others and self._may_reread():
                # An administrator may have released it a moment ago.
                records.reread(others)
                others = _others(records, others, namespace)
        except (KubeError, RecordsFailed) as error:
            left_out = self._repeats.due("records")
            if left_out is not None:
                _log.warning("cannot read the records of kept domains", error=str(error), left_out=left_out)
            return {}
        return {domain: records.place(domain) for domain in sorted(others)}

    def _load(self, records: ReadableRecords) -> None:
        with self._loading:
            now = self._clock.now()
            if now >= self._load_at:
                self._load_at = now + _REREAD_SECONDS
                records.load()
                self._load_at = now + _RECORDS_SECONDS

    def _may_reread(self) -> bool:
        now = self._clock.now()
        due = now >= self._reread_at + _REREAD_SECONDS
        if due:
            self._reread_at = now
        return due

    def distribution(self, mr: Managed, id_: str) -> Distribution | None:
        """See Facts. A distribution that no reconcile has read stays unknown, and one that was read longer
        ago is read again, once a minute at most."""
        config: Mapping[str, Any] = self._config_of(mr) or {}
        account = self._accounts.opened((config.get("metadata") or {}).get("uid") or "")
        if account is None:
            return None
        shared, key = account.memory.shared, distribution_key(id_)
        known: Distribution | None = shared.last_if_fresh(key)
        if known is not None or shared.last(key) is None:
            return known

        def read() -> Distribution | None:
            try:
                with deadline.within(_SECONDS):
                    return shared.get(key, partial(account.cloudfront.distribution, id_))
            except AwsError as error:
                _log.debug("cannot read a distribution", distribution=id_, error=str(error))
                return None

        [found] = self._jobs.run(read)
        return found

    def without_records(self, domains: frozenset[str]) -> tuple[str, ...]:
        """See Facts. A wildcard has no record of its own name."""
        lookup = self._lookup
        if lookup is None:
            return ()
        asked = sorted(domain for domain in domains if not domain.startswith("*."))[:_MOST_LOOKUPS]
        missing = self._lookups.run(*(partial(lookup, domain) for domain in asked))
        return tuple(domain for domain, gone in zip(asked, missing, strict=True) if gone)


def _others(records: ReadableRecords, domains: frozenset[str], namespace: str) -> frozenset[str]:
    return frozenset(domain for domain in domains if records.holder(domain) not in (None, namespace))
