"""Mutations of the order in which calls get the slots of their account's rate."""

from tests.mutants.mutation import Mutation

_SLOTS = "cloudfront/aws/pacing/slots.py"
_PACE = "cloudfront/aws/pacing/throttling.py"
_ANSWERS = "cloudfront/memory/answers.py"
_QUOTAS = "cloudfront/quota/quotas.py"
_PACING = "unit/provider/cloudfront/aws/pacing/"
_ORDER = (f"{_PACING}test_slots.py", f"{_PACING}test_order_of_calls.py")
_WAITING = (f"{_PACING}test_waiting_for_slots.py",)
_OF_ANSWERS = ("unit/provider/cloudfront/memory/test_answers.py",)
_OF_QUOTAS = ("unit/provider/cloudfront/quota/test_allowances.py",)
_OF_SWEEPS = ("unit/provider/cloudfront/sweep/test_sweeps.py",)

PROVIDER_SLOTS = (
    Mutation(
        "slots go in the order in which calls come",
        _SLOTS,
        "        call = min(mine, key=lambda each: last.rank(each.namespace))\n",
        "        call = next(mine)\n",
        "a new tenant waits for one call of each worker that others keep busy",
        _ORDER,
    ),
    Mutation(
        "polls get slots before changes",
        _SLOTS,
        "default=max(waiting))",
        "default=min(waiting))",
        "a new tenant waits for the polls of all others",
        _ORDER,
    ),
    Mutation(
        "polls get no slots beside changes",
        _SLOTS,
        "if self._passed_over[p] >= most]",
        "if False]",
        "while resources change all the time, no poll notices drift",
        _ORDER,
    ),
    Mutation(
        "the slots of the last hour count",
        _SLOTS,
        "        if len(self.slots) <= _LAST:\n",
        "        if len(self.slots) <= 100 * _LAST:\n",
        "a namespace that was busy in the morning waits until the others were as busy",
        _ORDER,
    ),
    Mutation(
        "slots of polls count against the changes of a namespace",
        _SLOTS,
        "        last = self._last[priority]\n        mine",
        "        last = self._last[Priority.POLL]\n        mine",
        "a namespace with many tenants waits for all others with each edit",
        _ORDER,
    ),
    Mutation(
        "a slot without a wait does not count",
        _PACE,
        "                slots.had(urgent.priority, namespace)\n",
        "",
        "a namespace has a burst, and then goes before the others besides",
        _WAITING,
    ),
    Mutation(
        "no other call watches the time",
        _SLOTS,
        "            self.watch = next(iter(self._calls), None)\n            self.look()\n",
        "            self.watch = None\n",
        "the calls that wait get no slot until another one comes",
        _ORDER + _WAITING,
    ),
    Mutation(
        "a call that has died keeps its place",
        _PACE,
        "            finally:\n                slots.leave(call)\n",
        "            finally:\n                pass\n",
        "a slot for each worker that died is lost, or all of them",
        _WAITING,
    ),
    Mutation(
        "calls wait as long as it takes",
        _PACE,
        "            if now >= until:\n",
        "            if False:\n",
        "polls that others pass keep their workers for minutes",
        _WAITING,
    ),
    Mutation(
        "each call watches the time",
        _PACE,
        "min(until, now + seconds) if slots.watch is call else until",
        "min(until, now + seconds)",
        "forty threads wake for each slot",
        _WAITING,
    ),
    Mutation(
        "a new rate is for the calls that come later",
        _PACE,
        "            self._rates.limit(service, config, rate, of_team=of_team)\n            self._look()\n",
        "            self._rates.limit(service, config, rate, of_team=of_team)\n",
        "calls go on to wait for a rate that was raised",
        _WAITING,
    ),
    Mutation(
        "a config that goes leaves its rate to the calls that wait",
        _PACE,
        "            self._rates.forget(config)\n            self._look()\n",
        "            self._rates.forget(config)\n",
        "calls go on to wait for a rate that was raised",
        _WAITING,
    ),
    Mutation(
        "a poll's call for credentials is a poll",
        _PACE,
        "return _OF_STS if service == STS else urgency.current()",
        "return urgency.current()",
        "changes wait for credentials that a poll renews",
        _WAITING,
    ),
    Mutation(
        "the queue does not know which workers wait for slots",
        _PACE,
        "        with urgency.waiting(), self._lock:\n",
        "        with self._lock:\n",
        "polls that wait have all workers, and a change finds none",
        _WAITING,
    ),
    Mutation(
        "a call without a slot uses its config's share up",
        _PACE,
        "                self._rates.give_back_share(service, config)\n",
        "                pass\n",
        "a team with a low rate waits for what it did not use",
        _WAITING,
    ),
    Mutation(
        "lists are polls",
        "cloudfront/sweep/sweeps.py",
        "Urgency(Priority.DRIFT)",
        "Urgency(Priority.POLL)",
        "beside many polls a list does not end, and each tenant is polled instead",
        _OF_SWEEPS,
    ),
    Mutation(
        "an outdated answer is shared",
        _ANSWERS,
        "if question.answer is not None and not question.outdated:",
        "if question.answer is not None:",
        "a reconcile decides by a group that was changed before it began",
        _OF_ANSWERS,
    ),
    Mutation(
        "a shared call is as urgent as its first worker",
        _ANSWERS,
        "                question.urgency.raise_to(urgency.current().priority)\n",
        "",
        "a change waits for a call that waits as a poll",
        _OF_ANSWERS,
    ),
    Mutation(
        "a worker whose call is shared stays urgent",
        _ANSWERS,
        "    return _Question(Urgency(mine.priority, mine.held))\n",
        "    return _Question(mine)\n",
        "polls go on as changes",
        _OF_ANSWERS,
    ),
    Mutation(
        "each reconcile looks at all configs for warnings",
        _QUOTAS,
        "        if before == used and now < until:\n",
        "        if False:\n",
        "with a thousand configs of an account each reconcile takes a thousand steps more",
        _OF_QUOTAS,
    ),
    Mutation(
        "a config's new number warns in an hour",
        _QUOTAS,
        "        self._asked = {}\n        for quota",
        "        for quota",
        "a warning comes after the quota is used up",
        _OF_QUOTAS,
    ),
)
