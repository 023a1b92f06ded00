"""A client for the admin API, for tests and tools. It also creates clients for the emulated AWS APIs.

    emulator = EmulatorAdmin("http://127.0.0.1:4599")
    emulator.seed({"distributions": [{"id": "E1DEMO", "certificateDomains": ["*.example.com"]}]})
    emulator.client("cloudfront").create_distribution_tenant(...)
    emulator.step(60)

It does not import moto or the server, and works with an emulator in any process.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

__all__ = ["AdminError", "EmulatorAdmin", "Fault"]

JsonObject = dict[str, Any]
Fault = str
"""The id of a fault that was armed."""
_ACCOUNT = "123456789012"


class AdminError(Exception):
    """The emulator refused a request of the admin API, or does not respond."""


class EmulatorAdmin:
    """A client of one emulator. Its URL is also the AWS endpoint."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._base = f"{endpoint}/_edgetenants"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    # AWS's APIs

    def client(self, service: str, *, account: str = _ACCOUNT, **config: Any) -> Any:
        """A botocore client for an account, like boto3.client; `config` is botocore's Config.

        It uses no retries, proxies or profiles unless `config` sets them, so each call is one request.
        """
        from botocore.config import Config  # noqa: PLC0415 - half a second, for those who need it

        given = {"retries": {"total_max_attempts": 1}, "proxies": {}, **config}
        return self._session.create_client(
            service,
            region_name="us-east-1",
            endpoint_url=self.endpoint,
            aws_access_key_id=account,
            aws_secret_access_key="any",  # noqa: S106 - signatures are not verified
            config=Config(**given),
        )

    @cached_property
    def _session(self) -> Any:
        """One session for all clients, because loading AWS's models takes longer than creating a client."""
        from botocore.session import Session  # noqa: PLC0415

        return Session()

    # Clock

    @property
    def clock_url(self) -> str:
        """The URL of the clock, for programs that follow it."""
        return f"{self._base}/clock"

    def clock(self) -> JsonObject:
        """{"version", "virtual": seconds, "rate": virtual seconds per real second}."""
        return self._ask("GET", "/clock")

    def step(self, seconds: float) -> JsonObject:
        """Advance the clock by virtual seconds, and return it."""
        return self._ask("POST", "/clock", {"step": seconds})

    def set_rate(self, rate: float) -> JsonObject:
        """Run the clock at `rate` virtual seconds per real second, and return it."""
        return self._ask("POST", "/clock", {"rate": rate})

    # State

    def health(self) -> JsonObject:
        """{"ok": true}, as soon as the emulator responds."""
        return self._ask("GET", "/health")

    def reset(self) -> None:
        """Delete everything. The emulator is as it was at its start, except for its virtual time."""
        self._ask("POST", "/reset")

    def seed(self, body: Mapping[str, Any]) -> JsonObject:
        """Create certificates and multi-tenant distributions unless they exist, and return them."""
        return self._ask("POST", "/seed", body)

    def state(self) -> JsonObject:
        """{"distributions": [...], "tenants": [...], "connectionGroups": [...]} of every account."""
        return self._ask("GET", "/state")

    def tenant(self, name: str) -> JsonObject:
        """The distribution tenant of that name; empty if there is none."""
        return next((t for t in self.state()["tenants"] if t["Name"] == name), {})

    def edit_tenant(self, id_or_name: str, changes: Mapping[str, Any]) -> JsonObject:
        """Change a tenant out of band, like a user of the AWS console."""
        return self._ask("PATCH", f"/distribution-tenants/{_part(id_or_name)}", changes)

    def remove_tenant(self, id_or_name: str) -> JsonObject:
        """Delete a tenant out of band."""
        return self._ask("DELETE", f"/distribution-tenants/{_part(id_or_name)}")

    def certificate(self, id_or_name: str) -> JsonObject:
        """A tenant's managed certificate."""
        return self._ask("GET", f"/managed-certificates/{_part(id_or_name)}")

    def change_certificate(self, id_or_name: str, changes: Mapping[str, Any]) -> JsonObject:
        """Mark its tokens as served ({"served": true}), or set its status."""
        return self._ask("PATCH", f"/managed-certificates/{_part(id_or_name)}", changes)

    def distribution(self, distribution_id: str) -> JsonObject:
        """A distribution of any account, with its deployment durations."""
        return self._ask("GET", f"/distributions/{_part(distribution_id)}")

    def change_distribution(self, distribution_id: str, changes: Mapping[str, Any]) -> JsonObject:
        """Set its deployment durations: {"deploySeconds", "tenantDeploySeconds"}."""
        return self._ask("PATCH", f"/distributions/{_part(distribution_id)}", changes)

    def snapshot(self) -> JsonObject:
        """The complete state, for `load_snapshot`."""
        return self._ask("GET", "/snapshot")

    def load_snapshot(self, saved: Mapping[str, Any]) -> None:
        """Replace the state with a saved one."""
        self._ask("PUT", "/snapshot", saved)

    # DNS

    def make_record(self, name: str, type_: str, *values: str) -> JsonObject:
        """Create a record in the public DNS that CloudFront sees, like the owner of a domain."""
        return self._ask("POST", "/records", {"name": name, "type": type_, "values": list(values)})

    def records(self) -> JsonObject:
        """The records that were created with `make_record`."""
        return self._ask("GET", "/records")

    def remove_records(self, name: str = "", type_: str = "") -> JsonObject:
        """Delete records; without name and type, all of them."""
        return self._ask("DELETE", "/records", query=_given(name=name, type=type_))

    def dns(self, name: str = "", type_: str = "", *, view: str = "") -> JsonObject:
        """The DNS server's address and zones; with a name, its response, or what `cloudfront` sees."""
        return self._ask("GET", "/dns", query=_given(name=name, type=type_, view=view))

    # Settings

    def settings(self) -> JsonObject:
        """All settings: durations, quotas, page sizes, undocumented behaviour."""
        return self._ask("GET", "/settings")

    def change_settings(self, changes: Mapping[str, Any]) -> JsonObject:
        """Change settings, and return all of them."""
        return self._ask("PATCH", "/settings", changes)

    def unknowns(self) -> JsonObject:
        """Behaviour that AWS does not document, with the settings that change it."""
        return self._ask("GET", "/unknowns")

    def limits(self) -> JsonObject:
        """The configured rate limits."""
        return self._ask("GET", "/limits")

    def add_limits(self, wanted: Mapping[str, Any]) -> JsonObject:
        """Set {"published": "route53"}, or {"service", "operation", "burst", "refill"}."""
        return self._ask("POST", "/limits", wanted)

    def remove_limits(self, service: str = "") -> JsonObject:
        """Remove the limits of a service, or all limits."""
        return self._ask("DELETE", "/limits", query=_given(service=service))

    # Calls

    def calls(self, since: int = 0, **wanted: str) -> JsonObject:
        """{"total", "by_operation": {operation: count}, "calls": [...]}: the calls after number `since` of
        the `wanted` operation, service, account or code."""
        return self._ask("GET", "/calls", query={"since": since, **wanted})

    def reset_calls(self) -> None:
        """Clear the call log."""
        self._ask("DELETE", "/calls")

    # Faults

    def arm(self, action: str, operation: str = "", **order: Any) -> Fault:
        """Inject a fault: any action, with any member of an order (nth, count, every, when, account, …)."""
        named = {"operation": operation} if operation else {}
        return str(self._ask("POST", "/faults", {**named, "action": action, **order})["id"])

    def hold(self, operation: str, *, nth: int = 1, when: str = "before") -> Fault:
        """Hold the nth call of an operation from now, before or after its effect, until it is released."""
        return self.arm("hold", operation, nth=nth, when=when)

    def delay(self, operation: str, seconds: float, *, nth: int = 1, when: str = "before") -> Fault:
        """Delay the nth call from now by real seconds."""
        return self.arm("delay", operation, nth=nth, when=when, seconds=seconds)

    def fail(
        self,
        operation: str,
        error: Mapping[str, Any],
        *,
        nth: int = 1,
        when: str = "before",
        every: bool = False,
    ) -> Fault:
        """Fail the nth call from now, or every one, with {"code", "status", "message"}."""
        return self.arm("fail", operation, nth=nth, when=when, every=every, error=dict(error))

    def reset_connection(self, operation: str, *, nth: int = 1, when: str = "before") -> Fault:
        """Reset the connection of the nth call from now."""
        return self.arm("reset", operation, nth=nth, when=when)

    def faults(self) -> JsonObject:
        """All faults."""
        return self._ask("GET", "/faults")

    def fault(self, fault: Fault, wait: float = 0) -> JsonObject:
        """{"state": "armed" | "held" | "done"}, once it is held or done, or after `wait` seconds."""
        return self._ask("GET", f"/faults/{fault}", query={"wait": wait}, timeout=wait + 15)

    def wait_held(self, fault: Fault, seconds: float) -> bool:
        """Wait until the fault holds a call; False if it holds none within `seconds`."""
        return bool(self.fault(fault, wait=seconds)["state"] == "held")

    def release(self, fault: Fault, *, drop: bool = False) -> None:
        """Remove the fault and let the held call continue, or with `drop` end it without effect."""
        self._ask("DELETE", f"/faults/{fault}", query={"drop": "true"} if drop else {})

    def clear_faults(self, *, drop: bool = False) -> None:
        """Remove all faults and release all held calls."""
        self._ask("DELETE", "/faults", query={"drop": "true"} if drop else {})

    def _failed(self, message: str) -> Exception:
        """The exception for a request that is refused or gets no response."""
        return AdminError(message)

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
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace").strip()
            raise self._failed(f"the emulator refused {method} {path}: {error.code} {said}") from error
        except OSError as error:
            raise self._failed(f"the emulator does not respond at {self.endpoint}: {error}") from error
        found: JsonObject = json.loads(text) if text.strip() else {}
        return found


def _part(name: str) -> str:
    return quote(name, safe="")


def _given(**query: str) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}
