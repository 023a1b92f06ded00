"""TenantSource: a table of customers whose rows become claims or managed resources."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from edgetenants_runtime.api.conditions import Conditions
from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Bool, Kube, Rule
from edgetenants_runtime.api.references import LabelMap, ObjectName, SecretKeySelector

from . import errors

_UNITS: Final[Mapping[str, float]] = {"s": 1, "m": 60, "h": 3600}
_SHORTEST_POLL: Final = 10
_LONGEST: Final = 8760 * 3600
"""Seconds. Longer durations are typing errors."""


def seconds(duration: str) -> float:
    """The seconds of a duration such as 1h30m."""
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall("([0-9]+)(s|m|h)", duration))


_POLL: Final = Rule(
    f"duration(self) >= duration('{_SHORTEST_POLL}s') && duration(self) <= duration('24h')",
    f"expected a duration from {_SHORTEST_POLL}s to 24h",
    lambda value: _SHORTEST_POLL <= seconds(value) <= 24 * 3600,
)
_GRACE: Final = Rule(
    "duration(self) <= duration('8760h')",
    "expected a duration of at most 8760h",
    lambda value: seconds(value) <= _LONGEST,
)
_DURATION = Field(min_length=2, max_length=32, pattern="^([0-9]+(s|m|h))+$")

COLUMN_PATTERN: Final = "^[A-Za-z_][A-Za-z0-9_.-]*$"
ColumnName = Annotated[str, Field(min_length=1, max_length=63, pattern=COLUMN_PATTERN)]
"""Name of a column or attribute."""


FieldPath = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-zA-Z0-9]+([.][a-zA-Z0-9]+)*$")]
"""Path of a field below a spec."""


class Format(StrEnum):
    """The format of a table in text."""

    CSV = "csv"
    """Comma-separated values with a header line (RFC 4180). Every value is text; an empty one is missing."""
    JSONL = "jsonl"
    """One JSON object in each line."""
    YAML = "yaml"
    """A YAML list of objects."""


class ConfigMapSource(ApiModel):
    """A table in a ConfigMap of the same namespace."""

    name: ObjectName
    """Name of the ConfigMap."""
    key: Annotated[str, Field(min_length=1, max_length=253, pattern="^[-._a-zA-Z0-9]+$")]
    """The key in its data that has the table."""
    format: Format
    """csv: comma-separated values with a header line, all of them text. jsonl: one JSON object in each line.
    yaml: a list of objects."""


_DATABASE_NAME = Field(min_length=1, max_length=63)
_POINTER: Final = "^(/[^/]*)+$"
_RESERVED_HEADERS: Final = (
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "if-none-match",
    "transfer-encoding",
)


class PostgresqlSource(ApiModel):
    """A table or query of a PostgreSQL database, over TLS. The process connects only to hosts that its flag
    --allowed-database-hosts lists."""

    host: Annotated[str, Field(min_length=1, max_length=253, pattern="^[A-Za-z0-9._:-]+$")]
    """Host name or address of the server. Its certificate must be for it."""
    port: Annotated[int, Field(ge=1, le=65535), NOT_TEXT] = 5432
    """Port of the server."""
    database: Annotated[str, _DATABASE_NAME]
    """Name of the database."""
    user: Annotated[str, _DATABASE_NAME]
    """The user to read as. It needs the privilege SELECT, and should have no other."""
    password_secret_ref: SecretKeySelector
    """The key of a Secret of the same namespace that holds the user's password. It is read before each read
    of the table, so a new password takes effect with the next one."""
    ca_secret_ref: SecretKeySelector | None = None
    """The key of a Secret of the same namespace that holds certificates of the authorities, in PEM, that the
    server's certificate must be from. Unset: those of the system."""
    table: Annotated[str | None, _DATABASE_NAME] = None
    """Name of a table or view, as the database writes it."""
    schema_name: Annotated[str, _DATABASE_NAME] = "public"
    """Schema of the table."""
    columns: Annotated[
        tuple[Annotated[str, _DATABASE_NAME], ...], Field(max_length=200), Kube(list_type="set")
    ] = ()
    """Columns of the table to read. Unset: all."""
    query: Annotated[str | None, Field(min_length=1, max_length=16384)] = None
    """A SELECT, instead of a table. It is run in a read-only transaction."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.table) != has(self.query)",
            "expected exactly one of table and query",
            lambda source: (source.table is None) != (source.query is None),
        ),
    )


_MYSQL_NAME = Field(min_length=1, max_length=64)
_JSON_COLUMNS = Field(max_length=200)


class MysqlSource(ApiModel):
    """A table or query of a MySQL or MariaDB database, over TLS. The process connects only to hosts that its
    flag --allowed-database-hosts lists."""

    host: Annotated[str, Field(min_length=1, max_length=253, pattern="^[A-Za-z0-9._:-]+$")]
    """Host name or address of the server. Its certificate must be for it."""
    port: Annotated[int, Field(ge=1, le=65535), NOT_TEXT] = 3306
    """Port of the server."""
    database: Annotated[str, _MYSQL_NAME]
    """Name of the database."""
    user: Annotated[str, Field(min_length=1, max_length=128)]
    """The user to read as. It needs the privilege SELECT, and should have no other."""
    password_secret_ref: SecretKeySelector
    """The key of a Secret of the same namespace that holds the user's password. It is read before each read
    of the table, so a new password takes effect with the next one."""
    ca_secret_ref: SecretKeySelector | None = None
    """The key of a Secret of the same namespace that holds certificates of the authorities, in PEM, that the
    server's certificate must be from. Unset: those of the system."""
    table: Annotated[str | None, _MYSQL_NAME] = None
    """Name of a table or view of the database, as the database writes it."""
    columns: Annotated[
        tuple[Annotated[str, _MYSQL_NAME], ...], Field(max_length=200), Kube(list_type="set")
    ] = ()
    """Columns of the table to read. Unset: all."""
    query: Annotated[str | None, Field(min_length=1, max_length=16384)] = None
    """A SELECT, instead of a table. It is run in a read-only transaction."""
    json_columns: Annotated[tuple[ColumnName, ...], _JSON_COLUMNS, Kube(list_type="set")] = ()
    """Columns of text that hold JSON, such as a list of domains. MariaDB has no type of its own for JSON."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.table) != has(self.query)",
            "expected exactly one of table and query",
            lambda source: (source.table is None) != (source.query is None),
        ),
    )


class RedisSource(ApiModel):
    """The hashes below a prefix in Redis or Valkey, over TLS: the primary of one server, without a cluster.
    The process connects only to hosts that its flag --allowed-database-hosts lists."""

    host: Annotated[str, Field(min_length=1, max_length=253, pattern="^[A-Za-z0-9._:-]+$")]
    """Host name or address of the server. Its certificate must be for it."""
    port: Annotated[int, Field(ge=1, le=65535), NOT_TEXT] = 6379
    """Port of the server."""
    database: Annotated[int, Field(ge=0, le=65535), NOT_TEXT] = 0
    """Number of the database."""
    user: Annotated[str, Field(min_length=1, max_length=128)] = "default"
    """The ACL user to read as. It needs `+info +scan +hgetall +select` and the keys below the prefix, and
    should have no other rights."""
    password_secret_ref: SecretKeySelector
    """The key of a Secret of the same namespace that holds the user's password. It is read before each read
    of the hashes, so a new password takes effect with the next one."""
    ca_secret_ref: SecretKeySelector | None = None
    """The key of a Secret of the same namespace that holds certificates of the authorities, in PEM, that the
    server's certificate must be from. Unset: those of the system."""
    prefix: Annotated[str, Field(min_length=1, max_length=256)]
    """Each key that begins with it, such as `customer:`, is a row. A key of another type than hash is a row
    that is wrong."""
    key_column: ColumnName = "key"
    """The column that has the rest of the key, without the prefix. A field of a hash with this name is left
    out."""
    json_columns: Annotated[tuple[ColumnName, ...], _JSON_COLUMNS, Kube(list_type="set")] = ()
    """Fields that hold JSON, such as a list of domains. All others are text."""


