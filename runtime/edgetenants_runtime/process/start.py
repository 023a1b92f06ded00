"""What a process needs before it can wire its parts: the API server, and a clock."""

from __future__ import annotations

from edgetenants_runtime.clock import Clock, RemoteClock, SystemClock
from edgetenants_runtime.kube.client import KubeClient

__all__ = ["StartFailed", "connect", "start_clock"]


class StartFailed(Exception):  # noqa: N818 - says what happened
    """The process cannot start; the message names the flag and what to do."""


def connect(kubeconfig: str | None, field_manager: str) -> KubeClient:
    """Return the client for the API server.

    Args:
        kubeconfig: a file; None: the process is in a pod.
        field_manager: as which the process writes.

    Raises:
        StartFailed: the kubeconfig cannot be used, or there is none and the process is not in a pod.
    """
    try:
        if kubeconfig:
            return KubeClient.from_kubeconfig(kubeconfig, field_manager=field_manager)
        return KubeClient.in_cluster(field_manager=field_manager)
    except Exception as error:
        where = f"--kubeconfig {kubeconfig}" if kubeconfig else "no --kubeconfig given, and not in a pod"
        raise StartFailed(f"{where}: {error}") from error


def start_clock(url: str | None) -> Clock:
    """Return the clock at a URL, which runs from now on; without a URL, that of the system."""
    if not url:
        return SystemClock()
    clock = RemoteClock(url)
    clock.start()
    return clock
