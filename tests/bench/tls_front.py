"""A server that speaks TLS before one that does not: most of what a connection to AWS takes is TLS."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.bench.servers import free_port


@contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    """The URL of a server that speaks TLS and passes everything on to that port."""
    _certify(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "own.pem", folder / "own.key")
    loop, own = asyncio.new_event_loop(), free_port()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pass_on(reader, outer), _pass_on(inner, writer))

    serving = asyncio.start_server(connected, "127.0.0.1", own, ssl=context, backlog=1000)
    loop.run_until_complete(serving)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"https://localhost:{own}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while content := await reader.read(65_536):
            writer.write(content)
            await writer.drain()
    writer.close()


def _certify(folder: Path) -> None:
    """A certificate of its own authority, and a file of all authorities."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "own.pem").write_bytes(pem)
    (folder / "own.key").write_bytes(secret)
    (folder / "authorities.pem").write_bytes(Path(certifi.where()).read_bytes() + pem)