_NOT_RESERVED: Final = Rule(
    f"!(self.lowerAscii() in {list(_RESERVED_HEADERS)})",
    f"expected none of {', '.join(_RESERVED_HEADERS)}",
    lambda value: value.lower() not in _RESERVED_HEADERS,
)


class HttpHeader(ApiModel):
    """A header whose value is in a Secret."""

    name: Annotated[
        str, Field(min_length=1, max_length=128, pattern="^[A-Za-z0-9-]+$"), Kube(rules=(_NOT_RESERVED,))
    ]
    """Name of the header, such as Authorization."""
    secret_ref: SecretKeySelector
    """The key of a Secret of the same namespace that holds the whole value, such as `Bearer …`. It is read
    before each read of the rows."""


class Paging(StrEnum):
    """How the pages of an API follow each other."""

    SINGLE = "Single"
    """One page is the whole table. A page that seems to name a next one fails the read."""
    LINK = "Link"
    """The Link header with rel="next" (RFC 8288). The last page has a Link header without it, or total or
    totalHeader says that all rows were read: a page without the header may be one of many."""
    NEXT_URL = "NextUrl"
    """The member nextUrl of each page."""
    CURSOR = "Cursor"
    """The member cursor of each page."""


class HttpSource(ApiModel):
    """JSON objects from an HTTP API, page by page. The process calls only hosts that its flag
    --allowed-http-hosts lists, and public addresses. Redirects are refused."""

    url: Annotated[str, Field(max_length=2048, pattern=r"^https://[^\s/?#@\\]+([/?][^\s#\\]*)?$")]
    """URL of the first page."""
    items: Annotated[str, Field(max_length=256, pattern="^(/[^/]*)*$")] = ""
    """JSON pointer (RFC 6901) of the list of rows in a page, such as /data/items. Empty: the page itself. A
    page without a list there fails the read."""
    paging: Paging
    """How the pages follow each other: Single, Link, NextUrl or Cursor. It has no default: the first page of
    many would look like the whole table."""
    next_url: Annotated[str | None, Field(max_length=256, pattern=_POINTER)] = None
    """With NextUrl: JSON pointer of the URL of the next page; null or empty on the last one. It must have the
    scheme, host and port of `url`."""
    cursor: Annotated[str | None, Field(max_length=256, pattern=_POINTER)] = None
    """With Cursor: JSON pointer of a cursor that the URL of the next page takes; null or empty on the last
    one."""
    cursor_parameter: Annotated[str, Field(min_length=1, max_length=64, pattern="^[A-Za-z0-9._-]+$")] = (
        "cursor"
    )
    """The parameter of the URL that takes the cursor."""
    total: Annotated[str | None, Field(max_length=256, pattern=_POINTER)] = None
    """JSON pointer of the number of all rows in each page, such as /meta/total. A read with another number of
    rows fails."""
    total_header: Annotated[str | None, Field(min_length=1, max_length=128, pattern="^[A-Za-z0-9-]+$")] = None
    """Header with the number of all rows, such as X-Total-Count, in place of `total`."""
    headers: Annotated[
        tuple[HttpHeader, ...], Field(max_length=20), Kube(list_type="map", keys=("name",))
    ] = ()
    """Headers of each request, such as one with a token."""
    ca_secret_ref: SecretKeySelector | None = None
    """The key of a Secret of the same namespace that holds certificates of the authorities, in PEM, that the
    server's certificate must be from. Unset: those of the system."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.nextUrl) == (self.paging == 'NextUrl') && "
            "has(self.cursor) == (self.paging == 'Cursor')",
            "expected nextUrl with paging NextUrl, cursor with paging Cursor, and neither with another",
            lambda source: (
                (source.next_url is not None) == (source.paging is Paging.NEXT_URL)
                and (source.cursor is not None) == (source.paging is Paging.CURSOR)
            ),
        ),
        Rule(
            "!(has(self.total) && has(self.totalHeader))",
            "expected at most one of total and totalHeader",
            lambda source: source.total is None or source.total_header is None,
        ),
    )


_STORES: Final = ("configMap", "postgresql", "mysql", "redis", "http")


class SourceChoice(ApiModel):
    """Where the customers are."""

    config_map: ConfigMapSource | None = None
    """A table in a ConfigMap of the same namespace."""
    postgresql: PostgresqlSource | None = None
    """A table or query of a PostgreSQL database."""
    mysql: MysqlSource | None = None
    """A table or query of a MySQL or MariaDB database."""
    redis: RedisSource | None = None
    """The hashes below a prefix in Redis or Valkey."""
    http: HttpSource | None = None
    """JSON objects from an HTTP API."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"[{', '.join(f'has(self.{name})' for name in _STORES)}].filter(given, given).size() == 1",
            f"expected exactly one of {', '.join(_STORES[:-1])} and {_STORES[-1]}",
            lambda choice: sum(store is not None for _, store in choice) == 1,
        ),
    )


