"""Sessions with AWS, created from provider configs and cached.

Credentials from a Secret, the environment or a file have the format of AWS's shared credentials file, as for
Crossplane's AWS providers:

    [default]
    aws_access_key_id = …
    aws_secret_access_key = …
    aws_session_token = …            (optional)

With credentials.source None, requests are not signed; with InjectedIdentity, boto3's own chain finds the
credentials. The provider assumes roles hop by hop, and botocore renews them. No message or log contains
credentials.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, Protocol

import boto3
import botocore.session
import structlog
from botocore import UNSIGNED
from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleWithWebIdentityCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    Credentials,
    DeferredRefreshableCredentials,
)

from apis.conditions import TenantReadyReason as Reason
from apis.errors import InvalidInput, parse
from apis.providerconfig import AssumedRole, ProviderConfigSpec, Quotas, RateLimits, WebIdentity, Writes
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.clock import Clock, Stopwatch
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.shards import Mine
from provider.cloudfront.account import credential_origins, record_stores, timestamps, web_identity
from provider.cloudfront.account.handlers import new_session
from provider.cloudfront.account.models import MODELS
from provider.cloudfront.account.record_stores import Records
from provider.cloudfront.account.renewed_credentials import RenewedCredentials
from provider.cloudfront.account.sharing import LateClient, compact, share
from provider.cloudfront.aws.calls import Caller, CloudFrontCalls
from provider.cloudfront.aws.circuits import USUAL_WORKERS
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import UNKNOWN_ACCOUNT, Hooks
from provider.cloudfront.aws.metrics import Instruments
from provider.cloudfront.aws.pacing.throttling import Pace
from provider.cloudfront.aws.pacing.waiting_places import WaitingPlaces
from provider.cloudfront.aws.record_calls import Route53Calls
from provider.cloudfront.aws.retries import to_external_error
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.memory.sightings import Sightings
from provider.cloudfront.quota.limits import Quota
from provider.cloudfront.quota.quotas import Reading, Wake
from provider.cloudfront.sweep.sweeps import Sweeps, Swept

if TYPE_CHECKING:
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["REGION", "Account", "Accounts"]

_log = structlog.get_logger("provider.cloudfront.aws")

REGION: Final = "us-east-1"
"""The region for signing requests to CloudFront from anywhere; its certificates are in it, too."""
_SESSION_NAME: Final = "edgetenants"
_PRINTABLE: Final = re.compile("[!-~]+")
_LONGEST_FILE: Final = 64 * 1024
"""Bytes of a credentials file."""
_BLANKS: Final = re.compile(r"[^\S\n]{2,}")
"""The time that configparser takes for a line grows with the square of a run of blanks in it, and it stops
all threads meanwhile."""
_FAILURE_SECONDS: Final = 30.0
"""How often the provider retries a config whose credentials AWS refuses, however many resources use it."""
_OPENING_SECONDS: Final = 5.0
"""For how long workers wait until another worker has opened the same config. With an endpoint that accepts
connections and never answers, that takes until the time-out."""
_OPENED_AGAIN: Final = 5.0
"""Seconds after which such a worker's resource is reconciled again."""
_UNTOLD_SECONDS: Final = 60.0
"""How often the provider asks again for the account of credentials that were not permitted to read it."""
_IDLE_SECONDS: Final = 3600.0
"""The provider closes a config that no resource has used for this long: it may have been deleted."""
_GONE_SECONDS: Final = 300.0
"""How long a running reconcile may still use a deleted config."""
_MOST_OF_NAMESPACE: Final = 20
"""Maximum number of open ProviderConfigs of one namespace. Each takes a tenth of a megabyte, and anyone who
may create one may create a thousand."""
_MOST_CONNECTED: Final = 200
"""Maximum number of configs that keep their connections after a reconcile; those used last keep theirs. A
connection over TLS takes 80 KiB and a file descriptor here, and AWS closes it after some idle seconds."""
_REMEMBERED_SECONDS: Final = 24 * 3600.0
"""How long the provider remembers an account that no config uses any more."""
_MOST_REMEMBERED: Final = 100
"""Maximum number of such accounts: anyone who may change credentials could use a new one each second."""
_SPARED_SECONDS: Final = 900.0
"""A config that was not used for this long makes room for another one of its namespace."""


