"""Each row of the table of plans, and what is in the way of what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provider.dns import ownership, plan
from provider.dns.ownership import Owner
from provider.dns.plan import Standing, Step, Wanted
from provider.dns.records import RecordSet
from provider.dns.store import Change, Found

US = Owner.of("installation", "team-a", "shop")
SUCCESSOR = Owner.of("installation", "team-a", "shop-2")
THEM = Owner.of("installation", "team-b", "shop")
DOMAIN = "acme.example.com"
MARK_NAME = "_edgetenants.acme.example.com"
CNAME = RecordSet(DOMAIN, "CNAME", ("d1.cloudfront.net",), 300)
OTHER = RecordSet(DOMAIN, "CNAME", ("d2.cloudfront.net",), 300)
ADDRESS = RecordSet(DOMAIN, "A", ("192.0.2.1",), 300)
MAIL = RecordSet(DOMAIN, "MX", ("10 mail.example.net.",), 300)
WANTED = Wanted(DOMAIN, (CNAME,))
ALIAS = RecordSet(DOMAIN, "A", ("d1.cloudfront.net",), alias=True)
ALIASES = (ALIAS, replace(ALIAS, type="AAAA"))
APEX = Wanted(DOMAIN, ALIASES)
MINE = ownership.mark(DOMAIN, US)
THEIRS = ownership.mark(DOMAIN, THEM)


def found(*records: RecordSet) -> Found:
    names = {DOMAIN, MARK_NAME, *(each.name for each in records)}
    return Found({name: tuple(each for each in records if each.name == name) for name in names})


def settled(*records: RecordSet, wanted: Wanted = WANTED, take_over: bool = False, owner: Owner = US) -> Step:
    return plan.settle(wanted, found(*records), owner, take_over=take_over)


def released(*records: RecordSet, wanted: Wanted = WANTED) -> Change | None:
    return plan.release(wanted, found(*records), US, lambda each: "cloudfront.net" in each.values[0])


def test_the_names_to_read_are_those_of_the_records_and_the_mark():
    assert WANTED.names == {DOMAIN, MARK_NAME}


def test_without_a_mark_and_with_nothing_in_the_way_records_are_created_with_the_mark():
    assert settled() == Step(DOMAIN, Standing.DUE, (), Change(DOMAIN, creates=(CNAME, MINE)))


@pytest.mark.parametrize("ttl", [300, 60])
@pytest.mark.parametrize("take_over", [False, True])
def test_without_a_mark_what_is_as_wanted_is_left_to_its_maker(ttl, take_over):
    assert settled(replace(CNAME, ttl=ttl), take_over=take_over) == Step(DOMAIN, Standing.OTHERS)


def test_without_a_mark_other_records_are_in_the_way():
    assert settled(OTHER) == Step(DOMAIN, Standing.TAKEN, (OTHER,))
    assert settled(MAIL, ADDRESS) == Step(DOMAIN, Standing.TAKEN, (ADDRESS, MAIL))


def test_other_records_are_taken_over_when_that_is_allowed():
    change = Change(DOMAIN, deletes=(ADDRESS,), creates=(CNAME, MINE))
    assert settled(ADDRESS, take_over=True) == Step(DOMAIN, Standing.DUE, (ADDRESS,), change)


@pytest.mark.parametrize("other", [MAIL, replace(ADDRESS, routed=True)])
def test_what_the_provider_never_makes_is_not_taken_over(other):
    assert settled(other, take_over=True) == Step(DOMAIN, Standing.TAKEN, (other,))


def test_what_stays_at_a_takeover_must_be_what_was_seen():
    """One of two aliases is there. The mark says of both that they are ours."""
    step = settled(ALIASES[0], wanted=APEX, take_over=True)
    assert step.change == Change(DOMAIN, creates=(ALIASES[1], MINE), keeps=(ALIASES[0],))
    assert settled(ALIASES[0], wanted=APEX).standing is Standing.TAKEN


def test_with_our_mark_what_is_as_wanted_is_in_place():
    assert settled(CNAME, MINE) == Step(DOMAIN, Standing.OURS, is_marked=True)
    assert settled(CNAME, replace(MINE, ttl=7)) == Step(DOMAIN, Standing.OURS, is_marked=True)


def test_with_our_mark_missing_records_are_created_while_the_mark_is_there():
    change = Change(DOMAIN, creates=(CNAME,), keeps=(MINE,))
    assert settled(MINE) == Step(DOMAIN, Standing.DUE, (), change, corrects=True, is_marked=True)


@pytest.mark.parametrize("wrong", [OTHER, replace(CNAME, ttl=60), ADDRESS])
def test_with_our_mark_other_records_are_corrected_while_the_mark_is_there(wrong):
    change = Change(DOMAIN, deletes=(wrong,), creates=(CNAME,), keeps=(MINE,))
    assert settled(wrong, MINE) == Step(DOMAIN, Standing.DUE, (wrong,), change, corrects=True, is_marked=True)


@pytest.mark.parametrize("other", [MAIL, replace(OTHER, routed=True)])
def test_with_our_mark_what_the_provider_never_makes_is_in_the_way(other):
    assert settled(other, MINE) == Step(DOMAIN, Standing.TAKEN, (other,), is_marked=True)


def test_a_successor_in_the_namespace_writes_its_own_mark():
    change = Change(DOMAIN, deletes=(MINE,), creates=(ownership.mark(DOMAIN, SUCCESSOR),))
    assert settled(CNAME, MINE, owner=SUCCESSOR) == Step(DOMAIN, Standing.DUE, (), change)


@pytest.mark.parametrize("records", [(), (CNAME,), (OTHER,), (MAIL,)])
@pytest.mark.parametrize("take_over", [False, True])
def test_with_anothers_mark_nothing_is_changed(records, take_over):
    expected = Step(DOMAIN, Standing.FOREIGN, (THEIRS,))
    assert settled(*records, THEIRS, take_over=take_over) == expected
    assert released(*records, THEIRS) is None


BOTH_OWNERS = replace(MINE, values=tuple(sorted((*MINE.values, *THEIRS.values))))
WITH_A_TEXT = replace(MINE, values=tuple(sorted((*MINE.values, "text of a person"))))
ROUTED = replace(MINE, routed=True)


@pytest.mark.parametrize(
    "mark",
    [
        (BOTH_OWNERS,),
        (WITH_A_TEXT,),
        (ROUTED,),
        (MINE, ROUTED),
        (replace(MINE, type="CNAME", values=MINE.values),),
        (replace(MINE, values=("heritage=external-dns,owner=x",)),),
        (replace(MINE, values=("heritage=edgetenants",)),),
        (replace(MINE, values=("heritage=edgetenants,owner=",)),),
    ],
)
def test_a_mark_that_the_provider_does_not_make_is_no_ones(mark):
    for owner in (US, THEM):
        assert settled(CNAME, *mark, owner=owner).standing is Standing.FOREIGN
    assert released(CNAME, *mark) is None


def test_other_types_at_the_name_of_the_mark_are_no_marks():
    address = RecordSet(MARK_NAME, "A", ("192.0.2.9",), 60)
    assert settled(address).standing is Standing.DUE
    step = settled(OTHER, MINE, address, owner=SUCCESSOR)
    assert step.change is not None
    assert address not in step.change.deletes
    assert released(CNAME, MINE, address) == Change(DOMAIN, deletes=(CNAME, MINE))


def test_beside_addresses_other_types_may_be():
    """An apex has NS, SOA, and often MX and TXT records."""
    beside = [replace(MAIL, type=each, values=("x",)) for each in ("NS", "SOA", "MX", "TXT", "CAA")]
    assert settled(*beside, wanted=APEX).change == Change(DOMAIN, creates=(*ALIASES, MINE))


@pytest.mark.parametrize("kind", ["A", "AAAA", "CNAME", "ALIAS", "ANAME", "HTTPS", "SVCB"])
def test_what_also_leads_visitors_is_in_the_way_of_addresses(kind):
    other = replace(MAIL, type=kind)
    assert settled(other, wanted=APEX) == Step(DOMAIN, Standing.TAKEN, (other,))


def test_a_text_is_beside_all_but_a_cname_and_other_texts():
    name = f"_challenge.{DOMAIN}"
    wanted = Wanted(DOMAIN, (RecordSet(name, "TXT", ("token",), 60),))
    assert settled(replace(ADDRESS, name=name), wanted=wanted).standing is Standing.DUE
    for kind in ("TXT", "CNAME"):
        assert settled(replace(MAIL, name=name, type=kind), wanted=wanted).standing is Standing.TAKEN


def test_a_release_removes_records_and_mark():
    assert released(CNAME, MINE) == Change(DOMAIN, deletes=(CNAME, MINE))
    assert released(MINE) == Change(DOMAIN, deletes=(MINE,))


def test_a_release_without_a_mark_removes_nothing():
    assert released(CNAME) is None
    assert released() is None


def test_a_release_leaves_what_leads_elsewhere_and_what_the_provider_never_makes():
    away = replace(CNAME, values=("people.example.net",))
    mail = replace(MAIL, values=("10 d1.cloudfront.net.",))
    routed = replace(CNAME, routed=True)
    for left in (away, mail, routed):
        assert released(left, MINE) == Change(DOMAIN, deletes=(MINE,))


def test_a_mark_is_read_back_and_its_name_too():
    for domain in (DOMAIN, f"*.{DOMAIN}"):
        mark = ownership.mark(domain, US)
        assert ownership.owner_of(mark) == US
        assert ownership.domain_of_mark(mark.name) == domain
    assert ownership.mark_name(DOMAIN) != ownership.mark_name(f"*.{DOMAIN}")
    assert ownership.domain_of_mark(DOMAIN) is None


def test_a_domain_whose_mark_would_be_too_long_is_told():
    domain = ".".join(["x" * 60] * 4)
    with pytest.raises(ValueError, match=r"expected a name for which _edgetenants\..* at most 253"):
        plan.settle(Wanted(domain, ()), Found({}), US)
