"""The admin API under `/_edgetenants`, for tests and for people. It is not part of AWS.

GET    health                              whether the emulator responds
GET    clock?since=&timeout=               the virtual clock, as a long poll
POST   clock                               {"step": 60} or {"rate": 10}
POST   reset                               delete everything, as after the start
POST   seed                                distributions with fixed ids
GET    state                               every resource of every account
GET    distribution-tenants/{id-or-name}   one tenant
PATCH  distribution-tenants/{id-or-name}   edit it out of band
DELETE distribution-tenants/{id-or-name}   delete it out of band
GET    managed-certificates/{id-or-name}   a tenant's managed certificate
PATCH  managed-certificates/{id-or-name}   {"served": true} or {"status": "revoked", "reason": "…"}
GET    calls                               the call log; see admin.calls
POST   faults                              inject a fault;  GET  lists;  DELETE  removes all
GET    faults/{id}?wait=                   the fault's state;  DELETE faults/{id}?drop=true  removes it
GET    settings                            durations, quotas, page sizes;  PATCH  changes some
GET    snapshot                            the complete state;  PUT  loads it
GET    unknowns                            behaviour that AWS does not document, and its settings
GET    distributions/{id}                  see admin.distributions
GET    dns, records                        see admin.dns
GET    limits                              see admin.limits
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from edgetenants_emulator.admin import calls as admin_calls
from edgetenants_emulator.admin import distributions as admin_distributions
from edgetenants_emulator.admin import dns as admin_dns
from edgetenants_emulator.admin import fresh_start, seed, snapshot
from edgetenants_emulator.admin import limits as admin_limits
from edgetenants_emulator.application import Application
from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.cloudfront import (
    anycast_ip_lists,
    connection_groups,
    distributions,
    handlers,
    tenants,
)
from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.protocol import constraints
from edgetenants_emulator.protocol.exchange import Request, Response, json_response
from edgetenants_emulator.state.records import CertificateStatus, ManagedCertificate, Resource, Tenant
from edgetenants_emulator.unknowns import catalog

__all__ = ["PREFIX", "Admin"]

PREFIX = "/_edgetenants/"
_LONGEST_WAIT = 60.0

Endpoint = Callable[["Admin", Request, str], Any]


class Admin:
    """The admin API of one emulator."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._world = application.world
        self._faults = application.faults
        self._settings, self._rate = self._world.settings, self._world.clock.reading().rate

    def handle(self, request: Request) -> Response:
        """The response to an admin request: JSON, or text for the call log with format=text."""
        name, _, rest = request.path.removeprefix(PREFIX).strip("/").partition("/")
        endpoint = _ENDPOINTS.get((request.method, name, bool(rest)))
        if endpoint is None:
            return _refused(
                404,
                "NotFound",
                f"{request.method} {request.path} not found; GET {PREFIX} lists the endpoints",
            )
        try:
            found = endpoint(self, request, unquote(rest))
            return found if isinstance(found, Response) else json_response(found)
        except AwsError as error:
            return _refused(error.status, error.code, error.message)
        except KeyError as error:
            return _refused(404, "NotFound", f"{error.args[0]!r} not found")
        except (ValueError, TypeError, AttributeError) as error:
            return _refused(400, "BadRequest", str(error))

    def refuse(self, _: Request, error: AwsError) -> Response:
        """The response to a request with an unreadable body."""
        return _refused(error.status, error.code, error.message)

    def health(self, _: Request, __: str) -> Any:
        """Respond as soon as the server runs."""
        return {"ok": True}

    def index(self, _: Request, __: str) -> Any:
        """The list of endpoints."""
        return {
            "requests": [f"{method} {PREFIX}{name}{'/…' * rest}" for method, name, rest in _ENDPOINTS if name]
        }

    def clock(self, request: Request, _: str) -> Any:
        """The clock, once its version differs from `since`, or after `timeout` real seconds."""
        since = int(_number(request, "since")) if request.query.get("since") else None
        timeout = min(_number(request, "timeout"), _LONGEST_WAIT)
        return asdict(self._world.clock.wait_change(since, timeout))

    def set_clock(self, request: Request, _: str) -> Any:
        """Step the clock, set its rate, or both."""
        wanted = request.json()
        fits = isinstance(wanted, dict) and wanted and not set(wanted) - {"step", "rate"}
        if not fits or any(type(value) not in (int, float) for value in wanted.values()):
            raise ValueError('clock: expected {"step": seconds} or {"rate": virtual seconds per real second}')
        if "rate" in wanted:
            self._world.clock.set_rate(float(wanted["rate"]))
        if "step" in wanted:
            self._world.clock.step(float(wanted["step"]))
        return asdict(self._world.clock.reading())

    def seed(self, request: Request, _: str) -> Any:
        """Create distributions with fixed ids."""
        return seed.seed(self._world, request.json())

    def reset(self, _: Request, __: str) -> Any:
        """Delete everything."""
        fresh_start.start_afresh(self.application, self._settings, self._rate)
        return {"ok": True}

    def state(self, _: Request, __: str) -> Any:
        """Every resource of every account, with AWS's field names."""
        world = self._world
        with world.lock:
            managed_certificates.advance(world)
            now = world.clock.now()
            return {
                "distributions": [
                    _row(each, distributions.shown(world, each, now)) for each in world.distributions
                ],
                "tenants": [_row(each, tenants.shown(world, each, now)) for each in world.tenants],
                "connectionGroups": [
                    _row(each, connection_groups.shown(world, each, now)) for each in world.groups
                ],
                "anycastIpLists": [
                    _row(each, anycast_ip_lists.shown(world, each, now)) for each in world.anycast_lists
                ],
            }

    def tenant(self, _: Request, id_or_name: str) -> Any:
        """One tenant, as `state` shows it."""
        with self._world.lock:
            managed_certificates.advance(self._world)
            return self._tenant(self._find(id_or_name))

    def edit_tenant(self, request: Request, id_or_name: str) -> Any:
        """Update a tenant as UpdateDistributionTenant would, without If-Match and without a logged call."""
        changes = request.json()
        with self._world.lock:
            tenant = self._find(id_or_name)
            model = handlers.operation_model("UpdateDistributionTenant")
            constraints.check(model, {"Id": tenant.id, **changes})
            managed_certificates.advance(self._world)
            tenants.edit(self._world, tenant, changes)
            return self._tenant(tenant)

    def remove_tenant(self, _: Request, id_or_name: str) -> Any:
        """Delete a tenant immediately, even if it is enabled."""
        with self._world.lock:
            tenant = self._find(id_or_name)
            tenants.remove(self._world, tenant)
            return self._tenant(tenant)

    def certificate(self, _: Request, id_or_name: str) -> Any:
        """A tenant's managed certificate."""
        with self._world.lock:
            managed_certificates.advance(self._world)
            return _certificate(self._managed(id_or_name))

    def change_certificate(self, request: Request, id_or_name: str) -> Any:
        """Mark the tokens of all or some domains as served, or set the status."""
        wanted = request.json()
        unknown = set(wanted) - {"served", "status", "reason"}
        if unknown or not wanted:
            raise ValueError('certificate: expected {"served": true or domains} or {"status", "reason"}')
        with self._world.lock:
            managed_certificates.advance(self._world)
            certificate = self._managed(id_or_name)
            if "served" in wanted:
                certificate.served = _served(wanted["served"], certificate)
            if "status" in wanted:
                status = CertificateStatus(wanted["status"])
                managed_certificates.settle(self._world, certificate, status, str(wanted.get("reason", "")))
            managed_certificates.advance(self._world)
            return _certificate(certificate)

    def add_fault(self, request: Request, _: str) -> Any:
        """Arm a fault."""
        return self._faults.add(request.json()).as_json()

    def faults(self, _: Request, __: str) -> Any:
        """All faults."""
        return {"faults": [fault.as_json() for fault in self._faults.listed()]}

    def fault(self, request: Request, fault_id: str) -> Any:
        """One fault, once it is held or done, or after `wait` real seconds."""
        wait = min(_number(request, "wait"), _LONGEST_WAIT)
        return self._faults.find(fault_id, wait).as_json()

    def remove_fault(self, request: Request, fault_id: str) -> Any:
        """Remove the fault and release the call that it holds."""
        return self._faults.remove(fault_id, drop=_flag(request, "drop")).as_json()

    def remove_faults(self, request: Request, _: str) -> Any:
        """Remove all faults and release the calls that they hold."""
        self._faults.remove_all(drop=_flag(request, "drop"))
        return {"faults": []}

    def settings(self, _: Request, __: str) -> Any:
        """All settings."""
        return self._world.settings.as_json()

    def snapshot(self, _: Request, __: str) -> Any:
        """The complete state, for `load_snapshot`."""
        with self._world.lock:
            managed_certificates.advance(self._world)
        return snapshot.save(self._world)

    def load_snapshot(self, request: Request, _: str) -> Any:
        """Replace the state with a saved one."""
        snapshot.load(self._world, request.json())
        self.application.accounts.forget()
        return {"ok": True}

    def unknowns(self, _: Request, __: str) -> Any:
        """Behaviour that AWS does not document, with the settings that change it."""
        return {"unknowns": catalog.as_json(self._world.settings)}

    def change_settings(self, request: Request, _: str) -> Any:
        """Change some settings. Existing resources keep their times."""
        with self._world.lock:
            self._world.settings = self._world.settings.changed(request.json())
            return self._world.settings.as_json()

    def _managed(self, id_or_name: str) -> ManagedCertificate:
        certificate = self._find(id_or_name).certificate
        if certificate is None:
            raise KeyError(f"managed certificate of {id_or_name}")
        return certificate

    def _find(self, id_or_name: str) -> Tenant:
        tenant = self._world.tenants.anywhere(id_or_name)
        if tenant is None:
            raise KeyError(id_or_name)
        return tenant

    def _tenant(self, tenant: Tenant) -> dict[str, Any]:
        return _row(tenant, tenants.shown(self._world, tenant, self._world.clock.now()))