class _Closable(Protocol):
    """A client."""

    def close(self) -> None:
        """Close idle connections."""
        ...


@dataclass(frozen=True)
class Account:
    """An AWS account, as accessed by one provider config."""

    cloudfront: CloudFrontCalls
    memory: AccountMemory
    """Shared by all configs of the account."""
    id: str | None
    """None if the credentials may not read it, and nothing in the account shows it."""
    caller_arn: str | None
    """None if the credentials may not read it."""
    frozen: bool
    pace: Pace
    """Shared by all configs of the account."""
    rehearsals: AccountMemory
    """What rehearsals remember, separate from what really happened; also shared."""
    hooks: Hooks = field(repr=False)
    """The hooks around the requests of this config."""
    clients: tuple[_Closable, ...] = field(repr=False, default=())
    swept: Swept | None = field(repr=False, default=None)
    """What the lists of the account show this caller; None if they are not swept."""
    records: Records | None = field(repr=False, default=None)
    """Route 53, if the config names it; see dns_servers.py for other DNS services."""

    def close(self) -> None:
        """Close idle connections. Running calls finish."""
        for client in self.clients:
            client.close()


@dataclass
class _Shared:
    """What all configs of an account share."""

    memory: AccountMemory
    rehearsals: AccountMemory
    pace: Pace
    account: str
    """UNKNOWN_ACCOUNT if the credentials may not read it."""
    used_by: set[str] = field(default_factory=set)
    """The uids of its configs."""
    left_at: float = 0.0
    """When the last config left the account."""


@dataclass(frozen=True)
class _Opened:
    """An account, or why it cannot be opened, and until when this is valid."""

    fingerprint: str
    account: Account | None
    mine: bool = True
    """This process works on the account, so its lists are swept."""
    failure: ExternalError | None = None
    until: float = float("inf")


