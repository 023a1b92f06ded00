"""What a sandbox with packages needs beside the control plane."""

from __future__ import annotations

from tests.unit.sandbox.machine import Machine


def test_it_comes_with_the_webhook_configurations_of_core(machine: Machine) -> None:
    tools = machine.build_for_packages()
    assert all(path.exists() for path in vars(tools).values())
    [file] = tools.webhooks.iterdir()
    assert file.read_text() == "kind: ValidatingWebhookConfiguration\n"


def test_what_is_fresh_is_left_alone_and_what_is_lost_is_made_again(machine: Machine) -> None:
    tools = machine.build_for_packages()
    machine.forget()
    machine.build_for_packages()
    assert machine.calls() == []
    tools.webhooks.rename(machine.root / "lost")
    assert machine.build_for_packages().webhooks.exists()


def test_a_control_plane_without_packages_does_without_them(machine: Machine) -> None:
    machine.build()
    assert [path.name for path in machine.cache.glob("crossplane-*")] == ["crossplane-crds"]