class TemplateKind(StrEnum):
    """The kind of the objects."""

    TENANT_CLAIM = "TenantClaim"
    """A claim, which the composition function turns into managed resources under a plan."""
    DISTRIBUTION_TENANT = "DistributionTenant"
    """A managed resource, without a plan."""


class Overrides(ApiModel):
    """Fields that a row sets on its own."""

    column: ColumnName
    """The column with a JSON object that is merged into the spec. A row without a value overrides nothing."""
    allow: Annotated[tuple[FieldPath, ...], Field(min_length=1, max_length=50), Kube(list_type="set")]
    """The paths below the spec that it may set, such as `parameters` or `security.webAcl`, each with all
    below it. A row that sets another field is invalid."""


class Template(ApiModel):
    """How a row becomes an object. `{column}` stands for the value of a column; `{{` and `}}` for braces. A
    value that is only a placeholder keeps the type of the column's value, such as a list or a number; within
    other text, it becomes text."""

    kind: TemplateKind = TemplateKind.TENANT_CLAIM
    """TenantClaim or DistributionTenant. If it changes, the objects of the former kind stay as they are."""
    name: Annotated[str, Field(min_length=1, max_length=253)]
    """The object's name, such as `{slug}`. What Kubernetes does not accept as a name becomes a readable name
    with a hash. An object keeps its name while its row has the same key."""
    labels: Annotated[dict[str, Annotated[str, Field(max_length=253)]], Field(max_length=20)] = Field(
        default_factory=dict
    )
    """Labels of the object; the values may have placeholders. None of edgetenants.io, crossplane.io,
    kubernetes.io and k8s.io, which others read as their own."""
    spec: dict[str, Any]
    """The object's spec; its strings may have placeholders. It is checked against the kind's schema when the
    TenantSource is applied, and again with the values of each row."""
    defaults: Annotated[dict[str, Any], Field(max_length=100)] = Field(default_factory=dict)
    """Values of columns that a row does not have, or has as null. Without a default, such a row is
    invalid."""
    overrides: Overrides | None = None
    """Fields that a row sets on its own. Unset: none."""