class _Opening:
    """One worker at a time opens a config; others wait a moment, in real time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lasts = Stopwatch()
        """Since a worker began."""

    @property
    def is_under_way(self) -> bool:
        """Whether a worker is opening the config."""
        return self._lock.locked()

    @contextmanager
    def turn(self, config: str) -> Iterator[None]:
        """Raises NotYet if another worker does not finish."""
        # Counted from the beginning: workers that each wait as long would starve all other configs.
        if not self._lock.acquire(timeout=max(0.0, _OPENING_SECONDS - self._lasts.elapsed())):
            words = (
                f"{config}: another worker is asking AWS for the account, and its endpoint has not answered"
            )
            raise NotYet(words, after=_OPENED_AGAIN)
        self._lasts = Stopwatch()
        try:
            yield
        finally:
            self._lock.release()


class Accounts:
    """The accounts of all provider configs. Thread-safe."""

    def __init__(  # noqa: PLR0913 - what all accounts have in common, by name
        self,
        clock: Clock,
        instruments: Instruments | None = None,
        workers: int = USUAL_WORKERS,
        sweeps: Sweeps | None = None,
        places: WaitingPlaces | None = None,
        *,
        check_seconds: float = DEEP_CHECK_SECONDS,
        wake: Wake | None = None,
        mine: Mine | None = None,
    ) -> None:
        """`workers` is the number of workers of each kind. Without `sweeps`, each look is a Get. `places` are
        for calls that wait in their workers; by default there are none. `check_seconds` is the longest
        interval between checks of a tenant's tags, certificate and DNS. `wake` reconciles resources that wait
        for room in their account, when their turn comes. `mine` returns whether this process works on an
        account; None: on all, also on those whose ids it cannot read."""
        self._mine = mine
        self.clock = clock
        self._check_seconds = check_seconds
        self._sweeps = sweeps
        self._workers = workers
        self._places = places
        self._wake = wake
        self.instruments = instruments or Instruments()
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._shared: dict[str, _Shared] = {}
        self._sightings = Sightings()
        self._opening: defaultdict[str, _Opening] = defaultdict(_Opening)
        self._used: dict[str, float] = {}
        self._connected: OrderedDict[str, None] = OrderedDict()
        """Configs whose connections may be open, by uid; the one used last is last."""
        self._homes: dict[str, str] = {}
        """Namespaces of the open configs, by uid."""
        self._refused: dict[str, float] = {}
        """When AWS last refused the credentials of a config, by uid."""
        self._gone: dict[str, float] = {}
        """Recently deleted configs, by uid: until when they are not opened again."""

    def of(self, config: ResolvedConfig) -> Account:
        """Return the account of a config. Open it again if the config or its credentials changed, or if AWS
        no longer accepts the credentials.

        Raises:
            ExternalError: the config cannot be used, or AWS refuses its credentials. Its conditions are for a
                resource that does not serve.
            NotYet: another worker is opening it, and AWS has not answered yet.
        """
        fingerprint = _fingerprint(config)
        with self._lock:
            opening = self._opening[config.uid]
            self._used[config.uid] = self.clock.now()
            idle = self._connect(config.uid)
        _close([idle])
        if (known := self._known(config.uid, fingerprint)) is not None:
            return known
        if opening.is_under_way and (served := self._due(config.uid, fingerprint)) is not None:
            return served
        # One whose endpoint does not answer must block neither the other configs nor the other workers.
        with opening.turn(str(config.key)):
            if (known := self._known(config.uid, fingerprint)) is not None:
                return known
            return self._reopen(config, fingerprint)

    def check_mine(self, config: ResolvedConfig, account: Account) -> None:
        """Check that this process works on the account of a config, before it does anything else there.

        Raises:
            StandDown: another process works on it.
            ExternalError: the account is unknown, so it is unknown which process works on it.
        """
        if self._mine is None:
            return
        if account.id is None:
            raise ExternalError(
                f"{config.key}: expected credentials that can read their account, got a refusal; with "
                "--shards, the account decides which process works on it. Permit sts:GetCallerIdentity",
                retry=Retry.poll(),
            )
        if not self._mine(account.id):
            raise StandDown(f"the work on account {account.id}", made_nothing=True)

    def _works_on(self, account: str | None) -> bool:
        return self._mine is None or (account is not None and self._mine(account))

    def opened(self, uid: str) -> Account | None:
        """Return the account of the config with this uid, if a reconcile has opened it."""
        with self._lock:
            known = self._opened.get(uid)
        return known.account if known else None

    @property
    def pauses(self) -> dict[str, float]:
        """For each account, the seconds of its longest pause."""
        with self._lock:
            opened = [each.account for each in self._opened.values() if each.account]
        return {each.id: each.pace.paused for each in opened if each.id}

    @property
    def quotas(self) -> dict[str, tuple[Reading, ...]]:
        """For each account, its quotas. An endpoint may claim to be any account, and a team may set one: it
        counts only if no cluster-scoped config and no config with AWS's own endpoints is of that account."""
        with self._lock:
            used = {key: each for key, each in self._shared.items() if each.used_by}
        # The last one of each account counts; without an endpoint of its own, the key begins with a blank.
        ranked = sorted(
            used, key=lambda key: (used[key].memory.quotas.allowances.is_of_all, key.startswith(" "), key)
        )
        best = {used[key].account: used[key].memory.quotas for key in ranked}
        return {id_: tuple(each.readings()) for id_, each in best.items() if id_ != UNKNOWN_ACCOUNT}

    def gone(self, uid: str) -> None:
        """Forget a deleted provider config: its settings no longer apply to its account."""
        with self._lock:
            now = self.clock.now()
            self._gone = {each: until for each, until in self._gone.items() if now < until}
            self._gone[uid] = now + _GONE_SECONDS
            left = self._let_go(uid)
            for shared in self._shared.values():
                shared.pace.forget(uid)
        _close([left])

    def back(self, uid: str) -> None:
        """A provider config exists, although it seemed to be deleted: its settings apply again."""
        with self._lock:
            self._gone.pop(uid, None)

    def _connect(self, uid: str) -> _Opened | None:
        """Note that a config may open connections; return the one that closes its own, and keeps all else.
        Call under the lock."""
        self._connected[uid] = None
        self._connected.move_to_end(uid)
        if len(self._connected) <= _MOST_CONNECTED:
            return None
        idle, _ = self._connected.popitem(last=False)
        return self._opened.get(idle)

    def _went(self, uid: str) -> bool:
        """Whether a config was recently deleted. Call under the lock."""
        return self.clock.now() < self._gone.get(uid, float("-inf"))

    def _known(self, uid: str, fingerprint: str) -> Account | None:
        with self._lock:
            opened = self._opened.get(uid)
        if opened is None or opened.fingerprint != fingerprint or self.clock.now() >= opened.until:
            return None
        if opened.failure is not None:
            raise opened.failure.but()
        if opened.account is not None and self._works_on(opened.account.id) != opened.mine:
            # This process works on it from now on.
            return None
        return opened.account

    def _due(self, uid: str, fingerprint: str) -> Account | None:
        """Return the account of a config that another worker opens again only to learn its caller."""
        with self._lock:
            opened = self._opened.get(uid)
        return opened.account if opened is not None and opened.fingerprint == fingerprint else None

    def _reopen(self, config: ResolvedConfig, fingerprint: str) -> Account:
        try:
            self._make_room(config)
            account = self._open(config)
        except ExternalError as error:
            # This one attempt serves all of perhaps a thousand resources that use the config.
            until = self.clock.now() + _FAILURE_SECONDS
            # Keep a copy: the raised error keeps the stack frames alive that it passed, and their objects.
            self._note(config.uid, _Opened(fingerprint, None, failure=error.but(), until=until))
            raise
        told = account.caller_arn is not None
        until = float("inf") if told else self.clock.now() + _UNTOLD_SECONDS
        self._note(config.uid, _Opened(fingerprint, account, self._works_on(account.id), until=until))
        return account

    def _note(self, uid: str, opened: _Opened) -> None:
        with self._lock:
            if self._went(uid):
                # The config was opened before its deletion, for one reconcile.
                return
            left = [self._opened.get(uid)]
            self._opened[uid] = opened
            now = self.clock.now()
            idle = [each for each, used in self._used.items() if now >= used + _IDLE_SECONDS]
            left += [self._let_go(each) for each in idle]
            self._forget_accounts()
        _close(left)

    def _make_room(self, config: ResolvedConfig) -> None:
        """Limit the number of open configs of a namespace.

        Raises:
            ExternalError: all of them were used recently.
        """
        namespace = config.key.namespace
        if not namespace:
            return
        left: list[_Opened | None] = []
        with self._lock:
            others = [uid for uid, home in self._homes.items() if home == namespace and uid != config.uid]
            if len(others) >= _MOST_OF_NAMESPACE:
                first = min(others, key=lambda uid: self._used.get(uid, 0.0))
                if self.clock.now() < self._used.get(first, 0.0) + _SPARED_SECONDS:
                    raise ExternalError(
                        f"{config.key}: {len(others)} other ProviderConfigs of namespace {namespace} are in "
                        "use, which is the maximum. Let resources share a ProviderConfig; one that no "
                        "resource has used for a quarter of an hour makes room",
                        retry=Retry.poll(),
                    )
                left = [self._let_go(first)]
            self._homes[config.uid] = namespace
        _close(left)

    def _let_go(self, uid: str) -> _Opened | None:
        """Forget a config; return its account to close. Call under the lock."""
        for known in (self._opening, self._used, self._connected, self._homes, self._refused):
            known.pop(uid, None)
        if self._sweeps is not None:
            self._sweeps.leave(uid)
        self._leave(uid)
        return self._opened.pop(uid, None)

    def _leave(self, uid: str, but: _Shared | None = None) -> None:
        """Call under the lock: a config leaves its account, maybe for another one."""
        for shared in self._shared.values():
            if shared is not but and uid in shared.used_by:
                shared.used_by.remove(uid)
                shared.memory.quotas.forget_config(uid)
                shared.left_at = self.clock.now()

    def _forget_accounts(self) -> None:
        """Call under the lock: forget accounts that no config uses any more, and their metrics."""
        unused = [(each.left_at, key) for key, each in self._shared.items() if not each.used_by]
        unused.sort(reverse=True)
        oldest = self.clock.now() - _REMEMBERED_SECONDS
        for number, (left_at, key) in enumerate(unused):
            if left_at <= oldest or number >= _MOST_REMEMBERED:
                del self._shared[key]
        self.instruments.keep_only({UNKNOWN_ACCOUNT, *(each.account for each in self._shared.values())})

    def _forget(self, uid: str, hooks: Hooks) -> None:
        """Drop a config whose credentials AWS no longer accepts: the next reconcile opens it again, at most
        every 30 seconds. STS may accept credentials that CloudFront refuses, such as new ones."""
        with self._lock:
            opened, now = self._opened.get(uid), self.clock.now()
            if opened is None or opened.account is None or opened.account.hooks is not hooks:
                return
            if now < self._refused.get(uid, float("-inf")) + _FAILURE_SECONDS:
                return
            self._refused[uid] = now
            del self._opened[uid]

    def _open(self, config: ResolvedConfig) -> Account:
        spec = _spec(config)
        _check_credentials(config, spec)
        hooks = Hooks(self._pace(), self.instruments.calls, config.uid)
        hooks.on_stale = lambda: self._forget(config.uid, hooks)
        renewed = RenewedCredentials(hooks.on_stale)
        session = _session(config, spec, hooks)
        options = _options(config, spec)

        def watched(client: Any) -> Any:
            share(client)
            hooks.watch(client)
            if _may_change_account(config, spec):
                renewed.watch(client)
            compact(client)
            return client

        cloudfront: CloudFrontClient = watched(session.client("cloudfront", **options))
        # Each client takes 30 KiB here, and its session too. Many configs need none but CloudFront's.
        again = _another_session(session, options)
        # CloudFront's certificates are in one region, whatever region the provider config sets.
        of_acm = {**options, "region_name": REGION}
        acm: Any = LateClient(lambda: watched(again().client("acm", **of_acm)))
        of_sts = {**options, "config": options["config"].merge(_OF_STS)}
        sts: Any = LateClient(lambda: watched(again().client("sts", **of_sts)))
        # Route 53 has one endpoint for all regions, too.
        named = spec.dns is not None and spec.dns.route53 is not None
        route53 = [LateClient(lambda: watched(again().client("route53", **of_acm)))] if named else []
        calls = CloudFrontCalls(cloudfront, acm, sts)
        caller = _caller(calls, config, spec)
        # It is asked once.
        sts.close()
        shared = self._share(config, spec, caller)
        calls.writing = shared.memory.writes.to
        hooks.pace, hooks.account = shared.pace, caller.account if caller else UNKNOWN_ACCOUNT
        return Account(
            cloudfront=calls,
            memory=shared.memory,
            id=caller.account if caller else None,
            caller_arn=caller.arn if caller else None,
            frozen=spec.writes is Writes.FROZEN,
            pace=shared.pace,
            rehearsals=shared.rehearsals,
            hooks=hooks,
            clients=(cloudfront, acm, sts, *route53),
            swept=self._swept(config, spec, caller, shared, calls),
            records=record_stores.of_route53(spec, [Route53Calls(each) for each in route53], self.clock),
        )

    def _swept(
        self,
        config: ResolvedConfig,
        spec: ProviderConfigSpec,
        caller: Caller | None,
        shared: _Shared,
        calls: CloudFrontCalls,
    ) -> Swept | None:
        """The lists of the caller: each may see other tenants, and only its own lists count for it."""
        if self._sweeps is None or not self._works_on(caller.account if caller else None):
            return None
        endpoint = spec.endpoint.url if spec.endpoint else ""
        who = (caller.account, caller.arn) if caller and caller.arn else (config.uid, None)
        swept = self._sweeps.open(
            (endpoint, *who),
            config.key,
            config.uid,
            account=shared.account,
            memory=shared.memory,
            lists=calls,
        )
        with self._lock:
            if not self._went(config.uid):
                return swept
        # It was deleted meanwhile, and is opened for one reconcile.
        self._sweeps.leave(config.uid)
        return None

    def _pace(self) -> Pace:
        return Pace(self.clock, self._workers, self._places)

    def _share(self, config: ResolvedConfig, spec: ProviderConfigSpec, caller: Caller | None) -> _Shared:
        endpoint = spec.endpoint.url if spec.endpoint else ""
        key = f"{endpoint} {caller.account if caller else config.uid}"
        limits = spec.rate_limits or RateLimits()
        with self._lock:
            # The config may have belonged to another account before.
            for other in self._shared.values():
                other.pace.forget(config.uid)
            clock = self.clock
            pace = self._pace()
            rate = partial(pace.rate, "cloudfront")
            memory = AccountMemory(
                clock,
                rate=rate,
                sightings=self._sightings,
                check_seconds=self._check_seconds,
                wake=self._wake,
            )
            # With its own guards: what a rehearsal deletes still exists, and must not excuse an accident.
            rehearsals = AccountMemory(clock, second_check=0.0)
            name = caller.account if caller else UNKNOWN_ACCOUNT
            made = _Shared(memory, rehearsals, pace, name, left_at=clock.now())
            shared = self._shared.setdefault(key, made)
            self._leave(config.uid, but=shared)
            if self._went(config.uid):
                return shared
            shared.used_by.add(config.uid)
            of_team = bool(config.key.namespace)
            shared.pace.limit("cloudfront", config.uid, limits.cloudfront, of_team=of_team)
            shared.pace.limit("acm", config.uid, limits.acm, of_team=of_team)
            shared.pace.limit("route53", config.uid, limits.route53, of_team=of_team)
        self._allow(shared, config, spec)
        return shared

    def _allow(self, shared: _Shared, config: ResolvedConfig, spec: ProviderConfigSpec) -> None:
        """Outside the lock: resources that wait for room may be woken."""
        said = spec.quotas or Quotas()
        numbers = {
            Quota.TENANTS: said.tenants,
            Quota.GROUPS: said.connection_groups,
            Quota.CERTIFICATES: said.certificates,
        }
        quotas = shared.memory.quotas
        quotas.allow(config.uid, config.key, {quota: each for quota, each in numbers.items() if each})
        with self._lock:
            if self._went(config.uid):
                # It was deleted meanwhile.
                quotas.forget_config(config.uid)


