"""Which control plane a sandbox uses, and when one that was named is refused.

    --kubeconfig FILE --context NAME    that cluster, if it is safe to
    KUBEBUILDER_ASSETS                  etcd and kube-apiserver from there
    otherwise                           one built from the published Kubernetes libraries

The environment's KUBECONFIG is never used: what it names by habit may be anybody's production.
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
    """What the user asks of `up`."""

    kubeconfig: Path | None = None
    context: str | None = None
    i_own_this_cluster: bool = False
    """Go on though Crossplane runs in the cluster."""
    crossplane: Crossplane = Crossplane.V2
    """Which core runs. With v1 the claim is the legacy one, and all managed resources are active."""
    legacy: bool = False
    """Activate the cluster-scoped managed resources too."""
    control_plane_only: bool = False
    """Nothing but the API server and its collector."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Ports that the user wants, by name."""


@dataclass(frozen=True)
class Choice:
    """The control plane that was chosen, and the folder or file that it comes from."""

    kind: ControlPlane
    kubeconfig: Path | None = None
    context: str = ""
    assets: Path | None = None

    @property
    def says(self) -> str:
        """The choice in words."""
        match self.kind:
            case ControlPlane.GIVEN:
                return f"control plane: the cluster of context {self.context} in {self.kubeconfig}"
            case ControlPlane.ENVTEST:
                return f"control plane: etcd and kube-apiserver from KUBEBUILDER_ASSETS ({self.assets})"
            case ControlPlane.BUILT:
                return (
                    "control plane: built from the published Kubernetes libraries "
                    "(no cluster is named, and no KUBEBUILDER_ASSETS)"
                )


def choose(options: Options, environ: Mapping[str, str] = os.environ) -> Choice:
    """The control plane for these options in this environment.

    Raises:
        WorldError: half a choice, or one that leads nowhere; the message lists the contexts that there are.
    """
    if options.kubeconfig is not None or options.context is not None:
        return _given(options)
    if options.i_own_this_cluster:
        raise WorldError("--i-own-this-cluster goes with --kubeconfig FILE --context NAME")
    assets = environ.get("KUBEBUILDER_ASSETS")
    return _envtest(Path(assets)) if assets else Choice(ControlPlane.BUILT)


def notices(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """What the user should know about what is not used."""
    named = environ.get("KUBECONFIG")
    if not named:
        return ()
    ignored = f"KUBECONFIG={named} of the environment is ignored"
    return (f"{ignored}; a cluster is used only with --kubeconfig FILE --context NAME",)


def refuse_unsafe(kubectl: Kubectl, *, owned: bool) -> None:
    """Stop where a sandbox would disturb what runs in a cluster that the user named.

    Raises:
        Refused: Crossplane runs there and the user did not say that the cluster is theirs; or resources of
            ours live there, which a second provider would act upon, whatever the user says.
        WorldError: the cluster does not answer.
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
            f"Crossplane is in this cluster already ({found}); a second one would disturb it. "
            "If the cluster is yours to disturb: --i-own-this-cluster"
        )


def crossplane_in(kubectl: Kubectl) -> str:
    """What shows that Crossplane runs in the cluster; empty when nothing does."""
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
        raise WorldError("--context needs --kubeconfig FILE: the environment's KUBECONFIG is not used")
    known = kubeconfig.contexts(options.kubeconfig)
    there = f"{options.kubeconfig} has: {', '.join(known) or 'no contexts'}"
    if options.context is None:
        raise WorldError(
            f"--kubeconfig needs --context NAME, so that the cluster is named and not guessed; {there}"
        )
    if options.context not in known:
        raise WorldError(f"--context: there is no context {options.context!r}; {there}")
    if options.control_plane_only:
        raise WorldError(
            "--control-plane-only starts a control plane; with --kubeconfig there is one already"
        )
    return Choice(ControlPlane.GIVEN, options.kubeconfig, options.context)


def _envtest(assets: Path) -> Choice:
    missing = [name for name in _ENVTEST_BINARIES if not os.access(assets / name, os.X_OK)]
    if missing:
        raise WorldError(
            f"KUBEBUILDER_ASSETS={assets} has no {' and no '.join(missing)}; correct it, or unset it"
        )
    return Choice(ControlPlane.ENVTEST, assets=assets)
