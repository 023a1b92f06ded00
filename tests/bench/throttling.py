"""How much of what AWS permits is used, and how much it refuses: the provider, and botocore's own retries.

Eight workers in turn, 400 resources of 40 namespaces that want to create all the time, on a virtual clock
(tests/unit/provider/cloudfront/aws/pacing/staged_workers.py). All see the same AWS. "Used" is the part of
what it permits that answered calls use, "refused" the part of all calls, both after the first minute. The
rivals are botocore's own clients, one for all workers, whose requests end in the stage instead of a socket:

    standard    three tries with exponential back-off, and a quota of retries
    adaptive    the same behind a rate limiter of the client

A call that a rival gives up is repeated by the queue, after a delay that doubles, as for the provider.

The last table has the whole provider, with one worker: it creates tenants in an emulated account that it has
for itself. The emulator permits so many calls of each operation.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import botocore.endpoint
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.retries import bucket

from tests.bench.sweep import SteppingClock, account
from tests.contract.fleet import Fleet, Member, tenant
from tests.unit.provider.cloudfront.aws.pacing.staged_workers import (
    LATE,
    LATENCY,
    READING,
    Aws,
    Bucket,
    Call,
    Resource,
    StagedClock,
    Windows,
    Workers,
)

RATES: Final = (1, 3, 6, 20)
"""Requests a second that AWS permits."""
WORKERS: Final = 8
RESOURCES: Final = 400
NAMESPACES: Final = 40
WARM: Final = 60.0
END: Final = 360.0
"""Virtual seconds."""
FLEET_END: Final = 240.0
"""Virtual seconds of the whole provider."""
STEP: Final = 60.0
CREATION: Final = "CreateDistributionTenant"
KINDS: Final[dict[str, Callable[[float], Aws]]] = {
    "bucket of one second": lambda rate: Bucket(rate, max(2.0, rate)),
    "windows of one second": Windows,
}
OURS, STANDARD, ADAPTIVE = "edgetenants", "botocore standard", "botocore adaptive"


@dataclass(frozen=True)
class Throttled:
    """One account, and one of those that call it."""

    name: str
    aws: str
    """How AWS counts."""
    rate: float
    """Requests a second that AWS permits."""
    used: float
    refused: float
    refused_from_the_start: float
    """With the first minute."""
    least_served: int
    most_served: int
    """Answered calls of a namespace, after the first minute."""


@dataclass(frozen=True)
class ThrottledFleet:
    """The whole provider creates tenants."""

    rate: float
    used: float
    """Of the calls CreateDistributionTenant, after the first minute."""
    refused: float
    calls: dict[str, int]
    refused_calls: dict[str, int]
    """Of the whole time, by operation."""


def throttled() -> list[Throttled]:
    """Measure all, in turn."""
    return [
        _measured(name, kind, rate) for rate in RATES for kind in KINDS for name in (OURS, STANDARD, ADAPTIVE)
    ]


def fleets() -> list[ThrottledFleet]:
    """Measure the whole provider at each rate."""
    return [_fleet(rate) for rate in RATES]


def _fleet(rate: float) -> ThrottledFleet:
    tenants = int(1.2 * rate * FLEET_END)
    with account(tenants) as aws:
        aws.clock = SteppingClock(aws)
        limits = {"cloudfront_requests_per_second": rate, "cloudfront_requests_burst": max(2, int(rate))}
        aws.admin("PATCH", "settings", limits)
        fleet = _Apart(aws, tenants)
        warm = fleet_calls(fleet, WARM)
        rest = fleet_calls(fleet, FLEET_END - WARM)
    made, refused = rest[CREATION, False], rest[CREATION, True]
    found = ThrottledFleet(
        rate=rate,
        used=made / (rate * (FLEET_END - WARM)),
        refused=refused / (made + refused),
        calls={
            operation: count for (operation, was_refused), count in (warm + rest).items() if not was_refused
        },
        refused_calls={
            operation: count for (operation, was_refused), count in (warm + rest).items() if was_refused
        },
    )
    print(f"throttling: {found}", flush=True)
    return found


class _Alone(Member):
    """No other resource is searched for its domains: the test's Kubernetes would copy each one for that."""

    def _connect(self) -> Any:
        accounts = self.fleet.accounts
        return self.connect(self.configs, accounts, installation=self.installation, everyone=tuple)


class _Apart(Fleet):
    """Resources that have nothing in common but the account."""

    RECONCILE_SECONDS = 0.003
    """One worker would not use 20 a second if each reconcile took it 10 ms."""

    def member(self, number: int, **for_provider: Any) -> Member:
        """A new resource."""
        return _Alone(tenant(f"t-{number:03}", f"team-{number % NAMESPACES}"), self)