class WhenGone(StrEnum):
    """What happens to the object of a row that is gone."""

    ORPHAN = "Orphan"
    """It stays as it is."""
    SUSPEND = "Suspend"
    """Its tenant is disabled, and serves again when the row is back."""
    DELETE = "Delete"
    """It is deleted, and with it the tenant."""


class OnSourceDelete(StrEnum):
    """What happens to the objects when the TenantSource is deleted."""

    ORPHAN = "Orphan"
    """They stay."""
    DELETE = "Delete"
    """They are deleted, and with them the tenants."""


class MaxGone(ApiModel):
    """How many rows may go within one hour before removals wait for a confirmation: the larger of the two
    numbers. Suspensions and deletions of the last hour count. If all rows that were there went, they always
    wait, also if there are new ones."""

    rows: Annotated[int, Field(ge=0, le=1_000_000), NOT_TEXT] = 5
    """A number of rows."""
    percent: Annotated[int, Field(ge=0, le=100), NOT_TEXT] = 2
    """A percentage of the objects that had a row until then."""


class Adopt(ApiModel):
    """Existing objects that the TenantSource may take over."""

    match_labels: Annotated[LabelMap, Field(min_length=1)]
    """An object of a row's name with all these labels is taken over, unless another TenantSource has it."""


class TenantSourceSpec(ApiModel):
    """The desired state."""

    source: SourceChoice
    """Where the customers are."""
    key: ColumnName
    """The column that identifies a row. It must be unique, and must not change."""
    template: Template
    """How a row becomes an object."""
    poll_interval: Annotated[str, _DURATION, Kube(rules=(_POLL,))] = "1m"
    """How often the whole table is read: 10s to 24h, such as 5m."""
    when_gone: WhenGone = WhenGone.ORPHAN
    """What happens to the object of a row that is gone. Orphan: it stays as it is. Suspend: its tenant is
    disabled until the row is back. Delete: it is deleted, and with it the tenant. Only complete reads
    count."""
    after: Annotated[str, _DURATION, Kube(rules=(_GRACE,))] = "24h"
    """How long a row must be gone before Suspend or Delete, such as 72h. Only time between complete reads
    counts, and it begins again if `source`, `key` or `whenGone` changes. In any case two complete reads, at
    least one poll interval apart, must not have the row."""
    max_gone: MaxGone = MaxGone()
    """How many rows may go within one hour before removals wait for a confirmation."""
    max_new: Annotated[int, Field(ge=0, le=10_000), NOT_TEXT] = 60
    """The most objects that are created in one minute; 0 creates none."""
    max_not_live: Annotated[int | None, Field(ge=1, le=1_000_000), NOT_TEXT] = None
    """While this many objects are not live, no further ones are created, so that a bad import stops. Unset:
    no limit."""
    order: ColumnName | None = None
    """The column by which new objects are created in order. Unset: the key."""
    adopt: Adopt | None = None
    """Existing objects that the TenantSource may take over. Unset: none. A field that another field manager
    has stays as it is."""
    on_delete: OnSourceDelete = OnSourceDelete.ORPHAN
    """What happens to the objects when the TenantSource is deleted. Orphan: they stay. Delete: they are
    deleted, and with them the tenants."""
    suspend: Bool = False
    """true: the TenantSource reads and writes nothing."""


