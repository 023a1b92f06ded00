"""How commands reach AWS: with a ProviderConfig from a file, or with the credentials of the environment."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apis import kinds
from cli.documents import Document
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account.sessions import Account, Accounts
from provider.cloudfront.account.team_configs import RESTRICTIONS

__all__ = ["NoConfig", "Reach", "environment"]

_GROUPS = {kinds.CONFIG_GROUP, kinds.LEGACY_CONFIG_GROUP}
_KINDS = {"ProviderConfig", "ClusterProviderConfig"}


class NoConfig(Exception):  # noqa: N818 - names the thing found
    """The ProviderConfig does not exist, or cannot be used here; the message says which."""


def environment() -> ResolvedConfig:
    """The identity, endpoint and region that boto3 finds in the environment."""
    return ResolvedConfig(
        key=ProviderConfigKey("environment", "AWS", ""),
        spec={"credentials": {"source": CredentialsSource.INJECTED_IDENTITY.value}},
        uid="environment",
        generation=1,
        source=CredentialsSource.INJECTED_IDENTITY,
    )


@dataclass
class Reach:
    """The AWS accounts that the documents of --provider-config refer to."""

    documents: Sequence[Document]
    """ProviderConfigs and the Secrets that they refer to. If empty, the environment is used."""
    note: Callable[[str], None]
    """Prints a note for the user."""
    rate: float | None = None
    """Requests per second to CloudFront; None: the limit of the provider config."""
    trusted: bool = False
    """Whether namespaced ProviderConfigs may set what the provider refuses them by default."""
    accounts: Accounts = field(default_factory=lambda: Accounts(SystemClock()))

    def account(self, ref: ProviderConfigKey) -> tuple[ResolvedConfig, Account]:
        """The account of a provider config.

        Raises:
            NoConfig: the documents do not contain it, or the credentials of a namespaced one.
            ExternalError: it cannot be used, sets what a namespaced one may not, or AWS refuses its
                credentials.
        """
        return self._reached(self._config(ref) if self.documents else environment())

    def only(self) -> tuple[ResolvedConfig, Account]:
        """The account of the one provider config that there is, or of the environment.

        Raises:
            NoConfig: the documents do not contain exactly one.
            ExternalError: as `account`.
        """
        found = [each for each in self.documents if _is_config(each)]
        if self.documents and len(found) != 1:
            raise NoConfig(f"--provider-config: expected one ProviderConfig, got {len(found)}")
        return self._reached(self._resolved(found[0]) if found else environment())

    def _reached(self, config: ResolvedConfig) -> tuple[ResolvedConfig, Account]:
        if self.rate is not None:
            said = config.spec.get("rateLimits")
            limits = {**(said if isinstance(said, dict) else {}), "cloudfront": self.rate}
            config = replace(config, spec={**config.spec, "rateLimits": limits})
        return config, self.accounts.of(config)

    def _config(self, ref: ProviderConfigKey) -> ResolvedConfig:
        for document in self.documents:
            if _is_config(document) and _key(document) == ref:
                return self._resolved(document)
        raise NoConfig(f"--provider-config: {ref} is not in the files; the managed resource refers to it")

    def _resolved(self, document: Document) -> ResolvedConfig:
        key = _key(document)
        if not self.trusted:
            # A team wrote it: the user's identity must sign no requests to an endpoint of that team.
            RESTRICTIONS.check(key, document.at("spec"))
        source, credentials = self._credentials(key, document)
        return ResolvedConfig(
            key=key,
            spec=document.at("spec"),
            uid=str(key),
            generation=1,
            source=source,
            credentials=credentials,
        )

    def _credentials(self, key: ProviderConfigKey, config: Document) -> tuple[str, bytes | None]:
        said = ("spec", "credentials")
        source = str(config.at(*said).get("source") or "")
        match source:
            case CredentialsSource.SECRET:
                found = self._secret(key, config.at(*said, "secretRef"))
            case CredentialsSource.ENVIRONMENT:
                found = os.environ.get(str(config.at(*said, "env").get("name")), "").encode()
            case CredentialsSource.FILESYSTEM:
                path = Path(str(config.at(*said, "fs").get("path")))
                found = path.read_bytes() if path.is_file() else b""
            case _:
                return source, None
        if found:
            return source, found
        if key.namespace and not self.trusted:
            raise NoConfig(
                f"--provider-config: the files do not contain the Secret of {key} with its credentials"
            )
        self.note(f"{key}: its credentials were not found; using those of the environment")
        return CredentialsSource.INJECTED_IDENTITY, None

    def _secret(self, key: ProviderConfigKey, ref: Mapping[str, Any]) -> bytes:
        wanted = (key.namespace or ref.get("namespace"), ref.get("name"))
        entry = str(ref.get("key") or "")
        for document in self.documents:
            place = (document.metadata.get("namespace"), document.metadata.get("name"))
            if document.kind == "Secret" and place == wanted:
                return _entry(document, entry)
        return b""


def _entry(secret: Document, name: str) -> bytes:
    plain = secret.at("stringData").get(name)
    if plain is not None:
        return str(plain).encode()
    try:
        return base64.b64decode(str(secret.at("data").get(name) or ""), validate=True)
    except binascii.Error:
        raise NoConfig(f"{secret.place(f'data.{name}')}: expected base64") from None


def _is_config(document: Document) -> bool:
    return document.kind in _KINDS and document.api_version.partition("/")[0] in _GROUPS


def _key(document: Document) -> ProviderConfigKey:
    modern = document.api_version.partition("/")[0] == kinds.CONFIG_GROUP
    namespaced = modern and document.kind == "ProviderConfig"
    namespace = str(document.metadata.get("namespace") or "default") if namespaced else ""
    return ProviderConfigKey(document.kind, document.name, namespace)
