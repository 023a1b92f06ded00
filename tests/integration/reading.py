"""Reads objects from the API server in this process, and makes the writes that tests make most.

Tests look several times a second, and to start kubectl for each look takes far more of the processor.
"""

import base64
import functools
import json
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from sandbox import kubeconfig
from sandbox.errors import WorldError

Object = dict[str, Any]
_AS_KUBECTL_APPLIES = "?fieldManager=kubectl&force=true&fieldValidation=Strict"
_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@functools.cache
def reader(file: Path, user: str = "") -> "Reader":
    """The reader of one kubeconfig, as its own user or as another."""
    return Reader(file, user)


class Reader:
    """What `kubectl get -o json` gives, for one user."""

    def __init__(self, file: Path, user: str = "") -> None:
        config = kubeconfig.read(file)
        cluster, own = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._server = cluster["server"]
        self._as = {"Impersonate-User": user, "Impersonate-Group": "system:authenticated"} if user else {}
        self._folder = tempfile.TemporaryDirectory(prefix="reader-")
        self._pool = urllib3.PoolManager(
            ca_certs=self._file("ca", cluster["certificate-authority-data"]),
            cert_file=self._file("certificate", own["client-certificate-data"]),
            key_file=self._file("key", own["client-key-data"]),
            retries=urllib3.Retry(connect=0, read=1, redirect=0),  # a connection may end between two looks
            timeout=urllib3.Timeout(connect=10, read=60),
        )
        self._kinds: dict[str, Object] = {}

    def get(self, resource: str, name: str, namespace: str) -> Object:
        """One object; empty if there is none. `namespace` does not matter where the kind has none.

        Raises:
            WorldError: the API server refuses, is away, or does not have the kind.
        """
        return self._ask(f"{self._path(resource, namespace)}/{quote(name)}") or {}

    def items(self, resource: str, namespace: str = "", selector: str = "") -> list[Object]:
        """The objects of a namespace, or of all of them, with these labels.

        Raises:
            WorldError: as for `get`.
        """
        query = f"?{urlencode({'labelSelector': selector})}" if selector else ""
        found = self._ask(f"{self._path(resource, namespace)}{query}")
        if found is None:
            raise WorldError(f"get {resource}: not found")
        # Items of a list of built-in kinds do not say what they are.
        kind = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        return [{**kind, **item} for item in found["items"]]

    def patch(self, resource: str, name: str, namespace: str, body: Object, subresource: str = "") -> None:
        """What `kubectl patch --type=merge` does.

        Raises:
            WorldError: the API server refuses, is away, or does not have the object.
        """
        path = f"{self._path(resource, namespace)}/{quote(name)}" + (f"/{subresource}" if subresource else "")
        self._write("PATCH", path, body, "application/merge-patch+json")

    def delete(self, resource: str, name: str, namespace: str) -> None:
        """What `kubectl delete --wait=false` does.

        Raises:
            WorldError: as for `patch`.
        """
        path = f"{self._path(resource, namespace)}/{quote(name)}"
        self._write("DELETE", path, {"propagationPolicy": "Background"}, "application/json")

    def apply(self, *objects: Object) -> None:
        """What `kubectl apply --server-side --force-conflicts` does.

        Raises:
            WorldError: as for `patch`.
        """
        for each in objects:
            metadata = each["metadata"]
            resource = f"{each['apiVersion']}.{each['kind']}"
            path = f"{self._path(resource, metadata.get('namespace', ''))}/{quote(metadata['name'])}"
            self._write("PATCH", path, each, "application/apply-patch+yaml", _AS_KUBECTL_APPLIES)

    def may(self, verb: str, resource: str, namespace: str = "", subresource: str = "") -> bool:
        """What `kubectl auth can-i` answers; without a namespace, for all of them.

        Raises:
            WorldError: as for `get`.
        """
        kind = self._kind(resource)
        group = kind["prefix"].removeprefix("/apis/").rpartition("/")[0] if "/apis/" in kind["prefix"] else ""
        asked = {"verb": verb, "group": group, "resource": kind["plural"], "subresource": subresource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {**asked, "namespace": namespace}},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = self._write("POST", path, review, "application/json", "")
        return bool(json.loads(answer)["status"]["allowed"])

    def names(self, resource: str, namespace: str) -> list[str]:
        """The names of the objects of a namespace. It does not read the objects, which may be too deep.

        Raises:
            WorldError: as for `get`.
        """
        path = f"{self._path(resource, namespace)}?includeObject=None"
        return [row["cells"][0] for row in (self._ask(path, Accept=_TABLE) or {}).get("rows") or ()]

    def _write(
        self, method: str, path: str, body: Object, content: str, query: str = "?fieldManager=kubectl-patch"
    ) -> bytes:
        """The answer, not parsed: an object may be too deep."""
        headers = {**self._as, "Content-Type": content}
        query = "" if method == "DELETE" else query
        try:
            answer = self._pool.request(
                method, self._server + path + query, body=json.dumps(body), headers=headers, retries=False
            )
        except urllib3.exceptions.HTTPError as e:
            raise WorldError(f"{method.lower()} {path}: {e}") from e
        if answer.status >= 400:
            told: Object = json.loads(answer.data) if answer.data[:1] == b"{" else {}
            said = told.get("message") or answer.data.decode(errors="replace")
            raise WorldError(f"{method.lower()} {path}: Error from server ({told.get('reason')}): {said}")
        return bytes(answer.data)

    def _path(self, resource: str, namespace: str) -> str:
        kind = self._kind(resource)
        inside = f"/namespaces/{namespace}" if namespace and kind["namespaced"] else ""
        return f"{kind['prefix']}{inside}/{kind['plural']}"

    def _kind(self, resource: str) -> Object:
        if resource not in self._kinds:
            self._kinds = {**self._discover("/apis"), **self._discover("/api")}
        if resource not in self._kinds:
            raise WorldError(f'the server doesn\'t have a resource type "{resource}"')
        return self._kinds[resource]

    def _discover(self, path: str) -> dict[str, Object]:
        """Each name of each kind. Of two kinds with one name, that of the group that comes first counts."""
        found: dict[str, Object] = {}
        for group in (self._ask(path, Accept=_DISCOVERY) or {})["items"]:
            of = group["metadata"].get("name", "")
            for version in group["versions"]:
                prefix = f"/apis/{of}/{version['version']}" if of else f"/api/{version['version']}"
                for each in version["resources"]:
                    plural = each["resource"]
                    kind = {"prefix": prefix, "plural": plural, "namespaced": each["scope"] == "Namespaced"}
                    found.setdefault(_version_and_kind(each["responseKind"], of, version["version"]), kind)
                    names = (plural, each.get("singularResource", plural), *each.get("shortNames", ()))
                    for name in (*names, *(f"{name}.{of}" for name in names)):
                        found.setdefault(name, kind)
        return found

    def _ask(self, path: str, **headers: str) -> Object | None:
        """The answer; nothing where there is no such object."""
        try:
            answer = self._pool.request("GET", self._server + path, headers={**self._as, **headers})
        except urllib3.exceptions.HTTPError as e:
            raise WorldError(f"get {path}: {e}") from e
        told: Object = json.loads(answer.data) if answer.data[:1] == b"{" else {}
        if answer.status == 200:
            return told
        if answer.status == 404 and told.get("reason") == "NotFound" and told.get("details", {}).get("name"):
            return None
        raise WorldError(f"get {path}: {told.get('message') or answer.data.decode(errors='replace')}")

    def _file(self, name: str, encoded: str) -> str:
        file = Path(self._folder.name, name)
        file.write_bytes(base64.b64decode(encoded))
        return str(file)


def _version_and_kind(of: Object, group: str, version: str) -> str:
    """The key of a kind in discovery: apiVersion and kind, as in an object."""
    group, version = of.get("group") or group, of.get("version") or version
    return f"{group}/{version}.{of['kind']}" if group else f"{version}.{of['kind']}"
