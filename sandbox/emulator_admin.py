"""The emulator's admin API: its clock, its faults, its call log, and hands behind the provider's back."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from sandbox.errors import WorldError

__all__ = ["EmulatorAdmin", "Fault"]

JsonObject = dict[str, Any]
Fault = str
"""The id of a fault that was armed."""


class EmulatorAdmin:
    """A client of one emulator, by the URL that is also its AWS endpoint."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._base = f"{endpoint}/_edgetenants"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @property
    def clock_url(self) -> str:
        """What the provider's --clock follows."""
        return f"{self._base}/clock"

    # Clock

    def clock(self) -> JsonObject:
        """{"version", "virtual": seconds, "rate": virtual seconds for each real one}."""
        return self._ask("GET", "/clock")

    def step(self, seconds: float) -> JsonObject:
        """Make that much virtual time pass at once; the clock as it is then."""
        return self._ask("POST", "/clock", {"step": seconds})

    def set_rate(self, rate: float) -> JsonObject:
        """Let virtual time run at `rate` virtual seconds for each real one; the clock as it is then."""
        return self._ask("POST", "/clock", {"rate": rate})

    # State

    def seed(self, body: Mapping[str, Any]) -> JsonObject:
        """Make certificates and multi-tenant distributions unless they exist; what was made."""
        return self._ask("POST", "/seed", body)

    def state(self) -> JsonObject:
        """{"distributions": [...], "tenants": [...], "connectionGroups": [...]} of every account."""
        return self._ask("GET", "/state")

    def tenant(self, name: str) -> JsonObject:
        """The distribution tenant of that name; empty when there is none."""
        return next((t for t in self.state()["tenants"] if t["Name"] == name), {})

    def edit_tenant(self, id_or_name: str, changes: Mapping[str, Any]) -> JsonObject:
        """Change a tenant behind the provider's back, as somebody in the console would."""
        return self._ask("PATCH", f"/distribution-tenants/{quote(id_or_name, safe='')}", changes)

    def remove_tenant(self, id_or_name: str) -> JsonObject:
        """Take a tenant away behind the provider's back."""
        return self._ask("DELETE", f"/distribution-tenants/{quote(id_or_name, safe='')}")

    def make_record(self, name: str, type_: str, *values: str) -> JsonObject:
        """Make a record in the public DNS as CloudFront sees it, as a domain's owner would."""
        return self._ask("POST", "/records", {"name": name, "type": type_, "values": list(values)})

    def change_settings(self, changes: Mapping[str, Any]) -> JsonObject:
        """Change durations, quotas or page sizes; all settings as they are then."""
        return self._ask("PATCH", "/settings", changes)

    # Calls

    def calls(self, since: int = 0) -> JsonObject:
        """{"total", "by_operation": {operation: count}, "calls": [...]}; calls from number `since` on."""
        return self._ask("GET", "/calls", query={"since": since})

    def reset_calls(self) -> None:
        """Forget all calls so far."""
        self._ask("DELETE", "/calls")

    # Faults

    def hold(self, operation: str, *, nth: int = 1, when: str = "before") -> Fault:
        """Hold the nth call from now of an operation before or after its effect, until released."""
        return self._arm(operation, nth, when, {"action": "hold"})

    def delay(self, operation: str, seconds: float, *, nth: int = 1, when: str = "before") -> Fault:
        """Answer the nth call from now that many real seconds later."""
        return self._arm(operation, nth, when, {"action": "delay", "seconds": seconds})

    def fail(
        self,
        operation: str,
        error: Mapping[str, Any],
        *,
        nth: int = 1,
        when: str = "before",
        every: bool = False,
    ) -> Fault:
        """Answer the nth call from now, or every one, with {"code", "status", "message"}."""
        return self._arm(operation, nth, when, {"action": "fail", "error": dict(error), "every": every})

    def reset_connection(self, operation: str, *, nth: int = 1, when: str = "before") -> Fault:
        """Break the connection of the nth call from now."""
        return self._arm(operation, nth, when, {"action": "reset"})

    def fault(self, fault: Fault, wait: float = 0) -> JsonObject:
        """{"state": "armed" | "held" | "done"}, after waiting up to `wait` seconds for held or done."""
        return self._ask("GET", f"/faults/{fault}", query={"wait": wait}, timeout=wait + 15)

    def wait_held(self, fault: Fault, seconds: float) -> bool:
        """Wait until a call is held by the fault; False when none is within `seconds`."""
        return bool(self.fault(fault, wait=seconds)["state"] == "held")

    def release(self, fault: Fault, *, drop: bool = False) -> None:
        """Let a held call go on, or with `drop` end it without effect, and forget the fault."""
        self._ask("DELETE", f"/faults/{fault}", query={"drop": "true"} if drop else {})

    def clear_faults(self) -> None:
        """Release all held calls and forget all faults."""
        self._ask("DELETE", "/faults")

    def _arm(self, operation: str, nth: int, when: str, action: Mapping[str, Any]) -> Fault:
        armed = self._ask("POST", "/faults", {"operation": operation, "nth": nth, "when": when, **action})
        return str(armed["id"])

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        timeout: float = 30,
    ) -> JsonObject:
        url = self._base + path + (f"?{urlencode(query)}" if query else "")
        request = urllib.request.Request(  # noqa: S310 - our own endpoint
            url,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                text = answer.read()
        except urllib.error.HTTPError as e:
            said = e.read().decode(errors="replace").strip()
            raise WorldError(f"the emulator refuses {method} {path}: {e.code} {said}") from e
        except OSError as e:
            raise WorldError(f"the emulator does not answer at {self.endpoint}: {e}") from e
        found: JsonObject = json.loads(text) if text.strip() else {}
        return found
