"""Mutations of the stores for Azure DNS and Cloudflare."""

from tests.mutants.mutation import Mutation

_AZURE = "contract/dns/test_azure.py::TestFaults::"
_CLOUDFLARE = "contract/dns/test_cloudflare.py::"
_SECRETS = "contract/dns/test_cloud_secrets.py::"
_MEANWHILE = "test_a_record_that_people_make_meanwhile_is_never_replaced"
_REPLACED = "test_a_record_that_people_replace_after_the_look_stays"
_ENDS = "test_the_process_ends_between_two_requests"

PROVIDER_DNS_CLOUDS: tuple[Mutation, ...] = (
    Mutation(
        "Azure replaces what is there",
        "dns/azure/calls.py",
        'condition = {"if_none_match": "*"} if etag is None else {"if_match": etag}',
        "condition: dict[str, str] = {}",
        "records of others are replaced",
        (f"{_AZURE}{_REPLACED}[correction]",),
    ),
    Mutation(
        "Azure deletes what is there",
        "dns/azure/calls.py",
        "if_match=etag, **options",
        "**options",
        "records of others are deleted",
        (f"{_AZURE}{_REPLACED}[removal]",),
    ),
    Mutation(
        "a mark stays beside records of others",
        "dns/azure/writer.py",
        "                self._undo(made)\n",
        "                pass\n",
        "the domain counts as ours, and nothing is undone",
        (f"{_AZURE}{_MEANWHILE}", "contract/dns/test_azure.py::TestMark"),
    ),
    Mutation(
        "a new mark is finished at once",
        "dns/azure/writer.py",
        "new = bool(marks) and not",
        "new = False and not",
        "records of others are replaced after the process ended",
        (f"{_AZURE}{_MEANWHILE}",),
    ),
    Mutation(
        "what others made under an unfinished mark may be changed",
        "dns/azure/store.py",
        "each if _about(each).owner else replace(each, routed=True)",
        "each",
        "records of others are replaced after the process ended",
        (f"{_AZURE}{_MEANWHILE}",),
    ),
    Mutation(
        "Azure deletes the mark whatever became of the record",
        "dns/azure/writer.py",
        "if not self._is_mark(record) and self._is_there(record):",
        "if False:",
        "a record without a mark is left",
        (f"{_AZURE}test_a_fault_of_one_request[another form-removal]",),
    ),
    Mutation(
        "half a change is none",
        "dns/azure/writer.py",
        "            if not self._done or error.failure is Failure.NO_ZONE:\n",
        "            if True:\n",
        "a status says that nothing was written",
        (f"{_AZURE}test_a_fault_of_one_request[429-creation]",),
    ),
    Mutation(
        "Azure writes whatever the zone has",
        "dns/azure/store.py",
        "        if wrong := differs_before(change, there):\n",
        "        if (wrong := differs_before(change, there)) and not zone:\n",
        "a record is changed whose mark has another owner",
        ("contract/dns/test_azure.py::Test",),
    ),
    Mutation(
        "Cloudflare writes whatever the zone has",
        "dns/cloudflare/store.py",
        "        if wrong := differs_before(change, there):\n",
        "        if (wrong := differs_before(change, there)) and not zone:\n",
        "a record is changed whose mark has another owner",
        (f"{_CLOUDFLARE}Test",),
    ),
    Mutation(
        "what others added stays mixed with ours",
        "dns/cloudflare/store.py",
        "if wrong and self._undone(zone, change, made, doing):",
        "if False:",
        "visitors get both addresses, and the next change deletes both",
        (f"{_CLOUDFLARE}TestRecords",),
    ),
    Mutation(
        "a proxied record is as wanted",
        "dns/cloudflare/values.py",
        "        alias=flat or proxied,\n",
        "        alias=flat,\n",
        "the provider counts a record as in place that leads elsewhere",
        (f"{_CLOUDFLARE}TestRecords",),
    ),
    Mutation(
        "what was written is looked up in an old copy",
        "dns/cloudflare/zone_copy.py",
        "            self._written.update(dict.fromkeys(names, now))\n",
        "            pass\n",
        "the provider writes the same again and again",
        (f"{_CLOUDFLARE}TestRecords",),
    ),
    Mutation(
        "a lost answer means that Cloudflare changed nothing",
        "dns/cloudflare/calls.py",
        "unclear = Failure.UNCERTAIN if write else Failure.LATER",
        "unclear = Failure.LATER",
        "the domain is given to another while its record leads here",
        (f"{_CLOUDFLARE}TestFaults::test_a_fault_of_one_request[unanswered-creation]",),
    ),
    Mutation(
        "environment variables replace the token",
        "dns/cloudflare/calls.py",
        "    client.api_email = client.api_key = client.user_service_key = None\n",
        "",
        "the provider writes with credentials that no ProviderConfig has",
        (f"{_SECRETS}test_the_token_of_the_settings_is_used_whatever_the_environment_has",),
    ),
    Mutation(
        "Cloudflare's words may have the token",
        "dns/cloudflare/calls.py",
        '(said.replace(token, "***") if token else said)',
        "said",
        "a status has the token",
        (f"{_SECRETS}test_no_secret_is_in_any_text",),
    ),
    Mutation(
        "a pause that a service asks for is not kept",
        "dns/throttle.py",
        "            self._until = max(self._until, self._clock.now() + seconds)\n",
        "            pass\n",
        "Cloudflare blocks the user's dashboard for five minutes more",
        (f"{_CLOUDFLARE}TestFaults::test_a_pause_that_the_service_asks_for_is_kept",),
    ),
)
