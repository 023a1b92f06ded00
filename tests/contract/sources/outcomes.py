"""What a read of a database gives."""

from __future__ import annotations

import pytest

from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import servers

CANARY = "canary-of-a-row"


def rows(opened) -> list[dict]:
    """The columns of each row."""
    with opened.read() as reading:
        return [dict(row.columns) for row in reading]


def failure(opened) -> StoreReason:
    """Why it cannot be read; the error has neither the values of rows nor the password."""
    with pytest.raises(StoreError) as caught:
        rows(opened)
    said = f"{caught.value} {caught.value.__cause__}"
    assert CANARY not in said
    assert servers.PASSWORD not in said
    return caught.value.reason