def _may_change_account(config: ResolvedConfig, spec: ProviderConfigSpec) -> bool:
    """Whether the credentials may be of another account when they are renewed: no role's ARN fixes it."""
    fixed = spec.assume_role_chain or spec.web_identity
    return config.source == CredentialsSource.INJECTED_IDENTITY and not fixed


def _close(left: Iterable[_Opened | None]) -> None:
    for each in left:
        if each is not None and each.account is not None:
            each.account.close()


def _fingerprint(config: ResolvedConfig) -> str:
    # A restore from a backup may give the same generation to another spec.
    spec = json.dumps(config.spec, sort_keys=True, default=str).encode()
    digests = (hashlib.sha256(content).hexdigest() for content in (config.credentials or b"", spec))
    return " ".join((str(config.generation), *digests))


def _caller(calls: CloudFrontCalls, config: ResolvedConfig, spec: ProviderConfigSpec) -> Caller | None:
    try:
        return calls.caller()
    except AwsError as error:
        if error.code != "AccessDenied" or error.operation != "GetCallerIdentity":
            raise _unasked(error, config, spec) from error
        refused = error
    account = _account_by_group(calls, config, spec)
    _log.warning(
        "cannot read the caller's account; " + (_BY_GROUP if account else _UNGUARDED),
        config=str(config.key),
        account=account,
        error=str(refused),
    )
    return Caller(account, None) if account else None


