"""A cluster in memory, with as much of kubectl as applying and deleting recorded objects needs."""

import json

from sandbox.kubectl import KubernetesObject


class Cluster:
    """Objects by (kind, namespace, name); a journal of what changed."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], KubernetesObject] = {}
        self.journal: list[str] = []
        self.stuck: set[str] = set()
        """Names of objects that a finalizer holds when they are deleted."""
        self.refuses_patches = False
        self._uids = 0

    def add(self, kind, name, namespace="", api_version="v1"):
        self._uids += 1
        obj = KubernetesObject(api_version, kind, namespace, name, f"uid-{self._uids}")
        self.objects[kind, namespace, name] = obj
        return obj

    def apply(self, objects=(), files=()):
        made = []
        for o in objects:
            self.journal.append(f"apply {o['kind']}/{o['metadata']['name']}")
            key = (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"])
            made.append(self.objects.get(key) or self.add(key[0], key[2], key[1], o["apiVersion"]))
        return tuple(made)

    def existing(self, objects):
        keys = [(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects]
        return tuple(self.objects[k] for k in keys if k in self.objects)

    def delete(self, obj):
        key = (obj.kind, obj.namespace, obj.name)
        there = self.objects.get(key)
        if there is None or there.uid != obj.uid:
            return False
        self.journal.append(f"delete {obj.kind}/{obj.name}")
        if obj.name not in self.stuck:
            del self.objects[key]
        return True

    def exists(self, *what):
        resource, name = what
        kinds = {"crd": "CustomResourceDefinition"}
        return (kinds[resource], "", name) in self.objects

    def with_condition(self, resource, condition):
        kinds = {"crd": "CustomResourceDefinition", "xrd": "CompositeResourceDefinition"}
        return frozenset(name for kind, _, name in self.objects if kind == kinds[resource])

    def run(self, *args, **_):
        self.journal.append("kubectl " + " ".join(args[:3]))
        if args[0] == "patch" and args[2] in self.stuck and not self.refuses_patches:
            self.objects = {k: o for k, o in self.objects.items() if o.name != args[2]}
        return json.dumps({"items": []}) if "json" in args else ""
