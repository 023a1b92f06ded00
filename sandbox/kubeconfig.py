"""Writes the kubeconfigs of a sandbox, and reads the user's."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from sandbox.errors import WorldError
from sandbox.pki import Pair

__all__ = ["contexts", "read", "with_certificate", "with_files", "with_token", "write"]

JsonObject = dict[str, Any]


def with_certificate(server: str, pair: Pair, user: str) -> JsonObject:
    """A kubeconfig for a user with a client certificate. It does not refer to other files."""
    cluster = {"server": server, "certificate-authority-data": _base64(pair.ca)}
    return _kubeconfig(
        cluster,
        user,
        {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)},
    )


def with_files(server: str, folder: str, user: str) -> JsonObject:
    """A kubeconfig for a user whose certificate is in `folder`, as ca.crt, tls.crt and tls.key."""
    cluster = {"server": server, "certificate-authority": f"{folder}/ca.crt"}
    return _kubeconfig(
        cluster, user, {"client-certificate": f"{folder}/tls.crt", "client-key": f"{folder}/tls.key"}
    )


def with_token(admin: JsonObject, token: str, user: str) -> JsonObject:
    """A kubeconfig for the cluster of `admin` and a user with a bearer token."""
    return _kubeconfig(admin["clusters"][0]["cluster"], user, {"token": token})


def write(path: Path, config: JsonObject) -> Path:
    """Write a kubeconfig that only this user can read. It is JSON, which is valid YAML."""
    path.touch(mode=0o600, exist_ok=True)
    path.write_text(json.dumps(config, indent=2) + "\n")
    return path


def read(path: Path) -> JsonObject:
    """Read a kubeconfig that `write` wrote."""
    config: JsonObject = json.loads(path.read_text())
    return config


def contexts(path: Path) -> tuple[str, ...]:
    """The names of the contexts in a kubeconfig, in the order of the file.

    Raises:
        WorldError: the file does not exist or is not a kubeconfig.
    """
    if not path.is_file():
        raise WorldError(f"--kubeconfig: file {path} not found")
    try:
        config = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise WorldError(f"--kubeconfig: {path}: invalid YAML: {str(e).splitlines()[0]}") from e
    if not isinstance(config, dict) or config.get("kind") != "Config":
        raise WorldError(f"--kubeconfig: {path} is not a kubeconfig (expected kind Config)")
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
