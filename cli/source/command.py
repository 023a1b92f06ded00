"""`edgetenants source preview` and `check`: one run."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click

from apis import errors
from apis.errors import visible
from apis.kinds import TENANT_SOURCE
from apis.tenantsource import TenantSourceSpec, WhenGone, parse
from cli import output
from cli.cluster import NoCluster, connect
from cli.documents import Document, UnreadableFile, read_all
from cli.forms import Form
from cli.logs import to_stderr
from cli.source.preview import Preview, previewed
from cli.source.printing import Result, lines, to_json
from cli.source.sight import Reader, Sight, reader_of
from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, SystemClock, utc_now
from edgetenants_runtime.managed import Managed, ObjectKey
from sources import options
from sources.going import Before, Record
from sources.objects import CONFIRM, Existing, owner_value
from sources.plan import World
from sources.quiet import Found, in_time
from sources.quiet import read_all as read_rows
from sources.reading import Allowed, opener
from sources.stores.http import Confinement
from sources.stores.store import Row, StoreError
from sources.template import Compiled, InvalidTemplate, compile_template

__all__ = ["Asked", "run"]

_LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMESPACE: Final = re.compile(_LABEL)
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_NAME: Final = 253
_ENDINGS: Final = (".yaml", ".yml", ".json")
_EVERY: Final = 2.0
"""Seconds between two lines of progress."""
_LOOK_AT_CLOCK: Final = 500


@dataclass(frozen=True)
class Asked:
    """What the user asks for. Hosts and networks are as in the flags of edgetenants-sources."""

    targets: tuple[str, ...]
    form: Form
    namespace: str | None = None
    """None: that of each file, or default."""
    kubeconfig: Path | None = None
    context: str | None = None
    databases: str = ""
    hosts: str = ""
    networks: str = ""
    of_process: str = "crossplane-system"
    """The namespace of edgetenants-sources."""
    timeout: float = 600.0
    """Seconds of one read."""
    strict: bool = False
    """Exit with 1 also if something would be written."""
    checks: bool = False
    """Show the rows that are wrong, and nothing else."""

    @property
    def default_namespace(self) -> str:
        """That of names, and of files which name none."""
        return self.namespace or "default"

    @property
    def names_cluster(self) -> bool:
        """Whether the user wants a comparison with a cluster, so that it is an error if there is none."""
        return bool(self.kubeconfig or self.context) or any(_is_name(each) for each in self.targets)


def run(asked: Asked) -> None:
    """See the commands, in cli/commands. Ends the process with the command's exit code."""
    to_stderr()
    allowed = Allowed(
        options.databases(asked.databases),
        Confinement(options.hosts(asked.hosts), options.networks(asked.networks)),
    )
    try:
        documents = read_all([Path(each) for each in asked.targets if not _is_name(each)])
    except UnreadableFile as error:
        raise click.UsageError(visible(str(error))) from error
    namespace = asked.default_namespace
    if _NAMESPACE.fullmatch(namespace) is None:
        raise click.UsageError(visible(f"expected the name of a namespace, got {namespace!r}"))
    for each in documents:
        _check_data(each)
    reader, why = _cluster(asked)
    sight = Sight(documents, namespace, reader, why)
    looks = _Looks(asked, sight, allowed, SystemClock())
    sources = [*_of_files(documents, asked), *_of_names(asked, sight)]
    if not sources:
        raise click.UsageError("expected a TenantSource, got none")
    results = []
    for source in sources:
        results.append(looks.result(source))
        if asked.form is Form.TEXT:
            for line in lines(results[-1], checks=asked.checks):
                click.echo(visible(line))
    if asked.form is not Form.TEXT:
        found = [to_json(each, checks=asked.checks) for each in results]
        click.echo(output.structured(found, asked.form), nl=False)
    sys.exit(max(each.exit_code(checks=asked.checks, strict=asked.strict) for each in results))


def _is_name(target: str) -> bool:
    """Whether it names a TenantSource of the cluster; else it is a file."""
    if Path(target).exists() or target.endswith(_ENDINGS):
        return False
    return _is_object_name(target)


