"""Sessions with AWS, made of provider configs and kept.

Credentials from a Secret, the environment or a file are in the format of AWS's shared credentials file, as
Crossplane's AWS providers take them:

    [default]
    aws_access_key_id = …
    aws_secret_access_key = …
    aws_session_token = …            (optional)

With credentials.source None requests are not signed; with InjectedIdentity boto3's own chain finds them.
Roles are assumed hop by hop and renewed by botocore. No credential stands in a message or a log.
"""

from __future__ import annotations

import configparser
import hashlib
import threading
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import boto3
import botocore.session
import structlog
from botocore import UNSIGNED
from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleWithWebIdentityCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    Credentials,
    DeferredRefreshableCredentials,
)

from apis.errors import InvalidInput, parse
from apis.providerconfig import AssumedRole, ProviderConfigSpec, WebIdentity, Writes
from edgetenants_runtime import deadline
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.configuration import ResolvedConfig
from edgetenants_runtime.errors import ExternalError, Retry
from provider.cloudfront.calls import CloudFrontCalls
from provider.cloudfront.errors import AwsError, explain
from provider.cloudfront.memory import Memory

if TYPE_CHECKING:
    from mypy_boto3_acm import ACMClient
    from mypy_boto3_cloudfront import CloudFrontClient
    from mypy_boto3_sts import STSClient

__all__ = ["REGION", "Account", "Accounts"]

_log = structlog.get_logger("provider.cloudfront.aws")

REGION: Final = "us-east-1"
"""CloudFront is signed for it wherever it is called from, and its certificates stand there."""
_SESSION_NAME: Final = "edgetenants"


@dataclass(frozen=True)
class Account:
    """An AWS account as one provider config reaches it."""

    cloudfront: CloudFrontCalls
    memory: Memory
    """Shared by all configs of the account."""
    id: str | None
    """None where it may not be asked."""
    frozen: bool


