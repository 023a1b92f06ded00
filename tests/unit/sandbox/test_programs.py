"""Command lines, and what stands in the environment of each process."""

from pathlib import Path

import pytest
from cryptography import x509

from sandbox import pki
from sandbox.programs import Programs, port_names, provider_ports
from sandbox.state import ControlPlane


@pytest.fixture
def programs(layout, monkeypatch):
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "KUBECONFIG", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "the caller's")
    names = port_names(ControlPlane.BUILT, control_plane_only=False)
    return Programs(layout, {name: 20000 + n for n, name in enumerate(names)}, pki.make(layout.pki))


def all_specs(programs):
    binary = programs.layout.directory / "binary"
    return [
        programs.built_apiserver(binary),
        programs.etcd(binary),
        programs.kube_apiserver(binary, binary),
        programs.collector(binary),
        programs.crossplane(binary, caller={}),
        programs.emulator(),
        programs.function(),
        programs.provider(),
    ]


def test_nothing_of_the_callers_account_or_cluster_reaches_a_process(programs):
    for spec in all_specs(programs):
        assert "the caller's" not in spec.env.values(), spec.name


def test_every_port_is_loopback_and_told(programs):
    for spec in all_specs(programs):
        assert not [a for a in spec.argv if a.endswith("=0.0.0.0")]
        for port in spec.ports:
            said = " ".join((*spec.argv, *spec.env.values()))
            assert str(port) in said, spec.name


def test_the_provider_runs_as_its_account_and_core_as_admin(programs):
    provider, core = programs.provider(), programs.crossplane(programs.layout.directory, caller={})
    assert f"--kubeconfig={programs.layout.provider_kubeconfig}" in provider.argv
    assert core.env["KUBECONFIG"] == str(programs.layout.admin_kubeconfig)
    assert core.env["PACKAGE_RUNTIME"] == "External"


def test_core_has_the_flags_of_the_caller(programs):
    core = programs.crossplane(programs.layout.directory, caller={}, flags=("--debug",))
    assert core.argv[1:] == ("core", "start", "--debug")
    assert programs.crossplane(programs.layout.directory, caller={}).argv[1:] == ("core", "start")


def test_core_serves_webhooks_only_with_packages_and_with_the_name_of_their_service(layout):
    names = port_names(ControlPlane.BUILT, control_plane_only=False, packages=True)
    programs = Programs(layout, {name: 20000 + n for n, name in enumerate(names)}, pki.make(layout.pki))
    with_webhooks, without = (
        programs.crossplane(layout.directory, caller={}, webhooks=wanted) for wanted in (True, False)
    )
    port = programs.ports["crossplane-webhooks"]
    assert with_webhooks.env["ENABLE_WEBHOOKS"] == "true"
    assert with_webhooks.env["WEBHOOK_PORT"] == str(port)
    assert port in with_webhooks.ports
    assert without.env["ENABLE_WEBHOOKS"] == "false"
    assert port not in without.ports
    folder = Path(with_webhooks.env["TLS_SERVER_CERTS_DIR"])
    certificate = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    hosts = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert hosts.get_values_for_type(x509.DNSName) == ["crossplane-webhooks.crossplane-system.svc"]
    assert "crossplane-webhooks" not in port_names(ControlPlane.BUILT, control_plane_only=False)


def test_in_a_given_cluster_the_provider_keeps_no_id_there(programs):
    assert not [a for a in programs.provider().argv if "installation" in a]
    given = programs.provider("sandbox-x").argv
    assert {"--installation-id=sandbox-x", "--keep-domains=0"} <= set(given)


def test_users_are_stopped_before_what_they_use(programs):
    tiers = {spec.name: spec.tier for spec in [programs.etcd(programs.layout.pki), *all_specs(programs)]}
    assert tiers["etcd"] < tiers["apiserver"] == tiers["collector"] < tiers["provider"] == tiers["crossplane"]


@pytest.mark.parametrize(
    ("kind", "alone", "names"),
    [
        (
            ControlPlane.GIVEN,
            False,
            {
                *("emulator", "function", "provider-health", "provider-metrics"),
                *("crossplane-metrics", "crossplane-health"),
            },
        ),
        (ControlPlane.BUILT, True, {"apiserver", "etcd", "etcd-peer"}),
    ],
)
def test_only_ports_that_are_needed_are_taken(kind, alone, names):
    assert set(port_names(kind, control_plane_only=alone)) == names


def test_a_second_provider_has_ports_of_its_own_and_takes_part_in_the_election(layout):
    names = (*provider_ports("provider"), *provider_ports("other"), "emulator")
    programs = Programs(layout, {name: 20000 + n for n, name in enumerate(names)}, pki.at(layout.pki))
    first, other = programs.provider(), programs.provider(name="other", flags=("--lease-duration=4",))
    assert "--no-leader-election" in first.argv
    assert "--no-leader-election" not in other.argv
    assert "--lease-duration=4" in other.argv
    assert not set(first.ports) & set(other.ports)
