"""The managed resources of a cluster, as far as they may be read: what other resources a plan meets."""

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
    """No cluster can be read; the message says why."""


def connect(kubeconfig: Path | None, context: str | None) -> KubeClient:
    """The cluster that was named, else the one that kubectl would use.

    Raises:
        NoCluster: there is no kubeconfig, or it cannot be used.
    """
    where = str(kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config")
    try:
        return KubeClient.from_kubeconfig(where, context, field_manager="edgetenants").bounded(_SECONDS)
    except Exception as error:
        raise NoCluster(f"kubeconfig {where}: {error}") from error


def look(client: KubeClient, namespaces: Iterable[str]) -> Sight:
    """List the managed resources; where not all of a kind may be listed, those of these namespaces."""
    listed: list[_Listed] = []
    for kind in _KINDS:
        listed.append(_list(client, kind, namespaces))
        if listed[-1].unanswered:
            # The others would only be waited for as well.
            return Sight(unseen=(listed[-1].unseen,))
    if not any(each.served for each in listed):
        return Sight(unseen=("the cluster serves none of the kinds of edgetenants",))
    resources = tuple(Managed(each) for kind in listed for each in kind.objects)
    return Sight(resources, tuple(each.unseen for each in listed if each.unseen))


@dataclass(frozen=True)
class _Listed:
    """The objects of one kind, as far as they may be listed."""

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
        # What is not seen here is told as not seen in all namespaces.
        with suppress(KubeError):
            yield from client.select(kind, namespace, {})
