"""What a store for dynamic updates makes of answers that real servers seldom give."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import chain

import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.tsig
import pytest

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import SystemClock
from provider.dns import ownership
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone
from provider.dns.rfc2136 import Key, Rfc2136Store, Server, exchange, messages
from provider.dns.rfc2136.store import NameServers
from provider.dns.store import Change
from tests.unit.provider.dns.conformance import US, cname
from tests.unit.provider.dns.scripted import HOST, dns_over_tcp

ZONE = Zone("example.test", "example.test")
SECRET = b"a-secret-that-no-text-may-contain"
KEY = Key("provider", SECRET)
TSIG = dns.tsig.Key(KEY.name, KEY.secret, KEY.algorithm)
WANTED = cname("a.example.test")
CHANGE = Change(WANTED.domain, creates=WANTED.records)
Answer = Callable[[dns.message.Message], dns.message.Message | bytes | None]


def failure(answer: Answer, *, update: bool, key: Key | None = KEY) -> DnsError:
    """How a write, or a query, fails with a server that answers like this."""

    def answered(data: bytes) -> bytes | None:
        given = answer(dns.message.from_wire(data, keyring=TSIG))
        return given.to_wire() if isinstance(given, dns.message.Message) else given

    with dns_over_tcp(answered) as port:
        store = Rfc2136Store(Server(HOST, port), key, clock=SystemClock())
        ask = partial(store.write, ZONE, CHANGE) if update else partial(store.read, ZONE, [WANTED.domain])
        with pytest.raises(DnsError) as told:
            ask()
    assert SECRET.decode() not in str(told.value)
    return told.value


def response(asked: dns.message.Message, code: dns.rcode.Rcode) -> dns.message.Message:
    answer = dns.message.make_response(asked)
    answer.set_rcode(code)
    return answer


def _of_another(asked: dns.message.Message) -> dns.message.Message:
    given = response(asked, dns.rcode.NOERROR)
    given.id = asked.id ^ 1
    return given


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (dns.rcode.SERVFAIL, Failure.LATER),
        (dns.rcode.REFUSED, Failure.NOT_PERMITTED),
        (dns.rcode.NOTAUTH, Failure.NOT_PERMITTED),
        (dns.rcode.NOTZONE, Failure.NO_ZONE),
        (dns.rcode.NOTIMP, Failure.REFUSED),
        (dns.rcode.FORMERR, Failure.REFUSED),
    ],
)
def test_a_refusal_counts_without_a_signature_too(code, expected, signed):
    def answer(asked: dns.message.Message) -> dns.message.Message:
        given = response(asked, code)
        if not signed:
            given.tsig = None
        return given

    for update in (True, False):
        told = failure(answer, update=update)
        assert told.failure is expected, told
        assert f": {dns.rcode.to_text(code)}: " in str(told)


@pytest.mark.parametrize(
    "code", [dns.rcode.YXDOMAIN, dns.rcode.YXRRSET, dns.rcode.NXRRSET, dns.rcode.NXDOMAIN]
)
def test_a_prerequisite_that_is_not_met_is_a_change_of_others(code):
    assert failure(lambda asked: response(asked, code), update=True).failure is Failure.CHANGED


@pytest.mark.parametrize("code", [dns.rcode.NOERROR, dns.rcode.YXDOMAIN])
def test_a_success_without_a_signature_is_not_believed(code):
    def answer(asked: dns.message.Message) -> dns.message.Message:
        given = response(asked, code)
        given.tsig = None
        return given

    told = failure(answer, update=True)
    assert told.failure is Failure.UNCERTAIN
    assert "the answer is not signed with the key" in str(told)


def test_a_success_with_another_secret_is_not_believed():
    def answer(asked: dns.message.Message) -> dns.message.Message:
        given = response(asked, dns.rcode.NOERROR)
        given.use_tsig(dns.tsig.Key(KEY.name, b"x" * 32, KEY.algorithm))
        return given

    assert failure(answer, update=True).failure is Failure.UNCERTAIN


@pytest.mark.parametrize(
    "answer",
    [lambda _: None, lambda _: b"", lambda _: b"no DNS message", _of_another],
    ids=["closed", "empty", "garbage", "another message"],
)
def test_no_answer_to_an_update_is_uncertain_and_to_a_query_is_not(answer):
    assert failure(answer, update=True).failure is Failure.UNCERTAIN
    assert failure(answer, update=False).failure is Failure.LATER


def test_an_answer_that_comes_in_pieces_too_slowly_ends_in_time(monkeypatch):
    monkeypatch.setattr(exchange, "_EXCHANGE_SECONDS", 0.3)
    ends = threading.Event()

    def answer(_: dns.message.Message) -> None:
        ends.wait(5)

    began = time.monotonic()
    told = failure(answer, update=True)
    ends.set()
    assert told.failure is Failure.UNCERTAIN
    assert "no answer: timed out" in str(told)
    assert time.monotonic() - began < 3


def test_no_wait_outlasts_the_reconcile():
    ends = threading.Event()
    began = time.monotonic()
    with deadline.within(0.2):
        failure(lambda _: ends.wait(5) and None, update=False)
    ends.set()
    assert time.monotonic() - began < 3


def test_a_server_whose_clock_differs_is_told():
    def answer(asked: dns.message.Message) -> bytes:
        given = response(asked, dns.rcode.NOTAUTH)
        given.use_tsig(TSIG, tsig_error=dns.rcode.BADTIME)
        given.request_mac = asked.mac
        return given.to_wire()

    told = failure(answer, update=True)
    assert told.failure is Failure.NOT_PERMITTED
    assert "BADTIME: its clock and this one differ" in str(told)


def test_an_update_that_the_server_ignores_is_found():
    """An A record beside a CNAME is ignored with NOERROR."""

    def answer(asked: dns.message.Message) -> dns.message.Message:
        given = response(asked, dns.rcode.NOERROR)
        given.flags |= dns.flags.AA
        return given

    told = failure(answer, update=True)
    assert told.failure is Failure.UNCERTAIN
    assert "accepted, but not confirmed: expected a.example.test CNAME" in str(told)


def test_a_server_that_can_be_read_no_more_after_a_write_leaves_it_uncertain():
    seen = []

    def answer(asked: dns.message.Message) -> dns.message.Message:
        seen.append(asked)
        return response(asked, dns.rcode.NOERROR if len(seen) == 1 else dns.rcode.SERVFAIL)

    assert failure(answer, update=True).failure is Failure.UNCERTAIN


def prerequisites(change: Change) -> list[str]:
    message = messages.update(ZONE, change)
    rrsets = chain(message.prerequisite, message.update)
    return [line for each in rrsets for line in str(each).splitlines()]


def test_a_creation_requires_that_the_name_is_not_in_use():
    assert prerequisites(CHANGE)[0] == "a.example.test. NONE ANY"


def test_a_correction_requires_the_old_values_no_other_type_and_the_mark():
    old = RecordSet("a.example.test", "A", ("192.0.2.1", "192.0.2.2"), 77)
    mark = ownership.mark("a.example.test", US)
    lines = prerequisites(Change("a.example.test", deletes=(old,), creates=WANTED.records, keeps=(mark,)))
    assert {"a.example.test. 0 IN A 192.0.2.1", "a.example.test. 0 IN A 192.0.2.2"} <= set(lines)
    assert f'_edgetenants.a.example.test. 0 IN TXT "{mark.values[0]}"' in lines
    absent = {line.split()[-1] for line in lines if " NONE " in line}
    assert {"CNAME", "AAAA", "TXT", "MX", "SSHFP", "HTTPS", "DNAME"} <= absent
    assert not {"A", "NSEC", "RRSIG", "ANY", "OPT", "TSIG"} & absent
    assert "a.example.test. ANY A" in lines
    assert "a.example.test. 60 IN CNAME d111111abcdef8.cloudfront.net." in lines


def test_an_address_requires_that_there_is_no_cname():
    address = RecordSet("a.example.test", "A", ("192.0.2.1",), 60)
    lines = prerequisites(Change("a.example.test", creates=(address,)))
    assert {"a.example.test. NONE A", "a.example.test. NONE CNAME"} <= set(lines)


def test_the_secret_is_in_no_text():
    store = Rfc2136Store(Server(HOST), KEY, clock=SystemClock())
    for text in (repr(KEY), str(KEY), repr(store), repr(store._exchange), str(store._exchange)):
        assert SECRET.decode() not in text


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (Key("provider", SECRET, "hmac-none"), "expected an algorithm of hmac-sha1, .*, got 'hmac-none'"),
        (Key("provider", b""), "TSIG key 'provider': expected a secret, got an empty one"),
        (Key("x" * 70, SECRET), "is not a DNS name"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_without_its_secret(key, words):
    with pytest.raises(ValueError, match=words) as told:
        Rfc2136Store(Server(HOST), key, clock=SystemClock())
    assert SECRET.decode() not in str(told.value)


def test_a_change_that_is_too_large_for_a_message_is_refused():
    record = RecordSet("a.example.test", "TXT", tuple("x" * 500 + str(n) for n in range(200)), 60)
    with dns_over_tcp(lambda _: None) as port:
        store = Rfc2136Store(Server(HOST, port), None, clock=SystemClock())
        with pytest.raises(DnsError) as told:
            store.write(ZONE, Change("a.example.test", creates=(record,)))
    assert told.value.failure is Failure.REFUSED


def test_the_apex_is_refused_with_what_to_do():
    store = Rfc2136Store(Server(HOST), KEY, clock=SystemClock(), name_servers=NameServers())
    with pytest.raises(
        DnsError,
        match=r"domain example\.test: this DNS service has no alias at the apex .* Use a name below it",
    ) as told:
        store.apex("example.test", "d1.cloudfront.net", 60)
    assert told.value.failure is Failure.REFUSED


def zone_with(
    query: dns.rcode.Rcode, update: dns.rcode.Rcode | None, domain: str = "a.example.test"
) -> object:
    """The zone of a domain, on a server that answers all queries and all updates like this."""

    def answered(data: bytes) -> bytes | None:
        asked = dns.message.from_wire(data, keyring=TSIG)
        code = update if asked.opcode() == dns.opcode.UPDATE else query
        return None if code is None else response(asked, code).to_wire()

    with dns_over_tcp(answered) as port:
        return Rfc2136Store(Server(HOST, port), KEY, clock=SystemClock()).zone_of(domain)


@pytest.mark.parametrize("query", [dns.rcode.REFUSED, dns.rcode.NOTAUTH])
def test_a_server_has_no_zone_only_if_it_says_so(query):
    """It refuses queries for zones that it does not have, and also where its policy changed."""
    assert zone_with(query, dns.rcode.NOTAUTH) is None


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (dns.rcode.REFUSED, "it refuses to say so: REFUSED"),
        (dns.rcode.NOTIMP, "it refuses to say so: NOTIMP"),
        (dns.rcode.YXDOMAIN, "it has the zone, and refuses queries for it"),
        (dns.rcode.NOERROR, "it has the zone, and refuses queries for it"),
    ],
)
def test_a_server_that_does_not_say_whether_it_has_the_zone_is_told(update, words):
    with pytest.raises(DnsError, match=words) as told:
        zone_with(dns.rcode.REFUSED, update)
    assert told.value.failure is Failure.NOT_PERMITTED
    assert "check whether there is a zone a.example.test" in str(told.value)
    assert "or list the zones to write to" in str(told.value)


@pytest.mark.parametrize("update", [dns.rcode.SERVFAIL, None])
def test_a_server_that_fails_says_nothing_about_its_zones(update):
    with pytest.raises(DnsError) as told:
        zone_with(dns.rcode.REFUSED, update)
    assert told.value.failure is Failure.LATER