_BY_GROUP: Final = "using the account of its default connection group"
_UNGUARDED: Final = "the provider does not detect another account's tenants, and keeps no names"


def _account_by_group(calls: CloudFrontCalls, config: ResolvedConfig, spec: ProviderConfigSpec) -> str | None:
    """Return the account from the ARN of its default connection group, which exists once the account has a
    tenant. None if there is no such group, or the credentials may not read it either."""
    try:
        group = calls.default_group()
    except AwsError as error:
        if error.verdict.reason is not Reason.ACCESS_DENIED:
            raise _unasked(error, config, spec) from error
        return None
    named = _ARN.match(group.arn) if group else None
    return named["account"] if named else None


_ARN: Final = re.compile(r"arn:[\w-]+:cloudfront::(?P<account>\d{12}):")


def _unasked(error: AwsError, config: ResolvedConfig, spec: ProviderConfigSpec) -> ExternalError | NotYet:
    denied = error.verdict.reason is Reason.ACCESS_DENIED
    advice = credential_origins.renewal(config, spec, error) if denied else ""
    return to_external_error(error, f"{config.key}: get the caller's account", serving=False, advice=advice)


def _spec(config: ResolvedConfig) -> ProviderConfigSpec:
    try:
        return parse(ProviderConfigSpec, dict(config.spec), root="spec")
    except InvalidInput as error:
        raise ExternalError(f"{config.key}: {error}", retry=Retry.poll()) from error


