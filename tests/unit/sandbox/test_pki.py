"""Certificates that prove who is who, read by ssl as by the real parts."""

import contextlib
import socket
import ssl
import threading

import pytest
import yaml

from sandbox import kubeconfig, pki
from sandbox.errors import WorldError
from sandbox.specs import Probe


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return pki.make(tmp_path_factory.mktemp("pki") / "pki")


def peer_seen_by_server(made, pair, server=None, host="127.0.0.1"):
    """The client's subject as a server sees it that trusts our authority only."""
    server = server or made.function
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=made.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(server.certificate, server.key)
    seen = {}
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            connection, _ = listener.accept()
            with (
                contextlib.suppress(ssl.SSLError),
                connection,
                context.wrap_socket(connection, server_side=True) as secured,
            ):
                seen.update({k: v for part in secured.getpeercert()["subject"] for k, v in part})
                secured.sendall(b"x")

        thread = threading.Thread(target=accept)
        thread.start()
        client = ssl.create_default_context(cafile=made.ca)
        client.load_cert_chain(pair.certificate, pair.key)
        with (
            socket.create_connection(listener.getsockname()) as plain,
            client.wrap_socket(plain, server_hostname=host) as secured,
        ):
            assert secured.recv(1) == b"x"
        thread.join()
    return seen


def test_admin_is_of_kubernetes_own_superuser_group(made):
    assert peer_seen_by_server(made, made.admin)["organizationName"] == "system:masters"


def test_the_provider_is_its_service_account_and_in_no_group_of_power(made):
    seen = peer_seen_by_server(made, made.provider)
    assert seen["commonName"] == "system:serviceaccount:crossplane-system:provider-edgetenants"
    assert not seen.get("organizationName", "").startswith("system:")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_servers_are_known_by_both_names_of_loopback(made, host):
    for server in (made.apiserver, made.function):
        peer_seen_by_server(made, made.crossplane, server, host)


def test_the_certificates_of_another_sandbox_are_not_trusted(made, tmp_path):
    stranger = pki.make(tmp_path / "other")
    with pytest.raises(ssl.SSLError):
        peer_seen_by_server(stranger, made.admin, server=made.function)


def test_the_directories_are_laid_out_as_mounted_secrets_and_keys_are_ours_alone(made):
    for pair in (made.function, made.crossplane):
        names = {file.name for file in pair.certificate.parent.iterdir()}
        assert names == {"tls.crt", "tls.key", "ca.crt"}
    keys = list(made.ca.parent.rglob("*.key"))
    assert keys
    assert all(key.stat().st_mode & 0o077 == 0 for key in keys)


def test_a_probe_wants_http2_of_grpc(made):
    """A TLS server that does not speak HTTP/2 is not a gRPC server that is ready."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.function.certificate, made.function.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        probe = Probe(
            f"tls://127.0.0.1:{port}",
            str(made.ca),
            str(made.crossplane.certificate),
            str(made.crossplane.key),
        )

        def accept(protocols):
            context.set_alpn_protocols(protocols)
            connection, _ = listener.accept()
            with connection, context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)

        for protocols, ready in ((["http/1.1"], False), (["h2"], True)):
            thread = threading.Thread(target=accept, args=(protocols,))
            thread.start()
            assert probe.ready() is ready
            thread.join()
    assert not probe.ready()


def test_a_kubeconfig_carries_everything_and_is_ours_alone(made, tmp_path):
    path = kubeconfig.write(
        tmp_path / "kubeconfig", kubeconfig.with_certificate("https://127.0.0.1:1", made.admin, "me")
    )
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"].keys() == {"server", "certificate-authority-data"}
    assert config["users"][0]["user"].keys() == {"client-certificate-data", "client-key-data"}
    assert path.stat().st_mode & 0o077 == 0
    assert kubeconfig.contexts(path) == (config["current-context"],)


def test_with_a_token_the_cluster_stays_and_the_user_changes(made):
    admin = kubeconfig.with_certificate("https://127.0.0.1:1", made.admin, "me")
    config = kubeconfig.with_token(admin, "secret-token", "provider")
    assert config["clusters"][0]["cluster"] == admin["clusters"][0]["cluster"]
    assert config["users"] == [{"name": "provider", "user": {"token": "secret-token"}}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "file .* not found"),
        ("a: [", "invalid YAML"),
        ("kind: Pod", "is not a kubeconfig"),
        ("- a", "is not a kubeconfig"),
    ],
)
def test_what_is_no_kubeconfig_is_refused(tmp_path, content, words):
    path = tmp_path / "file"
    if content is not None:
        path.write_text(content)
    with pytest.raises(WorldError, match=words):
        kubeconfig.contexts(path)
