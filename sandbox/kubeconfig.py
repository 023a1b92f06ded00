"""Kubeconfigs: writing those of a sandbox, reading one that a user names."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from sandbox.errors import WorldError
from sandbox.pki import Pair

__all__ = ["contexts", "read", "with_certificate", "with_token", "write"]

JsonObject = dict[str, Any]


def with_certificate(server: str, pair: Pair, user: str) -> JsonObject:
    """A kubeconfig for a user that a client certificate proves; it refers to no other file."""
    cluster = {"server": server, "certificate-authority-data": _base64(pair.ca)}
    return _kubeconfig(
        cluster,
        user,
        {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)},
    )


def with_token(admin: JsonObject, token: str, user: str) -> JsonObject:
    """A kubeconfig for the cluster of `admin` and a user that a bearer token proves."""
    return _kubeconfig(admin["clusters"][0]["cluster"], user, {"token": token})


def write(path: Path, config: JsonObject) -> Path:
    """Write a kubeconfig, readable for this user only. JSON is YAML."""
    path.touch(mode=0o600, exist_ok=True)
    path.write_text(json.dumps(config, indent=2) + "\n")
    return path


def read(path: Path) -> JsonObject:
    """A kubeconfig that `write` wrote."""
    config: JsonObject = json.loads(path.read_text())
    return config


def contexts(path: Path) -> tuple[str, ...]:
    """The names of the contexts in a kubeconfig, in its order.

    Raises:
        WorldError: there is no such file, or it is not a kubeconfig.
    """
    if not path.is_file():
        raise WorldError(f"--kubeconfig: there is no file {path}")
    try:
        config = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise WorldError(f"--kubeconfig: {path} is not YAML: {str(e).splitlines()[0]}") from e
    if not isinstance(config, dict) or config.get("kind") != "Config":
        raise WorldError(f"--kubeconfig: {path} is not a kubeconfig (kind Config)")
    return tuple(str(c["name"]) for c in config.get("contexts") or ())


def _kubeconfig(cluster: JsonObject, user: str, proof: JsonObject) -> JsonObject:
    name = "edgetenants"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": proof}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user, "namespace": "default"}}],
    }


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