def _check_credentials(config: ResolvedConfig, spec: ProviderConfigSpec) -> None:
    """AWS refuses requests without a signature in words of its own."""
    of_dns = spec.dns is not None and spec.dns.route53 is None
    if of_dns and config.source == CredentialsSource.NONE and not (spec.web_identity or spec.endpoint):
        raise ExternalError(
            f"{config.key}: spec.credentials: expected credentials of AWS, got source None; this "
            f"{config.key.kind} is for DNS records only",
            retry=Retry.poll(),
        )


def _options(config: ResolvedConfig, spec: ProviderConfigSpec) -> dict[str, Any]:
    anonymous = config.source == CredentialsSource.NONE and spec.web_identity is None
    unsigned = Config(signature_version=UNSIGNED) if anonymous else Config()
    return {**_reached(spec), "config": _settings().merge(unsigned)}


def _reached(spec: ProviderConfigSpec) -> dict[str, Any]:
    region = spec.endpoint.region if spec.endpoint and spec.endpoint.region else REGION
    return {"region_name": region, "endpoint_url": spec.endpoint.url if spec.endpoint else None}


def _settings() -> Config:
    return Config(
        user_agent_extra=f"edgetenants/{_version()}",
        connect_timeout=5,
        read_timeout=30,
        # Hooks makes immediate retries; all others are left to the queue, on the injected clock.
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=32,
    )