class Accounts:
    """The accounts of all provider configs. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: dict[str, tuple[str, Account]] = {}
        self._memories: dict[str, Memory] = {}
        self._opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def of(self, config: ResolvedConfig) -> Account:
        """The account, made anew when the config or its credentials changed.

        Raises:
            ExternalError: the config cannot be used, or AWS refuses its credentials.
        """
        fingerprint = _fingerprint(config)
        if (known := self._known(config.uid, fingerprint)) is not None:
            return known
        with self._lock:
            opening = self._opening[config.uid]
        # A lock for each config: one whose endpoint does not answer must not hold up the others.
        with opening:
            if (known := self._known(config.uid, fingerprint)) is not None:
                return known
            account = self._open(config)
            with self._lock:
                self._accounts[config.uid] = (fingerprint, account)
            return account

    def _known(self, uid: str, fingerprint: str) -> Account | None:
        with self._lock:
            of, account = self._accounts.get(uid, ("", None))
            return account if of == fingerprint else None

    def _open(self, config: ResolvedConfig) -> Account:
        spec = _spec(config)
        session = _session(config, spec)
        options = _options(config, spec)
        cloudfront: CloudFrontClient = session.client("cloudfront", **options)
        # Certificates of CloudFront stand in one region, whatever the provider config says of the others.
        acm: ACMClient = session.client("acm", **{**options, "region_name": REGION})
        sts: STSClient = session.client("sts", **options)
        for client in (cloudfront, acm, sts):
            client.meta.events.register("before-call", _begin_in_time)
        calls = CloudFrontCalls(cloudfront, acm, sts)
        id_ = _caller(calls, config)
        endpoint = spec.endpoint.url if spec.endpoint else ""
        with self._lock:
            memory = self._memories.setdefault(f"{endpoint} {id_ or config.uid}", Memory(self._clock))
        return Account(calls, memory, id_, frozen=spec.writes is Writes.FROZEN)


def _begin_in_time(model: Any, **_: Any) -> None:
    # So that a reconcile which is out of time ends at its next call, and not at its next write.
    deadline.check(f"the call {model.name}")


def _fingerprint(config: ResolvedConfig) -> str:
    secret = hashlib.sha256(config.credentials or b"").hexdigest()
    return f"{config.generation} {secret}"


def _caller(calls: CloudFrontCalls, config: ResolvedConfig) -> str | None:
    try:
        return calls.account()
    except AwsError as error:
        if error.code != "AccessDenied":
            raise explain(error, f"{config.key}: ask whose credentials they are", serving=True) from error
        _log.warning(
            "may not ask for the caller's account, so tenants are not guarded against another account's",
            config=str(config.key),
            error=str(error),
        )
        return None


def _spec(config: ResolvedConfig) -> ProviderConfigSpec:
    try:
        return parse(ProviderConfigSpec, dict(config.spec), root="spec")
    except InvalidInput as error:
        raise ExternalError(f"{config.key}: {error}", retry=Retry.poll()) from error


def _options(config: ResolvedConfig, spec: ProviderConfigSpec) -> dict[str, Any]:
    anonymous = config.source == CredentialsSource.NONE and spec.web_identity is None
    region = spec.endpoint.region if spec.endpoint and spec.endpoint.region else REGION
    return {
        "region_name": region,
        "endpoint_url": spec.endpoint.url if spec.endpoint else None,
        "config": Config(
            user_agent_extra=f"edgetenants/{_version()}",
            signature_version=UNSIGNED if anonymous else None,
            connect_timeout=5,
            read_timeout=30,
            # One retry for a lost connection; everything longer is the queue's, on the injected clock.
            retries={"mode": "standard", "total_max_attempts": 2},
            max_pool_connections=32,
        ),
    }


def _version() -> str:
    try:
        return version("edgetenants")
    except PackageNotFoundError:
        return "0"


def _session(config: ResolvedConfig, spec: ProviderConfigSpec) -> boto3.Session:
    """A session whose credentials are those at the end of the chain."""
    core = botocore.session.Session()
    core.set_config_variable("region", REGION)
    endpoint = spec.endpoint.url if spec.endpoint else None
    credentials: Any = _base(config, spec, core, endpoint)
    if spec.assume_role_chain and credentials is None and config.source == CredentialsSource.NONE:
        # Else the chain would begin with the provider's own identity, which nobody lent.
        raise ExternalError(
            f"{config.key}: spec.assumeRoleChain: expected credentials to begin with, got source None",
            retry=Retry.poll(),
        )
    for role in spec.assume_role_chain or ():
        credentials = _assumed(core, credentials or core.get_credentials(), role, endpoint)
    if credentials is not None:
        core.register_component("credential_provider", CredentialResolver([_Found(credentials)]))
    return boto3.Session(botocore_session=core)


class _Found(CredentialProvider):
    """Hands botocore credentials that are there already, renewing ones included."""

    METHOD = "edgetenants"

    def __init__(self, credentials: Any) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> Any:
        """The credentials."""
        return self._credentials


def _base(
    config: ResolvedConfig, spec: ProviderConfigSpec, core: botocore.session.Session, endpoint: str | None
) -> Any:
    """The credentials to begin with; None for those that boto3 finds by itself."""
    if spec.web_identity:
        return _web_identity(core, spec.web_identity, endpoint)
    return _static(config) if config.credentials is not None else None


def _static(config: ResolvedConfig) -> Credentials:
    reader = configparser.ConfigParser(interpolation=None, default_section="edgetenants-no-defaults")
    try:
        reader.read_string((config.credentials or b"").decode())
        profile = reader["default"]
        return Credentials(
            profile["aws_access_key_id"],
            profile["aws_secret_access_key"],
            profile.get("aws_session_token"),
            method="edgetenants",
        )
    except (configparser.Error, KeyError, UnicodeDecodeError):
        # Not chained: the parser's words hold the line that it stumbled over.
        raise ExternalError(
            f"{config.key}: spec.credentials: expected an AWS credentials file with aws_access_key_id and "
            "aws_secret_access_key under [default], got something else",
            retry=Retry.poll(),
        ) from None


def _assumed(core: botocore.session.Session, source: Any, role: AssumedRole, endpoint: str | None) -> Any:
    extra: dict[str, Any] = {
        "RoleSessionName": role.session_name or _SESSION_NAME,
        "ExternalId": role.external_id,
        "Tags": [{"Key": key, "Value": value} for key, value in (role.tags or {}).items()] or None,
        "TransitiveTagKeys": list(role.transitive_tag_keys or ()) or None,
    }
    fetcher = AssumeRoleCredentialFetcher(
        _sts_maker(core, endpoint),
        source,
        role.role_arn,
        extra_args={key: value for key, value in extra.items() if value is not None},
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")


def _web_identity(core: botocore.session.Session, identity: WebIdentity, endpoint: str | None) -> Any:
    path = identity.token_path or core.get_config_variable("web_identity_token_file")
    fetcher = AssumeRoleWithWebIdentityCredentialFetcher(
        _sts_maker(core, endpoint),
        _token_reader(path),
        identity.role_arn,
        extra_args={"RoleSessionName": _SESSION_NAME},
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role-with-web-identity")


def _token_reader(path: str | None) -> Any:
    from botocore.utils import FileWebIdentityTokenLoader  # noqa: PLC0415 - only where tokens are used

    if not path:
        raise ExternalError(
            "spec.webIdentity.tokenPath: expected a path, as AWS_WEB_IDENTITY_TOKEN_FILE is not set",
            retry=Retry.poll(),
        )
    return FileWebIdentityTokenLoader(path)


def _sts_maker(core: botocore.session.Session, endpoint: str | None) -> Any:
    def make(service: str, **options: Any) -> Any:
        return core.create_client(service, region_name=REGION, endpoint_url=endpoint, **options)

    return make
