"""What lookups make of servers that fail, lie, or do not stop."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from edgetenants_runtime.clock import FakeClock
from provider.dns.public import Answer, Authoritative, Network, Outcome, Recursive, Server
from provider.dns.public.exchange import NoAnswer, system_resolvers
from provider.dns.public.reading import LONGEST_CHAIN

NAME = "shop.example.com"
FIRST, SECOND = Server("192.0.2.1"), Server("192.0.2.2")


def reply(
    asked: dns.message.Message,
    *records: str,
    code: dns.rcode.Rcode = dns.rcode.NOERROR,
    authority: bool = True,
) -> dns.message.Message:
    message = dns.message.make_response(asked)
    message.set_rcode(code)
    if authority:
        message.flags |= dns.flags.AA
    for record in records:
        name, type_, value = record.split(" ", 2)
        message.answer.append(dns.rrset.from_text(name, 300, "IN", type_, value))
    return message


@dataclass
class Scripted:
    """Answers by server; a text is a failure."""

    answers: Mapping[str, Callable[[dns.message.Message], dns.message.Message] | str]
    clock: FakeClock = field(default_factory=FakeClock)
    takes: float = 0.0
    asked: list[tuple[str, str, bool]] = field(default_factory=list)

    def send(self, asked: dns.message.Message, server: Server, seconds: float) -> dns.message.Message:
        question = asked.question[0].to_text()
        self.asked.append((server.address, question, bool(asked.flags & dns.flags.CD)))
        self.clock.advance(min(self.takes, seconds))
        answer = self.answers[server.address]
        if isinstance(answer, str):
            raise NoAnswer(answer)
        return dns.message.from_wire(answer(asked).to_wire(max_size=65535))


def recursive(first: object, second: object = "silent", takes: float = 0.0) -> tuple[Recursive, Scripted]:
    scripted = Scripted({FIRST.address: first, SECOND.address: second}, takes=takes)
    return Recursive((FIRST, SECOND), scripted, scripted.clock), scripted


def test_the_second_resolver_is_asked_if_the_first_fails() -> None:
    lookup, _ = recursive("silent", lambda asked: reply(asked, f"{NAME}. A 192.0.2.7"))
    answer = lookup.ask(NAME, "A")
    assert (answer.outcome, answer.values, answer.servers) == (Outcome.FOUND, ("192.0.2.7",), ("192.0.2.2",))


def test_a_failure_names_each_resolver_and_why() -> None:
    lookup, _ = recursive("silent", lambda asked: reply(asked, code=dns.rcode.REFUSED))
    answer = lookup.ask(NAME, "A")
    assert answer.outcome is Outcome.FAILED
    assert answer.why == "192.0.2.1: silent; 192.0.2.2: it answers REFUSED"


def test_no_name_is_no_failure() -> None:
    lookup, scripted = recursive(lambda asked: reply(asked, code=dns.rcode.NXDOMAIN))
    assert lookup.ask(NAME, "A").outcome is Outcome.NO_NAME
    assert len(scripted.asked) == 1


def test_servfail_is_bogus_only_if_the_resolver_answers_without_checking() -> None:
    def bogus(asked: dns.message.Message) -> dns.message.Message:
        unchecked = asked.flags & dns.flags.CD
        return reply(asked, code=dns.rcode.NOERROR if unchecked else dns.rcode.SERVFAIL)

    assert recursive(bogus)[0].ask(NAME, "A").outcome is Outcome.BOGUS
    broken = recursive(lambda asked: reply(asked, code=dns.rcode.SERVFAIL))[0]
    assert broken.ask(NAME, "A").outcome is Outcome.FAILED


def test_a_failure_that_passes_is_not_bogus() -> None:
    """The resolver fails once, and answers the next questions, whether or not it is asked to check."""
    asked_before: list[int] = []

    def recovering(asked: dns.message.Message) -> dns.message.Message:
        asked_before.append(asked.flags & dns.flags.CD)
        if len(asked_before) == 1:
            return reply(asked, code=dns.rcode.SERVFAIL)
        return reply(asked, f"{NAME}. A 192.0.2.7")

    answer = recursive(recovering)[0].ask(NAME, "A")
    assert (answer.outcome, answer.values) == (Outcome.FOUND, ("192.0.2.7",))
    assert [bool(each) for each in asked_before] == [False, True, False]


def test_a_lookup_ends_in_its_time() -> None:
    lookup, scripted = recursive("silent", takes=100.0)
    slow = Recursive((FIRST,) * 9, scripted, scripted.clock)
    start = scripted.clock.now()
    assert slow.ask(NAME, "A").outcome is Outcome.FAILED
    assert scripted.clock.now() - start == pytest.approx(lookup.total)


def test_a_circle_and_an_endless_chain_fail() -> None:
    circle = recursive(lambda asked: reply(asked, f"{NAME}. CNAME b.test.", f"b.test. CNAME {NAME}."))[0]
    assert circle.ask(NAME, "A").outcome is Outcome.FAILED
    links = [
        f"{NAME}. CNAME n0.test.",
        *(f"n{i}.test. CNAME n{i + 1}.test." for i in range(LONGEST_CHAIN + 1)),
    ]
    assert recursive(lambda asked: reply(asked, *links))[0].ask(NAME, "A").outcome is Outcome.FAILED


def test_values_and_their_length_are_bounded() -> None:
    texts = [f'{NAME}. TXT "{i:04}"' + f' "{"x" * 250}"' * (8 if i == 0 else 0) for i in range(200)]
    answer = recursive(lambda asked: reply(asked, *texts))[0].ask(NAME, "TXT")
    assert len(answer.values) <= 64
    assert max(map(len, answer.values)) <= 1024


@pytest.mark.parametrize("name", ["a..example.com", "x" * 64 + ".com", "." * 300])
def test_a_name_that_is_none_fails(name: str) -> None:
    assert recursive("silent")[0].ask(name, "A").outcome is Outcome.FAILED


def test_no_resolver_is_a_failure(tmp_path: object) -> None:
    assert Recursive(()).ask(NAME, "A").why == "no resolver is configured"
    assert system_resolvers(f"{tmp_path}/missing") == ()


@dataclass
class Known:
    """Resolvers that know these answers, and else no name."""

    answers: Mapping[tuple[str, str], Answer]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, name: str, kind: str) -> Answer:
        self.asked.append((name, kind))
        return self.answers.get((name, kind)) or Answer(Outcome.NO_NAME, name, kind)


def found(name: str, type_: str, *values: str, chain: tuple[str, ...] = ()) -> tuple[tuple[str, str], Answer]:
    return (name, type_), Answer(Outcome.FOUND, name, type_, chain, values)


ZONE = dict(
    [
        found("example.com", "NS", "ns1.test", "ns2.test"),
        found("ns1.test", "A", FIRST.address),
        found("ns2.test", "A", SECOND.address),
    ]
)


def authoritative(
    first: object,
    second: object = "silent",
    more: Mapping[tuple[str, str], Answer] | None = None,
    takes: float = 0,
) -> tuple[Authoritative, Scripted]:
    scripted = Scripted({FIRST.address: first, SECOND.address: second}, takes=takes)
    return Authoritative(Known({**ZONE, **(more or {})}), scripted, scripted.clock), scripted


def test_a_lame_name_server_is_passed_over() -> None:
    lookup, _ = authoritative(
        lambda asked: reply(asked, authority=False), lambda asked: reply(asked, f"{NAME}. A 192.0.2.7")
    )
    answer = lookup.ask(NAME, "A")
    assert (answer.values, answer.servers) == (("192.0.2.7",), ("ns1.test", "ns2.test"))
    lame = authoritative(*[lambda asked: reply(asked, authority=False)] * 2)[0].ask(NAME, "A")
    assert lame.outcome is Outcome.FAILED
    assert "it does not serve the zone" in lame.why


def test_a_chain_that_leaves_the_zone_is_followed_by_the_resolvers() -> None:
    more = dict([found("end.test", "A", "192.0.2.8", chain=("last.test",))])
    answer = authoritative(lambda asked: reply(asked, f"{NAME}. CNAME end.test."), more=more)[0].ask(
        NAME, "A"
    )
    assert (answer.chain, answer.values) == (("end.test", "last.test"), ("192.0.2.8",))


def test_a_circle_across_zones_fails() -> None:
    more = dict([found("end.test", "A", chain=(NAME, "end.test"))])
    lookup, _ = authoritative(lambda asked: reply(asked, f"{NAME}. CNAME end.test."), more=more)
    assert lookup.ask(NAME, "A").outcome is Outcome.FAILED


def test_a_zone_with_many_silent_name_servers_takes_its_time_only() -> None:
    hosts = [f"n{i}.test" for i in range(50)]
    more = dict([found("example.com", "NS", *hosts), *(found(host, "A", FIRST.address) for host in hosts)])
    lookup, scripted = authoritative("silent", more=more, takes=100.0)
    start = scripted.clock.now()
    assert lookup.ask(NAME, "A").outcome is Outcome.FAILED
    assert scripted.clock.now() - start <= lookup.total
    assert len(scripted.asked) <= 4


def test_a_failed_search_for_the_zone_is_no_missing_name() -> None:
    more = {("example.com", "NS"): Answer(Outcome.BOGUS, "example.com", "NS", why="signatures")}
    answer = authoritative("silent", more=more)[0].ask(NAME, "A")
    assert (answer.outcome, answer.name, answer.type) == (Outcome.BOGUS, NAME, "A")


@contextmanager
def udp(answer: Callable[[bytes], list[bytes]]) -> Iterator[int]:
    """The port of a server that sends these datagrams for each one it gets."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, socket = self.request
            for each in answer(data):
                socket.sendto(each, self.client_address)

    with socketserver.UDPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def at_network(answer: Callable[[bytes], list[bytes]], seconds: float = 0.3) -> Answer:
    with udp(answer) as port:
        return Recursive((Server("127.0.0.1", port),), Network(), seconds=seconds).ask(NAME, "A")


def test_an_answer_with_another_id_is_dropped() -> None:
    def forged(data: bytes) -> list[bytes]:
        asked = dns.message.from_wire(data)
        wrong, right = reply(asked, f"{NAME}. A 203.0.113.66"), reply(asked, f"{NAME}. A 192.0.2.7")
        wrong.id = (asked.id + 1) % 65536
        return [wrong.to_wire(), right.to_wire()]

    assert at_network(forged, 5.0).values == ("192.0.2.7",)


@pytest.mark.parametrize(
    "sent", [[], [b""], [b"\0" * 5], [b"\xff" * 600]], ids=["silent", "empty", "short", "noise"]
)
def test_noise_is_a_failure(sent: list[bytes]) -> None:
    assert at_network(lambda _: sent).outcome is Outcome.FAILED


def test_a_truncated_answer_without_a_server_for_tcp_is_a_failure() -> None:
    def truncated(data: bytes) -> list[bytes]:
        message = reply(dns.message.from_wire(data))
        message.flags |= dns.flags.TC
        return [message.to_wire()]

    assert at_network(truncated).outcome is Outcome.FAILED
