"""Timestamps are read as botocore reads them."""

from __future__ import annotations

import pytest
from botocore.utils import parse_timestamp

from provider.cloudfront.account import timestamps


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-27T19:11:09Z",
        "2026-11-27T19:11:09.123Z",
        "2026-11-27T19:11:09.123456+00:00",
        "2026-11-27T20:11:09+01:00",
        "2026-11-27T19:11:09",
        "2026-11-27",
        "Fri, 27 Nov 2026 19:11:09 GMT",
        1795806669,
        1795806669.5,
        "1795806669",
        "20261127T191109Z",
    ],
)
def test_a_timestamp_is_what_botocore_reads(value):
    expected, read = parse_timestamp(value), timestamps.read(value)
    assert (read, read.utcoffset()) == (expected, expected.utcoffset())


@pytest.mark.parametrize("value", ["soon", "", None, {}])
def test_what_is_none_is_refused_as_by_botocore(value):
    with pytest.raises(ValueError, match="timestamp"):
        timestamps.read(value)


def test_the_usual_ones_never_reach_dateutil(monkeypatch):
    """It takes longer than the rest of a row."""
    monkeypatch.setattr(timestamps, "parse_timestamp", None)
    assert timestamps.read("2026-11-27T19:11:09.123Z").microsecond == 123000
