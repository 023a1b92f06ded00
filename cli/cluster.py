"""Reads the managed resources of a cluster that the user is allowed to list, for `plan`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotServed
from edgetenants_runtime.managed import Managed, ResourceKind
from provider.cloudfront.rehearsal.sight import Sight
from provider.main import TREES, resource_kind

__all__ = ["NoCluster", "connect", "look"]

_SECONDS: Final = 10.0
_KINDS: Final = tuple(resource_kind(kind) for tree in TREES for kind in (tree.tenant, tree.group))


class NoCluster(Exception):  # noqa: N818 - names the thing found
    """The cluster cannot be read; the message says why."""


def connect(kubeconfig: Path | None, context: str | None) -> KubeClient:
    """A client of the named cluster, or else of the one that kubectl would use.

    Raises:
        NoCluster: the kubeconfig does not exist or cannot be used.
    """
    where = str(kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config")
    try:
        return KubeClient.from_kubeconfig(where, context, field_manager="edgetenants").bounded(_SECONDS)
    except Exception as error:
        raise NoCluster(f"kubeconfig {where}: {error}") from error


def look(client: KubeClient, namespaces: Iterable[str]) -> Sight:
    """List the managed resources. Where the user may not list a kind in the whole cluster, list it in these
    namespaces."""
    listed: list[_Listed] = []
    for kind in _KINDS:
        listed.append(_list(client, kind, namespaces))
        if listed[-1].unanswered:
            # Requests for the other kinds would time out, too.
            return Sight(unseen=(listed[-1].unseen,))
    if not any(each.served for each in listed):
        return Sight(unseen=("the cluster does not serve any of edgetenants' kinds",))
    resources = tuple(Managed(each) for kind in listed for each in kind.objects)
    return Sight(resources, tuple(each.unseen for each in listed if each.unseen))


@dataclass(frozen=True)
class _Listed:
    """The objects of one kind that the user is allowed to list."""

    objects: tuple[dict[str, Any], ...] = ()
    unseen: str = ""
    served: bool = True
    unanswered: bool = False


def _list(client: KubeClient, kind: ResourceKind, namespaces: Iterable[str]) -> _Listed:
    try:
        return _Listed(tuple(client.select(kind, "", {})))
    except NotServed:
        return _Listed(served=False)
    except Forbidden as error:
        return _Listed(tuple(_within(client, kind, namespaces)), unseen=str(error))
    except KubeError as error:
        return _Listed(unseen=str(error), unanswered=error.code == 0)


def _within(client: KubeClient, kind: ResourceKind, namespaces: Iterable[str]) -> Iterator[dict[str, Any]]:
    for namespace in sorted(set(namespaces) - {""}) if kind.namespaced else ():
        # An error here adds nothing: the caller already reports that not all namespaces were listed.
        with suppress(KubeError):
            yield from client.select(kind, namespace, {})
