"""Handles a request: logs it, applies faults, and executes it."""

from __future__ import annotations

import json
import re
import sys
import traceback
from dataclasses import replace

from edgetenants_emulator.calls import parameters as call_parameters
from edgetenants_emulator.calls.faults import Faults, When
from edgetenants_emulator.calls.log import Call, CallLog
from edgetenants_emulator.calls.rate_limits import RateLimits, of_settings
from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.certificates import users as certificate_users
from edgetenants_emulator.cloudfront import handlers
from edgetenants_emulator.dns import route53
from edgetenants_emulator.dns.resolver import Resolver
from edgetenants_emulator.errors import AwsError, ConnectionDropped, ErrorCode
from edgetenants_emulator.moto_services import Accounts, MotoServices, check_has, error_code
from edgetenants_emulator.protocol import restxml
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.protocol.operations import (
    CLOUDFRONT,
    ROUTE53,
    Operation,
    resolve,
    scope_of,
    service_model,
)
from edgetenants_emulator.state import identifiers
from edgetenants_emulator.state.world import DEFAULT_ACCOUNT, World
from edgetenants_emulator.sts import role_sessions, session_ends
from edgetenants_emulator.zones.zone_changes import ZonesAtWork

__all__ = ["Application"]

_APP = re.compile(r"(?:^| )app/(\S{1,50})")
"""The app id, as SDKs write it. They cut it to 50 characters."""
_SIGNED = frozenset({CLOUDFRONT, "sts"})
_UNSIGNED = frozenset({"AssumeRoleWithSAML", "AssumeRoleWithWebIdentity"})
"""STS operations without a signed request: the token authenticates the caller."""
_CERTIFICATES_HANG_ON = frozenset({"acm", ROUTE53})


