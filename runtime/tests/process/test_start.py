"""What a process says if it cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.process.start import StartFailed, connect, start_clock


def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("no kubeconfig")
    with pytest.raises(StartFailed, match=f"--kubeconfig {path}: "):
        connect(str(path), "toys")


def test_outside_of_a_pod_the_flag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(StartFailed, match="no --kubeconfig given, and not in a pod: "):
        connect(None, "toys")


def test_without_a_url_the_clock_is_that_of_the_system() -> None:
    assert isinstance(start_clock(None), SystemClock)
