"""When a failed call is retried, and what the resource says until then.

The provider does not retry a call in place: the reconcile ends, and the runtime's queue repeats it after the
time that this module chooses. Botocore's own retries are off (hooks.py); throttling.py slows down all calls
of an account that AWS throttles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from provider.cloudfront.aws.errors import AwsError, ErrorClass

__all__ = ["PERMIT", "before_creation", "not_ready", "to_external_error"]

_QUOTA_SECONDS: Final = 600.0
_VALIDATION_SECONDS: Final = 300.0
_ROLL_OUT_SECONDS: Final = 5.0
_IN_USE_SECONDS: Final = 60.0


def to_external_error(
    error: AwsError,
    what: str,
    *,
    serving: bool,
    meanwhile: tuple[Condition, ...] = (),
    creating: bool = False,
    advice: str = "",
) -> ExternalError | NotYet:
    """Return the error for the runtime: `<what>: <code>: <AWS's message>. <the next action>`, with the
    request id as an attribute.

    Args:
        error: the error from AWS.
        what: the attempted action, such as `create tenant shop.acme`.
        serving: the tenant serves anyway, so Ready stays as it is.
        meanwhile: other conditions that are known after the failure.
        creating: the call creates, so it matters whether it created something.
        advice: the next action, if the caller knows a better one.
    """
    message = _told(error, what, advice or _advice(error))
    conditions = meanwhile if serving else (*meanwhile, not_ready(error.verdict.reason, message))
    match error.verdict.class_:
        case ErrorClass.WAIT:
            made_nothing = not creating or error.made_nothing
            return NotYet(message, after=_wait_of(error), conditions=conditions, made_nothing=made_nothing)
        case ErrorClass.QUOTA:
            retry = Retry.after(_QUOTA_SECONDS)
        case ErrorClass.TERMINAL:
            retry = Retry.poll()
        case _:
            retry = Retry.backoff()
    return ExternalError(
        message,
        conditions=conditions,
        retry=retry,
        request_id=error.request_id,
        made_nothing=creating and error.made_nothing,
    )


_RENEW: Final = "Renew the credentials to which spec.credentials of the ProviderConfig refers"
PERMIT: Final = "Permit it in the IAM policy of these credentials (docs/iam.md)"
_CORRECT: Final = "Correct the resource; the provider retries as soon as it changes"
_AGAIN: Final = "The provider retries"
_ASK_FOR_MORE: Final = (
    "A quota of the AWS account is used up: the account's owner must request an increase from AWS, or remove "
    "what is not needed. The provider retries every ten minutes"
)
_ANOTHER_CLIENT: Final = (
    "Another client changed it at the same time. The provider retries. If this persists, another provider of "
    "this installation or another tool also writes to it: stop one of the two"
)
_MAKE_RECORDS: Final = (
    "CloudFront does not see yet that the domains point to it. Create the records of status.dnsInstructions; "
    "the provider retries every five minutes"
)


def _advice(error: AwsError) -> str:
    """Return the next action, as far as the error alone shows it."""
    if error.bad_credentials:
        return _RENEW
    if error.conflict:
        return _ANOTHER_CLIENT
    if error.not_permitted:
        return PERMIT
    if error.verdict.class_ is ErrorClass.QUOTA:
        return _ASK_FOR_MORE
    return _CORRECT if error.asked_wrongly else _AGAIN


def _told(error: AwsError, what: str, advice: str) -> str:
    if error.unowned:
        # AWS reports an invalid argument, but the cause is a missing DNS record.
        return f"{what}: {_MAKE_RECORDS}. AWS: {error.code}: {error.words}"
    told = f"{what}: {error.code}: {error.words}"
    return f"{told.rstrip('.')}. {advice}"


@contextmanager
def before_creation() -> Iterator[None]:
    """Mark errors of the block as raised before anything was created."""
    try:
        yield
    except ExternalError as error:
        raise error.but(made_nothing=True) from error


def _wait_of(error: AwsError) -> float:
    if error.after is not None:
        return error.after
    match error.verdict.reason:
        case Reason.DOMAIN_VALIDATION_PENDING:
            return _VALIDATION_SECONDS
        case Reason.DISABLING:
            return _ROLL_OUT_SECONDS
        case _:
            return _IN_USE_SECONDS


def not_ready(reason: Reason, message: str) -> Condition:
    """Return Ready False with that reason."""
    return Condition(
        type=ConditionType.READY, status=ConditionStatus.FALSE, reason=reason.value, message=message
    )
