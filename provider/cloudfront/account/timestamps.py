"""Reads the timestamps of AWS's answers.

botocore has dateutil guess the format of each, which takes longer than the rest of a row of a list.
CloudFront sends RFC 3339 (botocore's model: timestampFormat iso8601, the default of REST XML). Anything else
is left to botocore.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from botocore.utils import parse_timestamp

__all__ = ["read"]


def read(value: Any) -> datetime:
    """Return the time with its zone. Raises ValueError, as botocore's own function does."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return parse_timestamp(value)
    # A date without a time, or a time without a zone: botocore knows what it means.
    return moment if moment.tzinfo is not None else parse_timestamp(value)