_ENDPOINTS: dict[tuple[str, str, bool], Endpoint] = {
    ("GET", "", False): Admin.index,
    ("GET", "health", False): Admin.health,
    ("GET", "clock", False): Admin.clock,
    ("POST", "clock", False): Admin.set_clock,
    ("POST", "seed", False): Admin.seed,
    ("POST", "reset", False): Admin.reset,
    ("GET", "state", False): Admin.state,
    ("GET", "distribution-tenants", True): Admin.tenant,
    ("PATCH", "distribution-tenants", True): Admin.edit_tenant,
    ("DELETE", "distribution-tenants", True): Admin.remove_tenant,
    ("GET", "managed-certificates", True): Admin.certificate,
    ("PATCH", "managed-certificates", True): Admin.change_certificate,
    ("GET", "calls", False): lambda admin, request, _: admin_calls.calls(admin.application, request),
    ("DELETE", "calls", False): lambda admin, request, _: admin_calls.reset_calls(admin.application, request),
    ("POST", "faults", False): Admin.add_fault,
    ("GET", "faults", False): Admin.faults,
    ("DELETE", "faults", False): Admin.remove_faults,
    ("GET", "faults", True): Admin.fault,
    ("DELETE", "faults", True): Admin.remove_fault,
    ("GET", "settings", False): Admin.settings,
    ("GET", "snapshot", False): Admin.snapshot,
    ("PUT", "snapshot", False): Admin.load_snapshot,
    ("GET", "unknowns", False): Admin.unknowns,
    ("PATCH", "settings", False): Admin.change_settings,
    ("GET", "distributions", True): lambda admin, request, name: admin_distributions.distribution(
        admin.application, request, name
    ),
    ("PATCH", "distributions", True): lambda admin, request, name: admin_distributions.change_distribution(
        admin.application, request, name
    ),
    ("GET", "limits", False): lambda admin, request, _: admin_limits.limits(admin.application, request),
    ("POST", "limits", False): lambda admin, request, _: admin_limits.add_limits(admin.application, request),
    ("DELETE", "limits", False): lambda admin, request, _: admin_limits.remove_limits(
        admin.application, request
    ),
    ("GET", "dns", False): lambda admin, request, _: admin_dns.dns(admin.application, request),
    ("GET", "records", False): lambda admin, request, _: admin_dns.records(admin.application, request),
    ("POST", "records", False): lambda admin, request, _: admin_dns.add_record(admin.application, request),
    ("DELETE", "records", False): lambda admin, request, _: admin_dns.remove_records(
        admin.application, request
    ),
}


