"""Hooks around each request of one provider config's clients, on botocore's events.

    before   check the deadline, whether it may write,        after   count it, note throttling, drop expired
             whether AWS answers, and the account's pace;             credentials, refuse what is not from AWS
             announce a creation
    sign     wait for the turn, also when botocore
             repeats a request
    send     check again whether it may write

The requests to STS for credentials, which botocore itself makes, pass through these hooks too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, ReadTimeoutError

from edgetenants_runtime import deadline, leading
from edgetenants_runtime.clock import Stopwatch
from provider.cloudfront.aws import operations
from provider.cloudfront.aws.circuits import STS, Circuit
from provider.cloudfront.aws.error_translation import translated, unreadable
from provider.cloudfront.aws.errors import FORBIDDEN, STALE_CREDENTIALS, AwsError
from provider.cloudfront.aws.metrics import CallMetrics
from provider.cloudfront.aws.pacing.throttling import Pace
from provider.cloudfront.aws.signing import Signing

__all__ = [
    "UNKNOWN_ACCOUNT",
    "Hooks",
    "announce_creation",
    "announcing",
    "checking",
    "only_reading",
    "reads_only",
]

UNKNOWN_ACCOUNT: Final = "unknown"
_WATCH: Final = "edgetenants-call"
_REPEATED: Final = "edgetenants-repeated"
_TIME_OUTS: Final = (ConnectTimeoutError, ReadTimeoutError)
_PAGES: Final = (b"<html", b"<!doctype html")
_reading: ContextVar[bool] = ContextVar("reading", default=False)
_checking: ContextVar[bool] = ContextVar("checking", default=False)
_announce: ContextVar[Callable[[], None] | None] = ContextVar("announce", default=None)


@contextmanager
def only_reading() -> Iterator[None]:
    """Block all calls that write: in this context, they fail with AwsError of code Forbidden."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def reads_only() -> bool:
    """Whether `only_reading` is active: this is a rehearsal."""
    return _reading.get()


@contextmanager
def checking() -> Iterator[None]:
    """Count the calls of the block as those of a check that no one waits for."""
    token = _checking.set(True)
    try:
        yield
    finally:
        _checking.reset(token)


@contextmanager
def announcing(announce: Callable[[], None]) -> Iterator[None]:
    """Call `announce` right before each request of the block that creates an object. A creation that waits
    for the account's pace or for credentials is not announced, as nothing is sent. An error of `announce`
    passes through, and the request is not sent."""
    token = _announce.set(announce)
    try:
        yield
    finally:
        _announce.reset(token)


def announce_creation() -> None:
    """A request that creates an object is sent next."""
    announce = _announce.get()
    if announce is not None:
        announce()


