"""The installation id, which identifies this installation in AWS. A ConfigMap stores it, so it outlives the
pod and is restored with the cluster."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any, Final

import structlog

from edgetenants_runtime.clock import SystemClock, pause
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey

__all__ = ["CONFIG_MAP", "InvalidInstallation", "get_or_create", "validate"]

_log = structlog.get_logger("provider.installation")

CONFIG_MAP: Final = "edgetenants-installation"
_KEY: Final = "id"
_FORM: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,38}[A-Za-z0-9])?")
"""The id is part of an AWS tag's value, with namespace, kind and name; such a value has at most 256
characters."""
_LONGEST_WAIT: Final = 30.0


class InvalidInstallation(ValueError):  # noqa: N818 - names the thing found
    """An invalid installation id."""


def validate(id_: str, where: str) -> str:
    """Return the id if it is valid.

    Raises:
        InvalidInstallation: it is not 1 to 40 letters, digits, dots and hyphens.
    """
    if not _FORM.fullmatch(id_):
        raise InvalidInstallation(
            f"{where}: expected 1 to 40 letters, digits, dots and hyphens, with a letter or digit at both "
            f"ends, got {id_!r}"
        )
    return id_


def get_or_create(client: KubeClient, namespace: str, waiting: Callable[[str], None] = lambda _: None) -> str:
    """Return the installation id of this cluster; create it at the first start.

    If the API server does not respond or does not permit the request, wait in real time; log the reason, and
    pass it to `waiting`.

    Raises:
        InvalidInstallation: the ConfigMap contains an invalid id.
        KubeError: the API server permanently refuses, for example because the namespace does not exist.
    """
    wait = 1.0
    while True:
        try:
            return _read_or_create(client, namespace)
        except KubeError as error:
            if not error.transient and not isinstance(error, Forbidden):
                raise
            _log.warning("waiting for the installation id", error=str(error), retry_seconds=wait)
            waiting(f"waiting for the installation id: {error}")
        pause(SystemClock(), wait)
        wait = min(wait * 2, _LONGEST_WAIT)


def _read_or_create(client: KubeClient, namespace: str) -> str:
    try:
        return _id_of(client.get(CONFIG_MAPS, ObjectKey(namespace, CONFIG_MAP)), namespace)
    except NotFound:
        made = {"metadata": {"name": CONFIG_MAP, "namespace": namespace}, "data": {_KEY: str(uuid.uuid4())}}
    try:
        return _id_of(client.create(CONFIG_MAPS, made), namespace)
    except AlreadyExists:
        # Another replica was faster: use its id.
        return _id_of(client.get(CONFIG_MAPS, ObjectKey(namespace, CONFIG_MAP)), namespace)


def _id_of(config_map: dict[str, Any], namespace: str) -> str:
    return validate((config_map.get("data") or {}).get(_KEY) or "", f"ConfigMap {namespace}/{CONFIG_MAP}")