def _row(resource: Resource, shown: dict[str, Any]) -> dict[str, Any]:
    return {"Account": resource.account, **shown, "ETag": resource.etag, "Tags": resource.tags}


def _certificate(certificate: ManagedCertificate) -> dict[str, Any]:
    row = managed_certificates.shown(certificate)
    return {**row, "Served": sorted(certificate.served), "FailureReason": certificate.failure_reason}


def _served(wanted: Any, certificate: ManagedCertificate) -> set[str]:
    if isinstance(wanted, bool):
        return set(certificate.tokens) if wanted else set()
    unknown = set(wanted) - set(certificate.tokens)
    if unknown:
        raise ValueError(f"the certificate does not have the domains {', '.join(sorted(unknown))}")
    return set(wanted)


def _number(request: Request, name: str) -> float:
    text = request.query.get(name) or "0"
    with suppress(ValueError):
        if 0 <= (number := float(text)) < float("inf"):
            return number
    raise ValueError(f"query parameter {name}: expected a number of at least 0, got {text[:80]!r}")


def _flag(request: Request, name: str) -> bool:
    return request.query.get(name, "").lower() in ("1", "true", "yes")


def _refused(status: int, code: str, message: str) -> Response:
    return json_response({"error": {"code": code, "message": message}}, status)
