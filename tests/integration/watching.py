"""A record of every state that objects of one kind went through, as a watch tells it."""

import json
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any

from sandbox.world import World

Object = dict[str, Any]


@dataclass
class Watch:
    """Collects watch events of `resource` in all namespaces until closed; use as a context manager."""

    world: World
    resource: str
    events: list[tuple[str, Object]] = field(default_factory=list)

    def __enter__(self) -> "Watch":
        command = self.world.kubectl_command(
            "get", self.resource, "-A", "--watch", "--output-watch-events", "-o", "json"
        )
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
        self._thread.join(timeout=10)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            self.events.append((event["type"], event["object"]))

    def of(self, name: str) -> list[Object]:
        """Every state of the object of that name, oldest first."""
        return [o for _, o in list(self.events) if o["metadata"]["name"] == name]


def condition(obj: Object, type_: str) -> Object:
    """The condition of that type, empty when the object has none."""
    conditions = obj.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == type_), {})


def is_true(obj: Object, type_: str) -> bool:
    return condition(obj, type_).get("status") == "True"