_OF_STS: Final = Config(read_timeout=10)
"""Each worker that opens a config of an endpoint that never answers waits for it."""


def _version() -> str:
    try:
        return version("edgetenants")
    except PackageNotFoundError:
        return "0"


def _session(config: ResolvedConfig, spec: ProviderConfigSpec, hooks: Hooks) -> boto3.Session:
    """Return a session with the credentials at the end of the chain."""
    core = _core()
    sts = _sts_maker(core, spec, hooks)
    credentials: Any = _base(config, spec, core, sts)
    if spec.assume_role_chain and credentials is None and config.source == CredentialsSource.NONE:
        # Otherwise the chain would start with the provider's own identity without permission.
        raise ExternalError(
            f"{config.key}: spec.assumeRoleChain: expected credentials for the first role, got source None",
            retry=Retry.poll(),
        )
    if spec.assume_role_chain and credentials is None:
        credentials = _own_identity(config, core)
    for role in spec.assume_role_chain or ():
        credentials = _assumed(sts, credentials, role)
    if credentials is not None:
        core.register_component("credential_provider", CredentialResolver([_Found(credentials)]))
    return boto3.Session(botocore_session=core)


def _core() -> botocore.session.Session:
    core = new_session()
    core.register_component("data_loader", MODELS)
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=timestamps.read)
    core.set_config_variable("region", REGION)
    # botocore asks STS itself for the process's own identity (IRSA): for a minute, three times.
    core.set_default_client_config(_settings().merge(_OF_STS))
    return core


def _another_session(session: boto3.Session, options: Mapping[str, Any]) -> Callable[[], boto3.Session]:
    """Return a function that makes another session with the same credentials. To keep the first one would
    take more memory."""
    unsigned = options["config"].signature_version is UNSIGNED
    # Without a signature, botocore must not look for the identity of the process.
    credentials: Any = None if unsigned else session.get_credentials()

    def make() -> boto3.Session:
        core = _core()
        core.register_component("credential_provider", CredentialResolver([_Found(credentials)]))
        return boto3.Session(botocore_session=core)

    return make