def _is_object_name(name: str) -> bool:
    """Whether an object can have it. No other name becomes part of the path of a request."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def _cluster(asked: Asked) -> tuple[Reader | None, str]:
    """What reads the cluster, or why nothing does.

    Raises:
        click.UsageError: the user named a cluster, and it cannot be read.
    """
    try:
        return reader_of(connect(asked.kubeconfig, asked.context)), ""
    except NoCluster as error:
        if asked.kubeconfig or asked.context:
            raise click.UsageError(visible(str(error))) from error
        return None, str(error)


def _check_data(document: Document) -> None:
    """Raises click.UsageError if the data of a ConfigMap or Secret is no object."""
    if document.api_version != "v1" or document.kind not in ("ConfigMap", "Secret"):
        return
    for path in ("data", "stringData"):
        if not isinstance(document.value.get(path) or {}, dict):
            message = f"{document.place(path)}: {document.kind}: {path}: expected an object"
            raise click.UsageError(visible(message))


def _check_place(document: Document, asked: Asked) -> str:
    """The namespace of a TenantSource in a file.

    Raises:
        click.UsageError: its name or namespace is none, or it is not in the namespace that the user named.
            The author of a file must not choose whose Secrets are read.
    """
    namespace = document.namespace or asked.default_namespace
    if not _is_object_name(document.name) or _NAMESPACE.fullmatch(namespace) is None:
        message = "expected a name of lower-case letters, digits, - and ., and the name of a namespace"
    elif asked.namespace is not None and namespace != asked.namespace:
        message = f"expected the namespace {asked.namespace}, as asked for with --namespace"
    else:
        return namespace
    raise click.UsageError(visible(f"{document.place('metadata')}: {message}"))


def _of_files(documents: Iterable[Document], asked: Asked) -> Iterator[Managed]:
    for each in documents:
        if (each.api_version, each.kind) != (TENANT_SOURCE.api_version, TENANT_SOURCE.kind):
            continue
        wrong = [path for path in ("metadata", "spec") if not isinstance(each.value.get(path), dict)]
        if wrong or not isinstance(each.metadata.get("name"), str):
            raise click.UsageError(
                visible(f"{each.place('')}: expected a TenantSource with a name and a spec")
            )
        annotations = {str(name): str(value) for name, value in each.at("metadata", "annotations").items()}
        metadata = {
            "name": each.name,
            "namespace": _check_place(each, asked),
            "annotations": annotations,
        }
        yield Managed({**each.value, "metadata": metadata})


def _of_names(asked: Asked, sight: Sight) -> Iterator[Managed]:
    for name in filter(_is_name, asked.targets):
        stored = sight.source(ObjectKey(asked.default_namespace, name))
        if stored is None:
            none = f"there is none in the namespace {asked.default_namespace}"
            why = sight.unseen[-1] if sight.unseen else none
            raise click.UsageError(visible(f"TenantSource {name}: {why}"))
        yield Managed(stored)


@dataclass(frozen=True)
class _Looks:
    """Looks at one TenantSource after the other."""

    asked: Asked
    sight: Sight
    allowed: Allowed
    clock: Clock

    def result(self, source: Managed) -> Result:
        """What it would do."""
        self.sight.begin()
        title = f"TenantSource {source.key}"
        try:
            spec = parse(source.spec)
            template = compile_template(spec.template)
        except (errors.InvalidInput, InvalidTemplate) as error:
            return Result(title, refusal=str(error))
        notes, kind = tuple(_notes(source, spec)), template.kind.kind
        try:
            with deadline.within(self.asked.timeout, self.clock):
                found = self.read(source, spec, template)
        except StoreError as error:
            return Result(title, kind, spec, notes, failure=f"{error.reason.value}: {error.message}")
        preview = self.preview(source, spec, template, found)
        blind = self.sight.blind and self.asked.names_cluster
        return Result(title, kind, spec, notes, tuple(self.sight.unseen), preview, blind=blind)

    def read(self, source: Managed, spec: TenantSourceSpec, template: Compiled) -> Found:
        """All rows, as the process reads them. Raises StoreError."""
        open_store = opener(self.sight.get, self.clock, self.allowed)
        opened = partial(open_store, source.namespace, spec.source)
        click.echo(f"reading the rows of {visible(str(source.key))}", err=True)
        found = read_rows(opened, None, spec, template, _telling(self.clock))
        if found is None:
            raise AssertionError("there was no read before")
        return found

    def preview(self, source: Managed, spec: TenantSourceSpec, template: Compiled, found: Found) -> Preview:
        """What follows from the rows."""
        stored = self.sight.source(source.key)
        known = source
        if stored is not None:
            annotations = {**Managed(stored).annotations, **source.annotations}
            known = Managed({**stored, "metadata": {**stored["metadata"], "annotations": annotations}})
        objects = self.sight.objects(template.kind, source.namespace)
        owner = owner_value(source.name)
        mine = {name: each for name, each in objects.items() if each.owner == owner}
        record = self.sight.record(self.asked.of_process, known) if mine and stored is not None else None

        def other(name: str) -> Existing | None:
            return None if name in mine else objects.get(name)

        confirm = known.annotations.get(CONFIRM) or ""
        before = Before(record or Record.new())
        world = World(spec, mine, other, confirm, utc_now(), before)
        return previewed(found.table, world, template, record)


def _notes(source: Managed, spec: TenantSourceSpec) -> Iterator[str]:
    if spec.suspend:
        yield "suspend: true, so edgetenants-sources reads and writes nothing"
    if spec.when_gone is not WhenGone.ORPHAN:
        flag = "--enable-alpha-removals"
        yield f"edgetenants-sources accepts whenGone: {spec.when_gone.value} only if it runs with {flag}"
    if source.deleted:
        yield "the TenantSource is being deleted, so its rows are not followed"


def _telling(clock: Clock) -> Callable[[Iterable[Row]], Iterator[Row]]:
    """Passes rows on while there is time, and tells how many there are now and then."""

    def told(rows: Iterable[Row]) -> Iterator[Row]:
        last = clock.now()
        for number, row in enumerate(in_time(rows), 1):
            if number % _LOOK_AT_CLOCK == 0 and clock.now() - last >= _EVERY:
                last = clock.now()
                click.echo(f"{number} rows", err=True)
            yield row

    return told
