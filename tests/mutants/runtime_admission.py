"""Mutations of the webhooks' protocol and server."""

from tests.mutants.mutation import Mutation

_SERVER = ("admission/test_server.py",)
_REVIEW = ("admission/test_review.py",)

RUNTIME_ADMISSION = (
    Mutation(
        "a denial has another code than 422",
        "admission/review.py",
        "_INVALID: Final = 422",
        "_INVALID: Final = 403",
        "Crossplane stops the whole composition instead of one resource",
        _REVIEW,
    ),
    Mutation(
        "warnings of any length are sent",
        "admission/review.py",
        "cut(each, _LONGEST_WARNING) for each in verdict.warnings[:_MOST_WARNINGS]",
        "each for each in verdict.warnings",
        "the API server drops or cuts them",
        _REVIEW,
    ),
    Mutation(
        "a check that fails allows the write",
        "admission/server.py",
        'return self._refuse(500, "the check failed; see the log of the webhook")',
        "verdict = Verdict()",
        "a failurePolicy of Fail has no effect",
        _SERVER,
    ),
    Mutation(
        "connections are unbounded",
        "admission/server.py",
        "        if not self._room.acquire(blocking=False):\n",
        "        if False:\n",
        "any pod can use up the threads and memory of the provider",
        _SERVER,
    ),
    Mutation(
        "room does not come back",
        "admission/server.py",
        "        finally:\n            self._room.release()\n",
        "        finally:\n            pass\n",
        "after 128 connections the webhooks are gone",
        _SERVER,
    ),
    Mutation(
        "the handshake is made where connections are accepted",
        "admission/server.py",
        "do_handshake_on_connect=False",
        "do_handshake_on_connect=True",
        "one silent client holds up all others",
        _SERVER,
    ),
    Mutation(
        "a renewed certificate is not read",
        "admission/server.py",
        "        if version == self._version:\n",
        "        if True:\n",
        "when the certificate expires, all checks are skipped",
        _SERVER,
    ),
    Mutation(
        "half a renewal is taken in",
        "admission/server.py",
        "        if problem := self._files.problem:\n",
        '        if problem := "":\n',
        "a certificate without its key fits no handshake",
        _SERVER,
    ),
    Mutation(
        "a body of any length is read",
        "admission/server.py",
        "        elif length > _LONGEST_BODY:\n",
        "        elif False:\n",
        "any pod can use up the memory of the provider",
        _SERVER,
    ),
)
