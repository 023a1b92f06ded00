"""Mutations of what messages name and offer."""

from tests.mutants.mutation import Mutation

MESSAGES = ("unit/provider/cloudfront/clients/test_messages.py",)
DNS_LOOKS = ("unit/provider/cloudfront/domain/test_dns_looks.py",)
OFFERS = ("unit/provider/cloudfront/adoption/test_offers.py",)
PACE = ("contract/test_pace.py",)
FIELD_NAMES = ("unit/function/test_field_names.py",)

WEAK = ("unit/provider/cloudfront/account/test_weak_credentials.py",)
ANSWERS = ("unit/provider/cloudfront/memory/test_answers.py",)
SESSIONS = ("unit/provider/cloudfront/account/test_sessions.py",)
HOLDERS = ("unit/provider/cloudfront/checks/test_holders.py",)

PROVIDER_LEFTOVERS = (
    Mutation(
        "a remembered tenant of the same name is the resource's own",
        "cloudfront/checks/holders.py",
        "holder.name == name and searched == self._searched:",
        "False:",
        "after a deletion in the console, the other domains are dark for five minutes",
        HOLDERS,
    ),
    Mutation(
        "blanks of a credentials file reach its parser",
        "cloudfront/account/sessions.py",
        'return _BLANKS.sub(" ", content.decode())',
        "return content.decode()",
        "one Secret of a namespace stops the provider, again after each restart",
        SESSIONS,
    ),
    Mutation(
        "a credentials file of any length is parsed",
        "cloudfront/account/sessions.py",
        "    if len(content) > _LONGEST_FILE:\n",
        "    if False:\n",
        "one Secret of a namespace keeps a worker for long",
        SESSIONS,
    ),
    Mutation(
        "a group that one config may not read is unread for all",
        "cloudfront/memory/group_states.py",
        "self._failures.note((config, group), look, _GROUP_SECONDS)",
        "self._answers.note(group, look, _GROUP_SECONDS)",
        "a disabled group is told as serving, and one namespace reads another's credentials' name",
        WEAK,
    ),
    Mutation(
        "a look at a group that was refused is repeated at each reconcile",
        "cloudfront/memory/group_states.py",
        "self._failures.note((config, group), look, _GROUP_SECONDS)",
        "pass",
        "a config without the permission uses up the account's rate",
        WEAK,
    ),
    Mutation(
        "what one worker's credentials are refused, all are that wait",
        "cloudfront/memory/answers.py",
        "    if question.failure is not None and question.failure.verdict.class_ in _OF_THE_ACCOUNT:\n",
        "    if question.failure is not None:\n",
        "a namespace fails for another one's permissions, and reads its credentials' name",
        ANSWERS,
    ),
    Mutation(
        "who gets a domain with a creation is not noted",
        "cloudfront/clients/tenant.py",
        "        self._memory.holders.changed(seen.domains)\n",
        "",
        "a message says for half an hour that a domain is free, though another tenant has it",
        HOLDERS,
    ),
    Mutation(
        "a claim that adopts is told of its metadata.name",
        "cloudfront/safety/advice.py",
        "    if mr.external_name and mr.external_name == mr.annotations.get(ADOPT_ANNOTATION):\n",
        "    if False:\n",
        "the claim's author changes the name, and the id in spec.adopt stays wrong",
        MESSAGES,
    ),
    Mutation(
        "a tenant that the drift policy leaves disabled is to be enabled in AWS alone",
        "cloudfront/tenant/conditions.py",
        "    if world.left:\n",
        "    if False:\n",
        "nobody is told that the drift policy leaves it so",
        MESSAGES,
    ),
    Mutation(
        "the author of a claim disables a resource that is composed",
        "cloudfront/safety/advice.py",
        'return "suspend its claim" if _of_claim(mr) else',
        "return",
        "the function sets the field back at once",
        MESSAGES,
    ),
    # Adoptions that are offered.
    Mutation(
        "an adoption is offered whatever stands against it",
        "cloudfront/adoption/owner_look.py",
        "    offers.check(mr, seen, account, cluster)\n",
        "",
        "somebody follows the advice, and is refused for another reason",
        OFFERS,
    ),
    Mutation(
        "an adoption is offered of what an older resource may take",
        "cloudfront/adoption/owner_look.py",
        "    if other is not None and not other.deleted:\n",
        "    if other is None and not mr.uid:\n",
        "the younger of two is sent to adopt, and is refused",
        OFFERS,
    ),
    Mutation(
        "an adoption is offered of what another resource manages and lost its tag",
        "cloudfront/adoption/owner_look.py",
        "    if verdict in _FREE and _is_held(",
        "    if verdict is Ownership.GIVEN and _is_held(",
        "somebody is sent to take what serves another's customers",
        OFFERS,
    ),
    Mutation(
        "an adoption is offered of a tenant with a domain that is kept for others",
        "cloudfront/adoption/offers.py",
        "    if refusals:\n",
        "    if False:\n",
        "somebody follows the advice, and is refused for another reason",
        OFFERS,
    ),
    Mutation(
        "an adoption is offered of what is kept by its name",
        "cloudfront/adoption/offers.py",
        "raise guards.invalid(refusals[name], Reason.ADOPTION_REFUSED)",
        "return",
        "somebody follows the advice, and is refused for another reason",
        OFFERS,
    ),
    Mutation(
        "a group with tenants of others is offered",
        "cloudfront/adoption/offers.py",
        "isinstance(seen, ObservedGroup) and _has_others(mr, seen, account, cluster)",
        "False",
        "somebody follows the advice, and is refused for another reason",
        OFFERS,
    ),
    Mutation(
        "the tenants of a group are listed at each look",
        "cloudfront/adoption/offers.py",
        "account.memory.shared.get(what, lambda: group_use.has_others(mr, group, account, cluster))",
        "group_use.has_others(mr, group, account, cluster)",
        "a group that nobody may take costs a list a minute for each who wants it",
        OFFERS,
    ),
    Mutation(
        "what begins with another namespace is named to who named its id",
        "cloudfront/safety/kept_names.py",
        "    name = str(mr.external_name)\n    it =",
        "    name = seen.name\n    it =",
        "an id tells whose the tenant is",
        ("unit/provider/cloudfront/safety/test_kept_names.py",),
    ),
    Mutation(
        "a namespace has the names that begin with it in lower case only",
        "cloudfront/safety/kept_names.py",
        "name.lower().partition",
        "name.partition",
        "a squatter writes the namespace of others with a capital",
        ("unit/provider/cloudfront/safety/test_kept_names.py",),
    ),
    # Looks at the DNS of what is served.
    Mutation(
        "the DNS of many tenants is looked at whatever the pace",
        "cloudfront/memory/schedules.py",
        "max(earliest, self._last_turn + between)",
        "earliest",
        "a thousand tenants take a third of the account's pace",
        DNS_LOOKS,
    ),
    Mutation(
        "what is gone keeps its turn",
        "cloudfront/memory/schedules.py",
        "            self._turns.pop(uid, None)\n",
        "",
        "memory grows with each tenant that ever was",
        DNS_LOOKS,
    ),
    Mutation(
        "a record that is not in place waits behind all others",
        "cloudfront/memory/schedules.py",
        "now < min(turn, self._verified.get(uid, now) + longest)",
        "now < turn",
        "with many tenants a repaired record is told hours later",
        DNS_LOOKS,
    ),
    Mutation(
        "the DNS of what is served is looked at once a day",
        "cloudfront/domain/dns_look.py",
        "return self.turns.is_due(mr.uid, longest, never=never)",
        "return self.turns.is_due_every(mr.uid, longest, never=never)",
        "a lost record is told a day later",
        ("contract/test_reached_by_visitors.py",),
    ),
    Mutation(
        "a restart looks at the DNS of every tenant",
        "cloudfront/memory/schedules.py",
        "                self._turns[uid] = self._turn(now + _share(uid) * _DNS_SECONDS, between)\n"
        "                return False\n",
        "                self._turns[uid] = self._turn(now + _share(uid) * _DNS_SECONDS, between)\n"
        "                return True\n",
        "ten thousand calls at each restart",
        DNS_LOOKS,
    ),
    Mutation(
        "a rehearsal changes what the guards remember",
        "cloudfront/account/sessions.py",
        "            rehearsals = AccountMemory(clock, second_check=0.0)\n",
        "            rehearsals = AccountMemory(clock, second_check=0.0)\n"
        "            rehearsals.vanished = memory.vanished\n",
        "an accident after a rehearsed deletion is taken for the provider's own deletion",
        ("contract/test_rehearsal.py",),
    ),
    # Provider configs that are gone.
    Mutation(
        "what a config that is gone has set holds on",
        "cloudfront/account/sessions.py",
        "            for shared in self._shared.values():\n                shared.pace.forget(uid)\n",
        "",
        "a rate limit that nobody can see slows the account down until a restart",
        PACE,
    ),
    Mutation(
        "a reconcile under way brings back what a config set that is gone",
        "cloudfront/account/sessions.py",
        "            if self._went(config.uid):\n",
        "            if False:\n",
        "a rate limit that nobody can see slows the account down until a restart",
        PACE,
    ),
    Mutation(
        "a config whose cache was emptied sets nothing any more",
        "cloudfront/account/sessions.py",
        "            if self._went(uid):\n",
        "            if False:\n",
        "the account is called faster than its config says, until a restart",
        PACE,
    ),
    Mutation(
        "nobody tells that a config is gone",
        "main.py",
        "        configs.on_removal(accounts.gone)\n",
        "",
        "a rate limit that nobody can see slows the account down until a restart",
        ("unit/provider/test_defects.py",),
    ),
)

FUNCTION_LEFTOVERS = (
    Mutation(
        "fields beside forProvider keep their names",
        "field_names.py",
        "    if spec_field:\n",
        "    if False:\n",
        "the platform team is sent to a field that the function sets back",
        FIELD_NAMES,
    ),
    Mutation(
        "the fields of a difference keep their names",
        "field_names.py",
        'found["field"] or found["differing"]',
        'found["field"] or ""',
        "a claim's author looks for customizations in the claim",
        FIELD_NAMES,
    ),
    Mutation(
        "the Secret of a legacy claim has the modern claim's field",
        "field_names.py",
        '"spec.connectionSecretName" if order.composite.namespaced else ""',
        '"spec.connectionSecretName"',
        "a legacy claim has no such field",
        FIELD_NAMES,
    ),
    Mutation(
        "the claim's own connection group has no field",
        "field_names.py",
        '    "connectionGroupIdSelector": OverridableField.CONNECTION,\n',
        "",
        "a claim's reader is told of a selector that no claim has",
        FIELD_NAMES,
    ),
)
