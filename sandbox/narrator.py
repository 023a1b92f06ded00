"""Prints what happens in a sandbox: Kubernetes events, calls to AWS, and conditions of the claim.

All three go into one stream, in the order in which they are read. Each line starts with the seconds since the
start.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from sandbox.world import World

JsonObject = dict[str, Any]


class StuckError(Exception):
    """A step did not complete in time. The message contains the last state."""


class Narrator:
    """Polls the sandbox and prints what is new; `wait` polls until a condition is met."""

    def __init__(self, world: World, namespace: str, console: Console) -> None:
        self._world = world
        self._namespace = namespace
        self._console = console
        self._start = time.monotonic()
        self._calls_seen = world.emulator.calls()["total"]
        self._events_seen: dict[str, int] = {}
        self._conditions: dict[tuple[str, str], str] = {}
        self._last_call = ""
        self._repeats = 0

    def heading(self, title: str, explanation: str) -> None:
        """Print the heading of a step."""
        self._tell_repeats()
        self._last_call = ""
        self._console.print()
        self._console.rule(Text(title, style="bold"), align="left", style="dim")
        self._console.print(Text(explanation, style="dim"))

    def say(self, source: str, message: str, style: str = "") -> None:
        """Print one line: time, source, message."""
        line = Text(f"{time.monotonic() - self._start:6.1f}s  ", style="dim")
        line.append(
            f"{source:<11}", style="bold " + {"AWS": "yellow", "Kubernetes": "blue"}.get(source, "magenta")
        )
        line.append(message, style=style)
        self._console.print(line, soft_wrap=True, highlight=False)

    def get(self, resource: str, name: str) -> JsonObject:
        """The current object in the API server; empty if it does not exist."""
        out = self._world.kubectl(
            "get", resource, name, "-n", self._namespace, "-o", "json", "--ignore-not-found"
        )
        found: JsonObject = json.loads(out) if out.strip() else {}
        return found

    def look(self, claim: str) -> JsonObject:
        """Print what is new since the last call, and return the current claim."""
        self._tell_calls()
        self._tell_events()
        found = self.get("tenantclaims", claim)
        self._tell_conditions(found)
        return found

    def wait(
        self, claim: str, until: Callable[[JsonObject], bool], *, what: str, seconds: float = 60
    ) -> JsonObject:
        """Look until `until` holds for the claim.

        Raises:
            StuckError: `until` did not become true within `seconds` of real time.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = self.look(claim)
            if until(found):
                self.look(claim)
                return found
            if time.monotonic() > deadline:
                raise StuckError(
                    f"timed out after {seconds:.0f} s waiting for {what};"
                    f" the claim's conditions: {conditions_of(found) or 'none'}"
                )
            time.sleep(0.3)

    def _tell_events(self) -> None:
        out = self._world.kubectl("get", "events", "-n", self._namespace, "-o", "json")
        for event in sorted(json.loads(out)["items"], key=lambda e: int(e["metadata"]["resourceVersion"])):
            uid, count = event["metadata"]["uid"], int(event.get("count") or 1)
            if self._events_seen.get(uid, 0) >= count:
                continue
            first = uid not in self._events_seen
            self._events_seen[uid] = count
            if first:
                about = event["involvedObject"]
                style = "red" if event["type"] == "Warning" else ""
                self.say(
                    "Kubernetes",
                    f"{about['kind']}/{about['name']}: {event['reason']}: {event['message']}",
                    style,
                )

    def _tell_calls(self) -> None:
        report = self._world.emulator.calls(since=self._calls_seen)
        self._calls_seen = report["total"]
        for call in report["calls"]:
            line = f"{call['operation']} → {call.get('code') or call['status']}"
            if line == self._last_call:
                self._repeats += 1
                continue
            self._tell_repeats()
            self._last_call = line
            self.say("AWS", line)

    def _tell_repeats(self) -> None:
        """Print how often the last call was repeated. Repeated calls of a poll are not printed one by one."""
        if self._repeats:
            self.say("AWS", f"… repeated {self._repeats} more times", "dim")
        self._repeats = 0

    def _tell_conditions(self, claim: JsonObject) -> None:
        for c in claim.get("status", {}).get("conditions", []):
            if c["type"] not in ("Live", "Ready"):
                continue
            key = (claim["metadata"]["name"], c["type"])
            now = f"{c['type']}={c['status']} ({c['reason']})"
            if self._conditions.get(key) != now:
                self._conditions[key] = now
                message = f": {c['message']}" if c.get("message") else ""
                self.say("claim", f"{now}{message}", "bold green" if c["status"] == "True" else "")


def conditions_of(obj: JsonObject) -> str:
    """The conditions in one line, for messages."""
    found = obj.get("status", {}).get("conditions", [])
    return "; ".join(f"{c['type']}={c['status']}/{c['reason']} {c.get('message', '')}".strip() for c in found)
