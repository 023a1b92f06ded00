"""Tables in text."""

import pytest

from apis.tenantsource import Format
from sources.stores.config_map import TextStore
from sources.stores.store import StoreError, StoreReason


def rows(text: str, format_: Format) -> list[dict[str, object]]:
    with TextStore(text, format_).read() as reading:
        return [dict(each.columns) for each in reading]


def test_csv_has_text_and_an_empty_value_is_missing() -> None:
    text = '\ufeffid,domains\r\na,"x,y"\r\n\r\nb,\r\n'
    assert rows(text, Format.CSV) == [{"id": "a", "domains": "x,y"}, {"id": "b", "domains": None}]


def test_json_lines_and_yaml_keep_types() -> None:
    wanted = [{"id": 1, "on": True, "list": ["a"], "none": None}, {"id": "b"}]
    assert rows('{"id":1,"on":true,"list":["a"],"none":null}\n\n{"id":"b"}', Format.JSONL) == wanted
    assert rows("- {id: 1, 'on': true, list: [a], none: null}\n- {id: b}", Format.YAML) == wanted
    assert rows("- {id: 1, day: 2026-01-01}", Format.YAML) == [{"id": 1, "day": "2026-01-01"}]
    assert rows("[]", Format.YAML) == []


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("", Format.CSV),
        ("id,id\na,b", Format.CSV),
        ("id,\na,b", Format.CSV),
        ('id,x\n"secret', Format.CSV),
        ('{"id": "secret"', Format.JSONL),
        ("secret: [", Format.YAML),
        ("", Format.YAML),
        ("- &x {id: secret}\n- *x", Format.YAML),
        ("!!python/object:os.secret {}", Format.YAML),
    ],
)
def test_what_is_no_table_is_an_error_without_its_text(text: str, format_: Format) -> None:
    """Also an empty text: it would else be a table whose rows are all gone."""
    with pytest.raises(StoreError) as refused:
        rows(text, format_)
    assert refused.value.reason is StoreReason.INVALID_DATA
    assert "secret" not in refused.value.message
