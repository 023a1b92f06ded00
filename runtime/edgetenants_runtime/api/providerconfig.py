"""ProviderConfigs and their usages: the parts that all providers share.

The same shapes as in Crossplane (apis/core/v2, CommonCredentialSelectors and ProviderConfigUsage). A provider
defines how it uses the credentials next to its kinds.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from .conditions import Conditions
from .model import NOT_TEXT, ApiModel, Kube, Rule, Scope
from .references import NamespaceName, ObjectName, ProviderConfigReference, SecretKeySelector


class CredentialsSource(StrEnum):
    """Where credentials come from."""

    NONE = "None"
    """No credentials."""
    SECRET = "Secret"  # noqa: S105
    """A key of a Secret."""
    ENVIRONMENT = "Environment"
    """An environment variable of the provider's process."""
    FILESYSTEM = "Filesystem"
    """A file that the provider's process can read."""
    INJECTED_IDENTITY = "InjectedIdentity"
    """The identity of the provider's own process, injected by its platform."""


class EnvironmentSelector(ApiModel):
    """An environment variable of the provider's process."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """Name of the variable. Its value is the credentials."""


class FilesystemSelector(ApiModel):
    """A file that the provider's process can read."""

    path: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/")]
    """Absolute path of the file. Its content is the credentials."""


class Credentials(ApiModel):
    """Where the base credentials come from."""

    source: CredentialsSource
    """None: no credentials. Secret: secretRef. Environment: env. Filesystem: fs. InjectedIdentity: the
    identity of the provider's own process."""
    secret_ref: SecretKeySelector | None = None
    """The key of a Secret that holds the credentials; for source Secret. While the ProviderConfig is in use,
    the Secret has a finalizer and a label of the provider, so that it cannot be deleted."""
    env: EnvironmentSelector | None = None
    """The environment variable that holds the credentials; for source Environment."""
    fs: FilesystemSelector | None = None
    """The file that holds the credentials; for source Filesystem."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.source == 'Secret') == has(self.secretRef)",
            "expected secretRef with source Secret, and only then",
            lambda c: (c.source is CredentialsSource.SECRET) == (c.secret_ref is not None),
            field=".secretRef",
        ),
        Rule(
            "(self.source == 'Environment') == has(self.env)",
            "expected env with source Environment, and only then",
            lambda c: (c.source is CredentialsSource.ENVIRONMENT) == (c.env is not None),
            field=".env",
        ),
        Rule(
            "(self.source == 'Filesystem') == has(self.fs)",
            "expected fs with source Filesystem, and only then",
            lambda c: (c.source is CredentialsSource.FILESYSTEM) == (c.fs is not None),
            field=".fs",
        ),
    )


class ProviderConfigConditionType(StrEnum):
    """Condition types of ProviderConfigs."""

    TERMINATING = "Terminating"
    """The ProviderConfig is being deleted and still exists."""


class ProviderConfigReason(StrEnum):
    """Reasons of type Terminating."""

    IN_USE = "InUse"
    """Managed resources still use it; status.users counts them. Delete them, or change them to another
    ProviderConfig. The deletion continues when the last one is gone."""


class ProviderConfigStatus(ApiModel):
    """The observed state of a ProviderConfig."""

    users: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """Number of managed resources that use it. It cannot be deleted while there is one."""
    conditions: Conditions = ()
    """Terminating, while it is being deleted and still in use."""


class TypedReference(ApiModel):
    """A reference to an object of any kind."""

    api_version: Annotated[str, Field(min_length=1, max_length=316)]
    """Group and version of the object."""
    kind: Annotated[str, Field(min_length=1, max_length=63)]
    """Kind of the object."""
    name: ObjectName
    """Name of the object."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace of the object; the same as that of the usage."""
    uid: Annotated[str | None, Field(max_length=64)] = None
    """UID of the object."""


class ProviderConfigUsage(ApiModel):
    """Records that a managed resource uses a ProviderConfig, so that the configuration outlives the resource.

    Its name is the managed resource's UID, with the suffix `-dns` for a second configuration that is used for
    DNS.
    """

    provider_config_ref: ProviderConfigReference
    """The ProviderConfig in use."""
    resource_ref: TypedReference
    """The managed resource that uses it."""
