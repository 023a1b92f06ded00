"""Cells of types that MariaDB does not have, and cells that no honest server sends."""

from __future__ import annotations

import pytest
from pymysql.constants import FIELD_TYPE

from sources.stores.mysql_values import JSON, Field, cell
from sources.stores.values import Unfit


def field(kind, *, binary=False, length=20):
    return Field("value", kind, binary, length)


def test_mysql_has_a_type_for_json_whose_collation_is_that_of_bytes():
    assert cell(field(JSON, binary=True), b'{"a": [1, "\xc3\xa4"]}') == {"a": [1, "ä"]}
    assert cell(field(JSON, binary=True), None) is None


def test_bytes_are_not_read_as_json():
    column = field(FIELD_TYPE.BLOB, binary=True)
    assert cell(column.as_(JSON), b"[]") == b"[]"
    assert cell(field(FIELD_TYPE.LONG).as_(JSON), b"1") == 1
    assert cell(field(FIELD_TYPE.BLOB).as_(JSON), b"[]") == []


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (FIELD_TYPE.LONG, b"x"),
        (FIELD_TYPE.LONG, b"1" * 5000),
        (FIELD_TYPE.LONG, b"\xff"),
        (FIELD_TYPE.TINY, b""),
        (FIELD_TYPE.NEWDECIMAL, b"1,5"),
        (FIELD_TYPE.DOUBLE, b"1.5.5"),
        (FIELD_TYPE.FLOAT, b""),
        (FIELD_TYPE.DATE, b"2026-02-30"),
        (FIELD_TYPE.DATETIME, b"0000-00-00 00:00:00"),
        (FIELD_TYPE.TIMESTAMP, b"soon"),
        (FIELD_TYPE.TIME, b"838:59:59"),
        (FIELD_TYPE.STRING, b"\xff"),
        (JSON, b"["),
        (JSON, b"\xff"),
    ],
)
def test_what_has_not_the_form_of_its_type_is_unfit(kind, data):
    assert isinstance(cell(field(kind), data), Unfit)


@pytest.mark.parametrize(("data", "expected"), [(b"\x01", 1), (b"", 0), (b"\x08\x01", 2049)])
def test_a_longer_bit_is_a_number(data, expected):
    assert cell(field(FIELD_TYPE.BIT, length=12), data) == expected


@pytest.mark.parametrize("text", ["0.1", "100000", "16777200"])
def test_a_float_may_be_rounded_whatever_it_looks_like(text):
    assert isinstance(cell(field(FIELD_TYPE.FLOAT), text.encode()), Unfit)


def test_a_type_that_is_not_known_is_bytes():
    assert cell(field(242, binary=True), b"\x00\x01") == b"\x00\x01"


def test_a_long_json_text_is_not_parsed():
    assert cell(field(JSON), b"[" + b"0," * 2**19 + b"0]") == Unfit("JSON of at most 1 MiB")
    text = b'"' + b"x" * (2**20 - 2) + b'"'
    assert cell(field(JSON), text) == "x" * (2**20 - 2)