class Application:
    """The AWS APIs of the emulator."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.calls = CallLog()
        self.faults = Faults(world.clock.now)
        self.moto = MotoServices()
        self.accounts = Accounts()
        self.resolver = Resolver(world)
        world.lookup, world.dns_generation = self.resolver.lookup_late, self.resolver.generation
        self.limits = RateLimits(world.clock.now, lambda: of_settings(world.settings))
        self.zones_at_work = ZonesAtWork()
        self.dns_address: tuple[str, int] | None = None

    def handle(self, request: Request) -> Response:
        """The response to an AWS request. Raises ConnectionDropped if a fault suppresses it."""
        request_id = identifiers.request_id()
        scope = scope_of(request)
        operation = resolve(request, scope)
        account = self.accounts.of(scope.access_key) if scope else DEFAULT_ACCOUNT
        call = self.calls.begin(
            operation.name, operation.service, account, self.world.clock.now(), request_id
        )
        call.app = _app_of(request)
        try:
            response = self._guarded(request, operation, call, request_id, signed=scope is not None)
        except AwsError as error:
            call.status, call.code = error.status, error.code
            return _error(operation, error, request_id)
        except ConnectionDropped:
            call.status = 0
            raise
        call.status = response.status
        return response

    def _guarded(
        self, request: Request, operation: Operation, call: Call, request_id: str, *, signed: bool
    ) -> Response:
        """Turn bugs of the emulator into error responses, because a client without a response would retry."""
        try:
            return self._in_turn(request, operation, call, request_id, signed=signed)
        except (AwsError, ConnectionDropped):
            raise
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            message = f"The emulator failed at {operation.name}: {error!r}"
            raise AwsError(ErrorCode.INTERNAL_ERROR, message) from error

    def refuse(self, head: Request, error: AwsError) -> Response:
        """The response to a request with an unreadable body, from its head. Logged if there is a head."""
        request_id = identifiers.request_id()
        scope = scope_of(head)
        operation = resolve(head, scope)
        if head.method:
            account = self.accounts.of(scope.access_key) if scope else DEFAULT_ACCOUNT
            now = self.world.clock.now()
            call = self.calls.begin(operation.name, operation.service, account, now, request_id)
            call.status, call.code = error.status, error.code
        return _error(operation, error, request_id)

    def _in_turn(
        self, request: Request, operation: Operation, call: Call, request_id: str, *, signed: bool
    ) -> Response:
        """Execute a call. Route 53 handles one request per hosted zone at a time, even one held by a
        fault."""
        zone = route53.zone_of(operation)
        if not zone:
            return self._disturbed(request, operation, call, request_id, signed=signed)
        try:
            with self.zones_at_work.taken(zone):
                route53.check_at_rest(self.world, zone)
                return self._disturbed(request, operation, call, request_id, signed=signed)
        finally:
            self._keep_parameters(call, request, operation)

    def _disturbed(
        self, request: Request, operation: Operation, call: Call, request_id: str, *, signed: bool
    ) -> Response:
        faults = self.faults.meet(operation.name, operation.service, call.account)
        call.fault = faults[0].id if faults else ""
        call.target = next(iter(operation.labels.values()), "")
        if faults:
            self._keep_parameters(call, request, operation)
        self.faults.strike(faults, When.BEFORE)
        try:
            response = self._answer(request, operation, call, request_id, signed=signed)
        finally:
            # A refusal is an effect, too: a fault with `after` also holds a refused call.
            self.faults.strike(faults, When.AFTER)
        return response

    def _answer(
        self, request: Request, operation: Operation, call: Call, request_id: str, *, signed: bool
    ) -> Response:
        if not signed and operation.service in _SIGNED and operation.name not in _UNSIGNED:
            raise _unsigned(request)
        if self.world.sessions and (scope := scope_of(request)):
            self._check_session(scope.access_key, request, operation, call)
        try:
            self.limits.admit(operation.service, operation.name, call.account, request.body)
        except AwsError:
            self._keep_parameters(call, request, operation)
            raise
        if handlers.is_ours(operation, request):
            return self._ours(request, operation, call, request_id)
        if operation.service == CLOUDFRONT:
            _refuse_unknown(operation, request)
        return self._motos(request, operation, call, request_id)

    def _ours(self, request: Request, operation: Operation, call: Call, request_id: str) -> Response:
        try:
            params = handlers.read(operation, request, self.world.settings)
        except AwsError:
            self._keep_parameters(call, request, operation)
            raise
        # None of these operations takes a secret.
        if call.parameters is None:
            self.calls.keep(call, params, len(request.body))
        call.target = handlers.target_of(params) or call.target
        return handlers.answer(self.world, call.account, operation, params, request_id)

    def _check_session(self, access_key: str, request: Request, operation: Operation, call: Call) -> None:
        try:
            session_ends.check(self.world, access_key, operation)
        except AwsError:
            self._keep_parameters(call, request, operation)
            raise

    def _keep_parameters(self, call: Call, request: Request, operation: Operation) -> None:
        if call.parameters is None:
            self.calls.keep(call, call_parameters.read(request, operation), len(request.body))

    def _motos(self, request: Request, operation: Operation, call: Call, request_id: str) -> Response:
        self._keep_parameters(call, request, operation)
        if operation.service == CLOUDFRONT:
            check_has(operation)
            # moto accepts values that it cannot parse, and crashes later.
            handlers.check(operation, request, self.world.settings)
        begins_session = operation.service == "sts" and operation.name in role_sessions.GUARDED
        if begins_session:
            scope = scope_of(request)
            role_sessions.check(operation.name, request, call.account, scope.access_key if scope else "")
        self._advance_certificates(operation)
        if operation.service == "acm":
            certificate_users.tell_acm(self.world, call.account, operation, request)
        if route53.is_ours(operation):
            with self.world.lock:
                response = route53.answer(self.world, call.account, operation, request, request_id)
        else:
            response = self.moto.forward(request, operation, call.account)
            if operation.service == ROUTE53:
                response = route53.with_change(self.world, call.account, operation, response)
        self._advance_certificates(operation)
        if begins_session:
            response = session_ends.begin(self.world, role_sessions.seconds_of(request), response)
            response = role_sessions.with_identity(request, response)
        if operation.service in ("iam", "sts"):
            self.accounts.forget()
        if response.status >= 400:
            call.code = error_code(response)
        if any(name.lower() == "x-amzn-requestid" for name in response.headers):
            return response
        return replace(response, headers={**response.headers, "x-amzn-RequestId": request_id})

    def _advance_certificates(self, operation: Operation) -> None:
        """Advance the certificates before and after each call: with the old state, then with the new."""
        if operation.service in _CERTIFICATES_HANG_ON:
            with self.world.lock:
                managed_certificates.advance(self.world)


def _refuse_unknown(operation: Operation, request: Request) -> None:
    if not operation.name:
        message = f"CloudFront has no operation at {request.method} {request.path}."
        raise AwsError(ErrorCode.UNKNOWN_OPERATION, message)


def _unsigned(request: Request) -> AwsError:
    if request.headers.get("authorization"):
        message = "Authorization header requires a 'Credential' parameter of five elements."
        return AwsError(ErrorCode.INCOMPLETE_SIGNATURE, message)
    return AwsError(ErrorCode.MISSING_AUTHENTICATION_TOKEN, "Request is missing Authentication Token")


def _app_of(request: Request) -> str:
    found = _APP.search(request.headers.get("user-agent", ""))
    return found[1] if found else ""


def _error(operation: Operation, error: AwsError, request_id: str) -> Response:
    """The error response in the protocol of the caller's service."""
    headers = {"x-amzn-RequestId": request_id}
    if operation.protocol == "json":
        model = service_model(operation.service)
        version = model.metadata.get("jsonVersion", "1.1") if model else "1.1"
        headers["Content-Type"] = f"application/x-amz-json-{version}"
        body = json.dumps({"__type": error.code, "message": error.message}).encode()
        return Response(error.status, headers, body)
    headers["Content-Type"] = "text/xml"
    sender = "Sender" if error.status < 500 else "Receiver"
    body = restxml.error_body(error.code, error.message, request_id, sender, _namespace(operation.service))
    return Response(error.status, headers, body)


def _namespace(service: str) -> str:
    if service == ROUTE53:
        return route53.NAMESPACE
    model = service_model(service)
    return (model and model.metadata.get("xmlNamespace")) or restxml.NAMESPACE
