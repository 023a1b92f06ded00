"""AWS clients whose answers end in time, and have a size that the provider can hold and read.

botocore reads an answer to its end, however long that takes and however much it is. The endpoint of a
provider config may be someone else's than AWS's, and one endless answer would take the memory of all.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.parsers import ResponseParserError

from provider.dns.bounded_http import Bounded

__all__ = ["bound_answers"]

_MOST_PARTS: Final = 200_000
"""Elements of XML, or lists and objects of JSON, in an answer. A list of AWS with a hundred items has some
thousands. Many more hold the interpreter for seconds, and with it the renewal of the Lease."""


class _Bounded(Bounded):
    SECONDS: ClassVar[float] = 60.0
    MOST_BYTES: ClassVar[int] = 4 * 1024 * 1024

    @classmethod
    def seconds(cls) -> float:
        """As long as botocore waits: the answer to a write is worth more than the time of a reconcile."""
        return cls.SECONDS


class _Connection(_Bounded, AWSHTTPConnection):  # type: ignore[misc] # a method in place of an attribute
    pass


class _ConnectionOfTls(_Bounded, AWSHTTPSConnection):  # type: ignore[misc] # as above
    pass


class _Pool(AWSHTTPConnectionPool):
    ConnectionCls = _Connection


class _PoolOfTls(AWSHTTPSConnectionPool):
    ConnectionCls = _ConnectionOfTls


_POOLS: Final = {"http": _Pool, "https": _PoolOfTls}


def bound_answers(client: Any) -> None:
    """Have a botocore client read bounded answers. Call it before the first request.

    botocore has no setting for that. A version of botocore that is built in another way works as it does
    without this: a test notices.
    """
    client.meta.events.register("before-parse", _check_parts)
    http: Any = getattr(getattr(client, "_endpoint", None), "http_session", None)
    manager = getattr(http, "_manager", None)
    if manager is None or not hasattr(http, "_pool_classes_by_scheme"):
        return
    manager.pool_classes_by_scheme = _POOLS
    # For a proxy, botocore makes a manager with the first request.
    http._pool_classes_by_scheme = _POOLS  # noqa: SLF001 - see above


def _check_parts(response_dict: dict[str, Any], **_: object) -> None:
    """Raises ResponseParserError, as for any answer that cannot be read."""
    body = response_dict.get("body")
    if isinstance(body, bytes) and sum(map(body.count, (b"<", b"{", b"["))) > _MOST_PARTS:
        raise ResponseParserError(f"expected at most {_MOST_PARTS} elements in an answer")
