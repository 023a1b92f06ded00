"""ProviderConfigs and their usages: the parts that are the same for every provider.

Shapes as in Crossplane (apis/core/v2, CommonCredentialSelectors and ProviderConfigUsage). What the
credentials are for stands beside the provider's kinds.
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
    """There are none."""
    SECRET = "Secret"  # noqa: S105
    """A key of a Secret."""
    ENVIRONMENT = "Environment"
    """An environment variable of the provider's process."""
    FILESYSTEM = "Filesystem"
    """A file that the provider's process can read."""
    INJECTED_IDENTITY = "InjectedIdentity"
    """The identity of the provider's own process, as its platform injects it."""


class EnvironmentSelector(ApiModel):
    """An environment variable of the provider's process."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """Name of the variable, whose value is the credentials."""


class FilesystemSelector(ApiModel):
    """A file that the provider's process can read."""

    path: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/")]
    """Absolute path of the file, whose content is the credentials."""


class Credentials(ApiModel):
    """Where the base credentials come from."""

    source: CredentialsSource
    """None: there are none. Secret: secretRef. Environment: env. Filesystem: fs. InjectedIdentity: the
    identity of the provider's own process."""
    secret_ref: SecretKeySelector | None = None
    """The key of a Secret that holds the credentials; with source Secret. While the ProviderConfig is in use,
    the Secret carries a finalizer and a label of the provider's, and cannot vanish."""
    env: EnvironmentSelector | None = None
    """The environment variable that holds the credentials; with source Environment."""
    fs: FilesystemSelector | None = None
    """The file that holds the credentials; with source Filesystem."""

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
    """The ProviderConfig was deleted and is still there."""


class ProviderConfigReason(StrEnum):
    """Reasons of type Terminating."""

    IN_USE = "InUse"
    """Managed resources still use it; status.users counts them. Whoever owns them deletes them or has them
    use another; clears by itself with the last one."""


class ProviderConfigStatus(ApiModel):
    """What is known of a ProviderConfig."""

    users: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """How many managed resources use it. It cannot vanish while there is one."""
    conditions: Conditions = ()
    """Terminating, while it is deleted and still in use."""


class TypedReference(ApiModel):
    """A reference to an object of any kind."""

    api_version: Annotated[str, Field(min_length=1, max_length=316)]
    """Group and version of the object."""
    kind: Annotated[str, Field(min_length=1, max_length=63)]
    """Kind of the object."""
    name: ObjectName
    """Name of the object."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace of the object, which is that of the usage."""
    uid: Annotated[str | None, Field(max_length=64)] = None
    """UID of the object."""


class ProviderConfigUsage(ApiModel):
    """Says that a managed resource uses a ProviderConfig, so that the configuration outlives the resource.

    Its name is the managed resource's UID, with `-dns` appended for a second configuration that is used for
    DNS.
    """

    provider_config_ref: ProviderConfigReference
    """The ProviderConfig that is used."""
    resource_ref: TypedReference
    """The managed resource that uses it."""
