"""Mutations of what holds for the DNS records of domains that moved, and for servers that are asked again."""

from tests.mutants.mutation import Mutation

_LEFT = ("unit/provider/cloudfront/dns/test_left_records.py",)
_MANY = ("unit/provider/cloudfront/dns/test_many_left_records.py",)
_STAYING = ("unit/provider/cloudfront/dns/test_records_that_stay.py",)
_MOVED = "contract/test_moved_records.py::"
_DARK = "a live domain loses its records, and its visitors find nothing"
_DANGLING = "a record leads to CloudFront for a domain that no tenant has, and no one knows of it"
_FILE = "cloudfront/dns/left.py"

_OF_MOVES: tuple[Mutation, ...] = (
    Mutation(
        "what is left is not looked at",
        "cloudfront/clients/tenant.py",
        "        left.look(own)\n",
        "",
        _DANGLING,
        _LEFT,
    ),
    Mutation(
        "what is left is not in the status",
        "cloudfront/clients/tenant.py",
        "        return dns_instructions.stored_of(mr.status, left.remembered)\n",
        "        return ()\n",
        _DANGLING,
        _LEFT,
    ),
    Mutation(
        "a tenant that does not exist forgets what is left",
        "cloudfront/clients/tenant.py",
        "            leaving=self._left_behind(mr, asked.domains or frozenset()),\n",
        "",
        _DANGLING,
        (*_LEFT, *_MANY),
    ),
    Mutation(
        "a conflict forgets the records of the domain",
        "cloudfront/clients/tenant.py",
        "        had = records.made | left.remembered\n",
        "        had = left.remembered\n",
        _DANGLING,
        _LEFT,
    ),
    Mutation(
        "a deletion darkens the domain of another tenant",
        _FILE,
        "sure=is_listed and not seen)",
        "sure=is_listed)",
        _DARK,
        _MANY,
    ),
    Mutation(
        "one look at a free domain is enough",
        _FILE,
        "        if sure or (since is not None and now >= since + _SOON):\n",
        "        if sure or since is None or now >= since + _SOON:\n",
        _DARK,
        _LEFT,
    ),
    Mutation(
        "a look of long ago counts for the second one",
        _FILE,
        "            watch = Watch(now, zone.name, holder.words)\n",
        "            since = before.free_since if before else None\n"
        "            watch = Watch(now, zone.name, holder.words, free_since=since)\n",
        _DARK,
        _MANY,
    ),
    Mutation(
        "the owner is not asked once more before the removal",
        _FILE,
        "        return known is None or known.free_since is None or self.holder(domain) is None\n",
        "        return True\n",
        _DARK,
        _LEFT,
    ),
    Mutation(
        "a tenant that may not be asked for has nothing",
        "cloudfront/clients/tenant.py",
        '                return Holder("the provider may not ask AWS whether another tenant")\n',
        "                return None\n",
        _DARK,
        (f"{_MOVED}TestFaults::test_a_tenant_that_may_not_be_looked_for_keeps_them",),
    ),
    Mutation(
        "a deletion does not wait for what leads to others",
        _FILE,
        "        self._check_held()\n",
        "",
        _DANGLING,
        (f"{_MOVED}TestGiverGoes",),
    ),
    Mutation(
        "a deletion does not wait for the second look",
        _FILE,
        "        self._check_free()\n",
        "",
        _DANGLING,
        (*_LEFT, f"{_MOVED}TestGiverGoes"),
    ),
    Mutation(
        "any confirmation lets the records stay",
        _FILE,
        "        if self.records.mr.annotations.get(conditions.CONFIRM) == token:\n",
        "        if self.records.mr.annotations.get(conditions.CONFIRM):\n",
        _DANGLING,
        (f"{_MOVED}TestGiverGoes::test_a_user_may_let_the_records_stay",),
    ),
    Mutation(
        "more looks than one reconcile has time for",
        _FILE,
        "self._stopped or self._looks >= _AT_ONCE or self._spent",
        "self._stopped or self._spent",
        "a resource with many moved domains occupies a worker and the account's rate",
        _LEFT,
    ),
    Mutation(
        "each reconcile asks AWS",
        _FILE,
        "        if before is not None and not self._is_due(before):\n            return before\n",
        "",
        "each poll of a giver costs calls to AWS and to the DNS service",
        (*_LEFT, f"{_MOVED}TestNoDns::test_at_rest_nothing_is_written_and_aws_is_asked_every_ten_minutes"),
    ),
    Mutation(
        "a view of before decides whether the receiver has them",
        _FILE,
        "only_own=True, again=True)",
        "only_own=True)",
        "the giver keeps waiting for what the receiver has taken over",
        (
            f"{_MOVED}TestGiverIsHeldBack::test_nor_does_one_after_the_receiver_has_the_mark",
            f"{_MOVED}TestGiverGoes::test_before_the_receiver_has_changed_the_mark",
        ),
    ),
    Mutation(
        "one that is being deleted hands no records over",
        "cloudfront/clients/connector.py",
        "moves.gives_records(each, mr)",
        "moves.gives(each, mr)",
        "its deletion waits for ever",
        (f"{_MOVED}TestGiverGoes::test_before_the_receiver_has_changed_the_mark",),
    ),
    Mutation(
        "a config that fails for a moment leaves records",
        _FILE,
        "                raise self.records.kept(left, self.records.access.problem)\n",
        "                pass\n",
        "a resource that has no tenant yet goes, and its records lead to CloudFront",
        (*_STAYING, *_LEFT),
    ),
    Mutation(
        "records that are gone keep a resource",
        _FILE,
        "        return frozenset(each for each in made if not self._is_gone(each))\n",
        "        return frozenset(made)\n",
        "a config that fails after the records were removed keeps the resource",
        _STAYING,
    ),
    Mutation(
        "what the status forgot is forgotten",
        _FILE,
        "self._made(own) | frozenset(each for each in known.difference(own) if not self._is_gone(each))",
        "self._made(own)",
        _DANGLING,
        _LEFT,
    ),
    Mutation(
        "another namespace's resource is named",
        "cloudfront/dns/successors.py",
        "each for each in self.everyone() if namespace_of(each) == namespace)",
        "each for each in self.everyone())",
        "a message names what is of another namespace",
        (f"{_MOVED}TestNoDns::test_no_message_names_what_another_namespace_has",),
    ),
    Mutation(
        "the receiver is not told",
        "cloudfront/clients/tenant.py",
        "(*self._led_here(mr, seen), unseen(group, records))",
        "(unseen(group, records),)",
        "the resource that can act does not say that its domain depends on another resource",
        (f"{_MOVED}TestNoDns::test_the_receiver_says_so_too",),
    ),
    Mutation(
        "what was left before counts when a domain is left again",
        "cloudfront/memory/record_tickets.py",
        "self._watched.pop((uid, domain), None)\n            self._gone.pop((uid, domain), None)\n",
        "self._gone.pop((uid, domain), None)\n",
        _DARK,
        _LEFT,
    ),
)