def fleet_calls(fleet: Fleet, seconds: float) -> Counter[tuple[str, bool]]:
    """The calls of some time, by operation and by whether AWS refused them."""
    fleet.aws.admin("DELETE", "calls")
    end, found = fleet.clock.now() + seconds, Counter[tuple[str, bool]]()
    while fleet.clock.now() < end:
        fleet.run(min(STEP, end - fleet.clock.now()))
        calls = fleet.aws.admin("GET", "calls")["calls"]
        found.update((call["operation"], call["code"] == "Throttling") for call in calls)
    return found


def _measured(name: str, kind: str, rate: float) -> Throttled:
    aws = KINDS[kind](rate)
    workers = Workers(WORKERS, aws) if name == OURS else _Botocore(WORKERS, aws, name.split()[1])
    with workers.at_work():
        for number in range(RESOURCES):
            workers.want(Resource(f"team-{number % NAMESPACES}"))
        workers.clock.play(END)
    served = workers.answered(WARM)
    found = Throttled(
        name=name,
        aws=kind,
        rate=rate,
        used=workers.used(WARM, END),
        refused=workers.refused(WARM, END),
        refused_from_the_start=workers.refused(0.0, END),
        least_served=min(served.get(f"team-{number}", 0) for number in range(NAMESPACES)),
        most_served=max(served.values(), default=0),
    )
    print(f"throttling: {found}", flush=True)
    return found


class _Botocore(Workers):
    """Workers that leave the pace to botocore's client."""

    def __init__(self, number: int, aws: Aws, mode: str) -> None:
        super().__init__(number, aws)
        self._mode = mode
        self._here = threading.local()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have the threads run. botocore waits on the clock of the stage, and nothing else in the process."""
        random.seed(1)
        clock = self.clock
        of_stage = SimpleNamespace(sleep=clock.sleep, time=clock.now)
        threads = SimpleNamespace(Lock=threading.Lock, Condition=lambda lock: _Condition(clock, lock))
        with (
            mock.patch.object(botocore.endpoint, "time", of_stage),
            mock.patch.object(bucket, "time", of_stage),
            mock.patch.object(bucket, "threading", threads),
        ):
            self._client = client(self._mode, self._answer)
            with super().at_work():
                yield

    def _reconcile(self, resource: Resource) -> None:
        self.clock.sleep(self.rng.uniform(*READING))
        self.tries += 1
        self._here.resource = resource
        try:
            self._client.create_distribution_tenant(
                DistributionId="E1", Name="acme", Domains=[{"Domain": "acme.example.com"}]
            )
        except ClientError:
            resource.failures += 1
            self.want(resource, 2.0 ** min(resource.failures, 6))
            return
        resource.failures, resource.since = 0, self.clock.now()
        self.want(resource, self.rng.uniform(0, LATE))

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        """Answer instead of botocore's HTTP session."""
        began, resource = self.clock.now(), self._here.resource
        answered = self.aws.permits(began)
        self.calls.append(Call(began, resource.namespace, answered, began - resource.since))
        self.clock.sleep(self.rng.uniform(*LATENCY))
        status, body = (201, _CREATED) if answered else (400, _REFUSED)
        return AWSResponse(request.url, status, {"content-type": "text/xml"}, _Body(body))


def client(mode: str, answer: Callable[..., AWSResponse]) -> Any:
    """botocore's client of CloudFront in a retry mode. `answer` is the handler that answers its requests."""
    made = botocore.session.Session().create_client(
        "cloudfront",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"mode": mode}),
    )
    made.meta.events.register_last("before-send", answer)
    return made


_CREATED: Final = b"<DistributionTenant><Id>dt_1</Id></DistributionTenant>"
_REFUSED: Final = (
    b"<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code>"
    b"<Message>Rate exceeded</Message></Error></ErrorResponse>"
)
"""As the emulator refuses."""


class _Body(BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


class _Condition:
    """What botocore's token bucket needs of a condition: waits take the time of the stage."""

    def __init__(self, clock: StagedClock, lock: Any) -> None:
        self._clock, self._lock = clock, lock
        self._waiting: deque[_Waiter] = deque()

    def __enter__(self) -> bool:
        return bool(self._lock.acquire())

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, seconds: float) -> None:
        """Until notified, or for that long."""
        waiter = _Waiter(self._clock)
        self._waiting.append(waiter)
        # Real clocks go on; a wait that is lost in rounding would be repeated for ever.
        self._clock.at(self._clock.now() + max(seconds, 0.001), waiter.wake)
        self._lock.release()
        try:
            self._clock.stop(waiter.semaphore)
        finally:
            self._waiting.remove(waiter)
            self._lock.acquire()

    def notify(self) -> None:
        """Wake the one that waits longest."""
        if self._waiting:
            self._clock.at(self._clock.now(), self._waiting[0].wake)


class _Waiter:
    def __init__(self, clock: StagedClock) -> None:
        self._clock, self._woken = clock, False
        self.semaphore = threading.Semaphore(0)

    def wake(self) -> None:
        """Once: the notification or the time, whichever comes first."""
        if not self._woken:
            self._woken = True
            self._clock.run(self.semaphore)