class RowProblem(ApiModel):
    """A row that is invalid, or that cannot be applied."""

    key: Annotated[str, Field(max_length=128)]
    """The row's key, shortened if it is long."""
    field: Annotated[str, Field(max_length=253)]
    """The field of the object or the column."""
    expected: Annotated[str, Field(max_length=512)]
    """What was expected of it. Values of the row are not shown."""


class Removal(ApiModel):
    """Removals that wait for a confirmation."""

    count: Annotated[int, Field(ge=0), NOT_TEXT]
    """The number of objects."""
    names: Annotated[tuple[str, ...], Field(max_length=20), Kube(list_type="atomic")] = ()
    """The names of the first twenty."""
    token: Annotated[str, Field(max_length=64)]
    """The value of the annotation edgetenants.io/confirm that confirms the removal of exactly this set,
    once."""


class TenantSourceStatus(ApiModel):
    """The observed state of the table and of the objects."""

    observed_generation: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The metadata.generation that was last acted upon."""
    rows: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The rows of the last complete read."""
    objects: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The objects of this TenantSource. They are deleted with it if onDelete is Delete."""
    live: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The objects that are live: a claim's condition Live, or a managed resource's Ready, is True."""
    invalid: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The rows that have a problem. Their objects keep the last good state."""
    gone: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The objects whose row is gone."""
    waiting: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The rows whose object waits to be created, because of maxNew or maxNotLive."""
    problems: Annotated[tuple[RowProblem, ...] | None, Field(max_length=20), Kube(list_type="atomic")] = None
    """The first twenty rows with a problem, by key."""
    gone_names: Annotated[tuple[str, ...] | None, Field(max_length=20), Kube(list_type="atomic")] = None
    """The names of the first twenty objects whose row is gone."""
    removal: Removal | None = None
    """The removals that wait for a confirmation. Unset: none."""
    conditions: Conditions = ()
    """Ready, Synced, Degraded and Suspended."""


def parse(spec: Mapping[str, Any]) -> TenantSourceSpec:
    """Read the spec of a TenantSource.

    Raises:
        errors.InvalidInput: with all problems, each with its path below `spec`.
    """
    return errors.parse(TenantSourceSpec, spec, root="spec")