def _own_identity(config: ResolvedConfig, core: botocore.session.Session) -> Any:
    credentials = core.get_credentials()
    if credentials is None:
        raise ExternalError(
            f"{config.key}: spec.assumeRoleChain: expected the provider's process to have an AWS identity "
            "for the first role, got none"
        )
    return credentials


class _Found(CredentialProvider):
    """Passes existing credentials to botocore, including those that renew themselves."""

    METHOD = "edgetenants"

    def __init__(self, credentials: Any) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> Any:
        """Return the credentials."""
        return self._credentials


def _base(config: ResolvedConfig, spec: ProviderConfigSpec, core: botocore.session.Session, sts: Any) -> Any:
    """Return the credentials at the start of the chain; None to let boto3 find them."""
    if spec.web_identity:
        return _web_identity(core, spec.web_identity, sts)
    return _static(config, spec) if config.credentials is not None else None


def _static(config: ResolvedConfig, spec: ProviderConfigSpec) -> Credentials:
    reader = configparser.ConfigParser(interpolation=None, default_section="edgetenants-no-defaults")
    try:
        reader.read_string(_readable(config.credentials or b""))
        profile = reader["default"]
        key_id, secret = profile["aws_access_key_id"], profile["aws_secret_access_key"]
        token = profile.get("aws_session_token")
    except (configparser.Error, KeyError, ValueError):
        # Not chained: the parser's message contains the line that it cannot parse.
        where = credential_origins.place(config, spec)
        raise ExternalError(
            f"{config.key}: spec.credentials: expected an AWS credentials file of at most 64 KiB with "
            f"aws_access_key_id and aws_secret_access_key under [default]{where and f' in {where}'}, "
            "got something else",
            retry=Retry.poll(),
        ) from None
    _check(config, aws_access_key_id=key_id, aws_secret_access_key=secret, aws_session_token=token or "-")
    return Credentials(key_id, secret, token, method="edgetenants")


def _readable(content: bytes) -> str:
    """The text of a credentials file, in a form that takes little time to parse. Raises ValueError."""
    if len(content) > _LONGEST_FILE:
        raise ValueError("too long")
    return _BLANKS.sub(" ", content.decode())


def _check(config: ResolvedConfig, **values: str) -> None:
    """Refuse other characters: AWS cannot read the resulting signature, and its error does not say why."""
    for name, value in values.items():
        if not _PRINTABLE.fullmatch(value):
            # Do not show the value: it is a secret, or was mistaken for one.
            words = "expected printable ASCII characters without spaces, got other characters or nothing"
            raise ExternalError(f"{config.key}: spec.credentials: {name}: {words}", retry=Retry.poll())


def _assumed(sts: Any, source: Any, role: AssumedRole) -> Any:
    extra: dict[str, Any] = {
        "RoleSessionName": role.session_name or _SESSION_NAME,
        "ExternalId": role.external_id,
        "Tags": [{"Key": key, "Value": value} for key, value in (role.tags or {}).items()] or None,
        "TransitiveTagKeys": list(role.transitive_tag_keys or ()) or None,
    }
    fetcher = AssumeRoleCredentialFetcher(
        sts,
        source,
        role.role_arn,
        extra_args={key: value for key, value in extra.items() if value is not None},
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")


def _web_identity(core: botocore.session.Session, identity: WebIdentity, sts: Any) -> Any:
    path = identity.token_path or core.get_config_variable("web_identity_token_file")
    fetcher = AssumeRoleWithWebIdentityCredentialFetcher(
        sts,
        web_identity.reader(path),
        identity.role_arn,
        extra_args={"RoleSessionName": _SESSION_NAME},
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role-with-web-identity")


def _sts_maker(core: botocore.session.Session, spec: ProviderConfigSpec, hooks: Hooks) -> Any:
    def make(service: str, **options: Any) -> Any:
        config = _settings().merge(_OF_STS).merge(options.pop("config", Config()))
        client = core.create_client(service, **_reached(spec), config=config, **options)
        share(client)
        hooks.watch(client)
        return client

    return make
