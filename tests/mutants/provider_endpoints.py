"""Mutations of what an endpoint other than AWS's can do, and of what a user can do at the console."""

from tests.mutants.mutation import Mutation

_BOUNDED = ("unit/provider/cloudfront/account/test_bounded_answers.py",)
_KEPT = ("unit/provider/cloudfront/safety/test_kept_domains.py",)
_LEFT = ("unit/provider/cloudfront/dns/test_left_records.py",)

PROVIDER_ENDPOINTS = (
    Mutation(
        "answers of AWS have any size and time",
        "cloudfront/account/bounded_answers.py",
        "    manager.pool_classes_by_scheme = _POOLS\n",
        "    pass\n",
        "one endless answer takes the memory of all",
        _BOUNDED,
    ),
    Mutation(
        "answers through a proxy have any size and time",
        "cloudfront/account/bounded_answers.py",
        "    http._pool_classes_by_scheme = _POOLS",
        "    pass",
        "one endless answer takes the memory of all",
        _BOUNDED,
    ),
    Mutation(
        "an answer may have any number of elements",
        "cloudfront/account/bounded_answers.py",
        '    client.meta.events.register("before-parse", _check_parts)\n',
        "    pass\n",
        "a parser holds the interpreter, and the Lease is lost",
        _BOUNDED,
    ),
    Mutation(
        "a domain that an update adds is recorded at the next look",
        "cloudfront/clients/skeleton.py",
        "        self._keeper.made(mr, effects.there)\n",
        "        pass\n",
        "another namespace gets the domain of a tenant that is deleted in the console meanwhile",
        _KEPT,
    ),
    Mutation(
        "a DNS service that fails makes the status forget records",
        "cloudfront/dns/work.py",
        "        return self.last.made | (dns_instructions.made(self.mr.status) & unseen)\n",
        "        return self.last.made\n",
        "a record leads to CloudFront without a tenant for ever",
        _LEFT,
    ),
)
