"""Which control plane a sandbox uses, and which clusters it refuses.

    --kubeconfig FILE --context NAME    that cluster, if it is safe
    KUBEBUILDER_ASSETS                  etcd and kube-apiserver from there
    otherwise                           one built from the published Kubernetes libraries

The environment variable KUBECONFIG is never used, because it may refer to a production cluster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import kubeconfig
from sandbox.errors import Refused, WorldError
from sandbox.kubectl import Kubectl
from sandbox.state import ControlPlane, Crossplane

__all__ = ["Choice", "Options", "choose", "notices", "refuse_unsafe"]

_ENVTEST_BINARIES = ("etcd", "kube-apiserver")
_OUR_KINDS = (
    "distributiontenants.cloudfront.m.edgetenants.io",
    "connectiongroups.cloudfront.m.edgetenants.io",
    "distributiontenants.cloudfront.edgetenants.io",
    "connectiongroups.cloudfront.edgetenants.io",
)


@dataclass(frozen=True)
class Options:
    """The options of `up`."""

    kubeconfig: Path | None = None
    context: str | None = None
    i_own_this_cluster: bool = False
    """Continue even if Crossplane runs in the cluster."""
    crossplane: Crossplane = Crossplane.V2
    """The version of core. With v1, the claim is the legacy one and all managed resources are active."""
    core_flags: tuple[str, ...] = ()
    """Flags of core beside those that the sandbox needs, such as --circuit-breaker-burst=1000."""
    legacy: bool = False
    """Also activate the cluster-scoped managed resources. With `packages`, the claim is the legacy one."""
    packages: bool = False
    """Install the packages through Crossplane's package manager, from a registry of the sandbox's own."""
    install: bool = True
    """With `packages`: False pushes the packages, and leaves their installation to the caller."""
    control_plane_only: bool = False
    """Start only the API server and its collector."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """The ports that the user chose, by name."""


@dataclass(frozen=True)
class Choice:
    """The chosen control plane, and the folder or file that it comes from."""

    kind: ControlPlane
    kubeconfig: Path | None = None
    context: str = ""
    assets: Path | None = None

    @property
    def says(self) -> str:
        """The choice, as printed for the user."""
        match self.kind:
            case ControlPlane.GIVEN:
                return f"control plane: cluster of context {self.context} in {self.kubeconfig}"
            case ControlPlane.ENVTEST:
                return f"control plane: etcd and kube-apiserver from KUBEBUILDER_ASSETS ({self.assets})"
            case ControlPlane.BUILT:
                return (
                    "control plane: built from the published Kubernetes libraries "
                    "(neither --kubeconfig nor KUBEBUILDER_ASSETS is set)"
                )


def choose(options: Options, environ: Mapping[str, str] = os.environ) -> Choice:
    """The control plane for these options in this environment.

    Raises:
        WorldError: an option is missing or invalid; the message lists the existing contexts.
    """
    if options.kubeconfig is not None or options.context is not None:
        if options.packages:
            raise WorldError(
                "--packages: only with a control plane of the sandbox's own, without --kubeconfig"
            )
        return _given(options)
    if options.i_own_this_cluster:
        raise WorldError("--i-own-this-cluster requires --kubeconfig FILE --context NAME")
    assets = environ.get("KUBEBUILDER_ASSETS")
    return _envtest(Path(assets)) if assets else Choice(ControlPlane.BUILT)


def notices(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Notices about settings that the sandbox ignores."""
    named = environ.get("KUBECONFIG")
    if not named:
        return ()
    ignored = f"ignoring the environment variable KUBECONFIG={named}"
    return (f"{ignored}; to use a cluster, set --kubeconfig FILE --context NAME",)


def refuse_unsafe(kubectl: Kubectl, *, owned: bool) -> None:
    """Refuse a cluster in which a sandbox would interfere with what runs there.

    Raises:
        Refused: Crossplane runs in the cluster and --i-own-this-cluster is not set; or the cluster has our
            managed resources, on which a second provider would act. No option allows the latter.
        WorldError: the cluster does not respond.
    """
    kubectl.run("get", "--raw", "/version", timeout=30)
    for kind in _OUR_KINDS:
        if kubectl.exists("crd", kind) and kubectl.exists(kind, "-A"):
            raise Refused(
                f"this cluster has {kind}; the sandbox's provider would act on them. "
                "Delete them, or use another cluster"
            )
    found = crossplane_in(kubectl)
    if found and not owned:
        raise Refused(
            f"Crossplane already runs in this cluster ({found}), and a second one would interfere with it. "
            "To continue anyway, set --i-own-this-cluster"
        )


def crossplane_in(kubectl: Kubectl) -> str:
    """The object that shows that Crossplane runs in the cluster; empty if there is none."""
    crd = "compositeresourcedefinitions.apiextensions.crossplane.io"
    if kubectl.exists("crd", crd):
        return f"CustomResourceDefinition {crd}"
    if kubectl.exists("deployments", "-A", "-l", "app=crossplane"):
        return "a Deployment with label app=crossplane"
    if kubectl.exists("deployment", "crossplane", "-n", "crossplane-system"):
        return "Deployment crossplane in crossplane-system"
    return ""


def _given(options: Options) -> Choice:
    if options.kubeconfig is None:
        raise WorldError("--context requires --kubeconfig FILE; the variable KUBECONFIG is not used")
    known = kubeconfig.contexts(options.kubeconfig)
    there = f"contexts in {options.kubeconfig}: {', '.join(known) or 'none'}"
    if options.context is None:
        raise WorldError(
            f"--kubeconfig requires --context NAME, so that the choice of the cluster is explicit; {there}"
        )
    if options.context not in known:
        raise WorldError(f"--context: context {options.context!r} not found; {there}")
    if options.control_plane_only:
        raise WorldError(
            "--control-plane-only starts a control plane and cannot be combined with --kubeconfig"
        )
    return Choice(ControlPlane.GIVEN, options.kubeconfig, options.context)


def _envtest(assets: Path) -> Choice:
    missing = [name for name in _ENVTEST_BINARIES if not os.access(assets / name, os.X_OK)]
    if missing:
        raise WorldError(
            f"KUBEBUILDER_ASSETS={assets} does not contain {' or '.join(missing)}; correct or unset it"
        )
    return Choice(ControlPlane.ENVTEST, assets=assets)
