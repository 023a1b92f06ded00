"""The end of role sessions. Afterwards, their keys are refused.

    session       ends after DurationSeconds of virtual time, including steps, or of real time
                  (`role_session_clock`)
    Expiration    in the response: the corresponding real time if the clock keeps its rate (at least real
                  time), because SDKs compare it with their own clock to refresh in time

So a client that refreshes is never refused, unless the clock is stepped or accelerated in the meantime.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from moto.iam.models import iam_backends
from moto.sts.models import AssumedRole, sts_backends

from edgetenants_emulator.clock import wall_clock
from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.protocol.exchange import Response
from edgetenants_emulator.protocol.operations import Operation
from edgetenants_emulator.state.records import Session
from edgetenants_emulator.state.world import World

__all__ = ["begin", "check", "load", "save"]

_KEY = re.compile(rb"<AccessKeyId>(\w+)</AccessKeyId>")
_EXPIRATION = re.compile(rb"<Expiration>[^<]*</Expiration>")
_MESSAGE = "The security token included in the request is expired"


def begin(world: World, seconds: float, response: Response) -> Response:
    """Record the session that STS starts, and return the response with its end."""
    key = _KEY.search(response.body)
    if response.status >= 400 or key is None:
        return response
    reading, really = world.clock.reading(), wall_clock()
    session = Session(key[1].decode(), reading.virtual + seconds, really + seconds)
    world.sessions[session.access_key] = session
    faster = max(1.0, reading.rate) if world.settings.role_session_clock == "virtual" else 1.0
    shown = datetime.fromtimestamp(really + seconds / faster, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = _EXPIRATION.sub(f"<Expiration>{shown}</Expiration>".encode(), response.body)
    return replace(response, body=body)


def check(world: World, access_key: str, operation: Operation) -> None:
    """Check that a call's keys have not expired. Raises AwsError ExpiredToken (ExpiredTokenException in
    JSON)."""
    session = world.sessions.get(access_key)
    if session is None or not _is_over(world, session):
        return
    if operation.protocol == "json":
        raise AwsError("ExpiredTokenException", _MESSAGE, 400)
    raise AwsError("ExpiredToken", _MESSAGE, 403)


def _is_over(world: World, session: Session) -> bool:
    if world.settings.role_session_clock == "real":
        return wall_clock() >= session.ends_really
    return world.clock.now() >= session.ends


def save(world: World) -> list[dict[str, Any]]:
    """Each session with its role, for a saved state."""
    roles = {
        role.access_key_id: role
        for account in list(sts_backends.values())
        for backend in list(account.values())
        for role in list(backend.assumed_roles)
    }
    return [
        {
            "accessKey": session.access_key,
            "account": roles[session.access_key].account_id,
            "roleArn": roles[session.access_key].role_arn,
            "name": roles[session.access_key].session_name,
            "ends": session.ends,
            "endsReally": session.ends_really,
        }
        for session in world.sessions.values()
        if session.access_key in roles
    ]


def load(saved: list[dict[str, Any]], later: float) -> dict[str, Session]:
    """Restore the sessions of a saved state in STS, with all virtual times shifted by `later`."""
    for row in saved:
        _tell_sts(row)
    return {
        row["accessKey"]: Session(row["accessKey"], row["ends"] + later, row["endsReally"]) for row in saved
    }


def _tell_sts(row: dict[str, Any]) -> None:
    iam = iam_backends[row["account"]]["aws"]
    if row["accessKey"] in iam.access_keys:
        return
    key = iam.create_temp_access_key()
    del iam.access_keys[key.access_key_id]
    key.access_key_id, key.role_arn = row["accessKey"], row["roleArn"]
    iam.access_keys[key.access_key_id] = key
    role = AssumedRole(
        account_id=row["account"],
        region_name="us-east-1",
        access_key=key,
        role_session_name=row["name"],
        role_arn=row["roleArn"],
        policy="",
        duration=0,
        external_id="",
    )
    sts_backends[row["account"]]["aws"].assumed_roles.append(role)