_OF_SERVERS: tuple[Mutation, ...] = (
    Mutation(
        "a silent name server is asked by each resource",
        "dns/rfc2136/store.py",
        "            self._silent.note(zone.name, server, str(error))\n",
        "",
        "one dead secondary of a shared zone occupies the workers",
        ("unit/provider/dns/test_rfc2136_serving.py",),
    ),
    Mutation(
        "a silent name server is left alone for ever",
        "dns/rfc2136/silence.py",
        'return words if words and self._clock.now() < until else ""',
        "return words",
        "DNSReady stays DNSPropagating after the server is back",
        ("unit/provider/dns/test_rfc2136_serving.py",),
    ),
    Mutation(
        "silent name servers fill the memory",
        "dns/rfc2136/silence.py",
        "            while len(self._silent) > _MOST:\n                self._silent.popitem(last=False)\n",
        "",
        "the memory grows with the zones",
        ("unit/provider/dns/test_rfc2136_serving.py",),
    ),
    Mutation(
        "the names above a domain are asked for each time",
        "dns/powerdns.py",
        "            self._without.note(name)\n",
        "",
        "long names take many requests to PowerDNS",
        ("unit/provider/dns/test_powerdns_answers.py",),
    ),
    Mutation(
        "a look-up asks for all names",
        "dns/powerdns.py",
        "            asked += 1\n",
        "",
        "a name with a hundred labels takes a hundred requests in one reconcile",
        ("unit/provider/dns/test_powerdns_answers.py",),
    ),
    Mutation(
        "that there is no zone is remembered for ever",
        "dns/powerdns.py",
        '            return self._clock.now() < self._until.get(name, float("-inf"))\n',
        "            return name in self._until\n",
        "a new zone is found after a restart only",
        ("unit/provider/dns/test_powerdns_answers.py",),
    ),
    Mutation(
        "a failure of a moment is bogus",
        "dns/public/recursive.py",
        "                message = self.exchange.send(asked, server, seconds)\n"
        "                if message.rcode() != dns.rcode.SERVFAIL:\n"
        "                    return reading.read(message, name, kind)\n",
        "",
        "a customer looks for an error in DNSSEC that there is not",
        ("unit/provider/dns/public/test_faults.py",),
    ),
    Mutation(
        "the number of labels says what an apex is",
        "cloudfront/clients/tenant.py",
        "        return dns_instructions.records(domains, endpoint, is_apex=is_apex)\n",
        "        return dns_instructions.records(domains, endpoint)\n",
        "no look says whether the records of example.co.uk are there",
        _STAYING,
    ),
)

PROVIDER_MOVED_RECORDS: tuple[Mutation, ...] = (*_OF_MOVES, *_OF_SERVERS)