class Hooks:
    """The hooks of one provider config. Thread-safe, as its parts are."""

    def __init__(self, pace: Pace, calls: CallMetrics, config: str = "") -> None:
        """`config` is the uid of the provider config."""
        self.pace = pace
        self._config = config
        self.account = UNKNOWN_ACCOUNT
        self.on_stale: Callable[[], None] = lambda: None
        """Called when the credentials must be loaded again."""
        self._calls = calls
        self._signing = Signing()

    def watch(self, client: Any) -> None:
        """Register the hooks with a boto3 client."""
        events = client.meta.events
        events.register("before-call", self._before)
        events.register("after-call", self._answered)
        events.register("after-call-error", self._unanswered)
        service = client.meta.service_model.service_name
        if service != STS:
            # For each request that is sent: botocore may sign and send one again.
            events.register("before-sign", self._signs)
        # After the credentials were renewed and the request was signed, which may take calls to STS.
        events.register("before-send", partial(self._sends, service))
        events.register("response-received", partial(self._received, service))
        events.register("needs-retry", _retry)

    def _before(self, model: Any, context: dict[str, Any], **_: Any) -> None:
        if _reading.get() and operations.writes(model.name):
            raise AwsError(model.name, FORBIDDEN, "a rehearsal must not write")
        # A reconcile that exceeds its time limit ends at its next call, not only at its next write.
        deadline.check(f"the call {model.name}")
        service = model.service_model.service_name
        if service != STS:
            # botocore calls STS while it signs the request of another service.
            self._signing.check(model.name)
        try:
            self.pace.circuits[service].check(model.name)
            self._prepare(service, model.name)
        except BaseException:
            # botocore tells only the errors of what follows.
            self.pace.circuits[service].ended(answered=False)
            if service != STS:
                self._signing.left()
            raise
        context[_WATCH] = _Call(service, model.name, self.pace.now(), Stopwatch())

    def _prepare(self, service: str, operation: str) -> None:
        held_back = self.pace.admit(service, operation, self._config)
        self._calls.held_back(self.account, service, held_back)
        if operations.creates(operation):
            # What waits here is not announced. The API server may take long, so this keeps no turn.
            self._signing.wait(operation)
        if operations.writes(operation):
            # It may have waited for long.
            leading.check(f"the call {operation}")
        if operations.creates(operation):
            announce_creation()
        deadline.check(f"the call {operation}")

    def _signs(self, operation_name: str, **_: Any) -> None:
        self._signing.begin(operation_name)

    def _sends(self, service: str, event_name: str, **_: Any) -> None:
        if service != STS:
            self._signing.ended()
        operation = event_name.rpartition(".")[2]
        if operations.writes(operation):
            _check_leading(operation, self.pace.circuits[service])
        self.pace.circuits[service].begin()

    def _received(self, service: str, exception: Exception | None = None, **_: Any) -> None:
        self.pace.circuits[service].ended(answered=not isinstance(exception, _TIME_OUTS))

    def _answered(
        self, http_response: Any, parsed: Any, model: Any, context: dict[str, Any], **_: Any
    ) -> None:
        made: _Call = context[_WATCH]
        if http_response.status_code < 300:
            self._count(context, None)
            self.pace.answered(made.operation, made.began)
            _check_origin(model, http_response, parsed)
            return
        error = AwsError.of(made.operation, parsed)
        self._count(context, error)
        if error.throttled:
            self.pace.throttled(made.operation, made.began)
        else:
            self.pace.answered(made.operation, made.began)
        if error.code in STALE_CREDENTIALS:
            self.on_stale()

    def _unanswered(self, exception: Exception, context: dict[str, Any], **_: Any) -> None:
        service = context[_WATCH].service
        if service != STS:
            self._signing.ended(silent=_is_silence(exception))
        # botocore tells `_received` nothing of an answer that it cannot read.
        self.pace.circuits[service].ended(answered=True)
        error = translated(context[_WATCH].operation, exception)
        if error is None:
            return
        self._count(context, error)
        if error.code in STALE_CREDENTIALS:
            self.on_stale()
        operation = context[_WATCH].operation
        if context.get(_REPEATED) and operations.writes(operation):
            # After a read, or a call to STS, the caller looks at botocore's own exception.
            raise _uncertain(operation, error) from exception

    def _count(self, context: dict[str, Any], error: AwsError | None) -> None:
        made: _Call = context[_WATCH]
        self._calls.answered(self.account, made.service, made.operation, error, made.watch.elapsed())
        if _checking.get():
            self._calls.checked(self.account, made.service, made.operation)


def _check_leading(operation: str, circuit: Circuit) -> None:
    """Since the check before the call, the API server, STS or a turn to sign may have taken long, or the
    process was frozen. Nothing but the connection comes after this."""
    try:
        leading.check(f"the call {operation}")
    except BaseException:
        # botocore tells `_unanswered` no StandDown.
        circuit.ended(answered=False)
        raise


def _is_silence(error: Exception) -> bool:
    """Whether a call failed because AWS did not answer, or did not answer others just before."""
    return isinstance(error, _TIME_OUTS) or (isinstance(error, AwsError) and error.code == "Endpoint")


def _check_origin(model: Any, http_response: Any, parsed: Any) -> None:
    """The answer is from AWS. botocore reads a proxy's page as an object without fields: as an empty list, no
    tags, or a deletion that is done. The provider acts on those."""
    content = http_response.content.lstrip()[:16].lower()
    empty = not content and model.output_shape is not None and bool(model.output_shape.members)
    named = parsed.get("ResponseMetadata", {}).get("RequestId")
    if not named or empty or content.startswith(_PAGES):
        raise unreadable(model.name, "it has no request id, or is empty or a web page")


@dataclass(frozen=True)
class _Call:
    service: str
    operation: str
    began: float
    """On the pace's clock."""
    watch: Stopwatch


def _retry(
    caught_exception: Exception | None,
    attempts: int,
    request_dict: dict[str, Any],
    operation: Any = None,
    **_: Any,
) -> float | None:
    if operation is not None and operations.creates(operation.name):
        # The response to a second request would not say what the first one created.
        return None
    # One immediate retry if AWS closed a kept-alive connection during the request. The queue waits for
    # everything longer, on the injected clock.
    if attempts > 1 or not isinstance(caught_exception, ConnectionClosedError):
        return None
    request_dict["context"][_REPEATED] = True
    return 0.0


def _uncertain(operation: str, error: AwsError) -> AwsError:
    """The error of a write whose first request may have reached AWS, whatever stopped the second."""
    if error.sent and error.operation == operation:
        return error
    words = f"AWS closed the connection, and the request could not be repeated: {error}"
    return AwsError(operation, "Endpoint", words, after=error.after)
