"""Mutations of what the function remembers, and of ways that are shorter."""

from tests.mutants.mutation import Mutation

_REMEMBERED = ("unit/function/protocol/test_remembered.py",)

FUNCTION_SPEED: tuple[Mutation, ...] = (
    Mutation(
        "observed resources are read again for the order",
        "fn.py",
        "former = compose.former_names(asked.domains, seen)",
        "former = compose.former_names(asked.domains, observe(req))",
        "a call takes a third more of the processor",
        ("unit/function/test_pipeline.py",),
    ),
    Mutation(
        "an answer is given to any question of its composite",
        "protocol/remembered.py",
        "if kept is None or kept.digest != question.digest:",
        "if kept is None:",
        "a claim that was edited is composed as it was before",
        _REMEMBERED,
    ),
    Mutation(
        "an answer has the tag of the request before",
        "protocol/remembered.py",
        'tagged = sized(_TAG, tag.encode()) if tag else b""',
        'tagged = b""',
        "core cannot tell which request was answered",
        _REMEMBERED,
    ),
    Mutation(
        "the tag is part of the question",
        "serving/questions.py",
        '    req.meta.tag = ""\n',
        "",
        "nothing is ever remembered, as each request has another tag",
        _REMEMBERED,
    ),
    Mutation(
        "a claim's own conditions are no part of the question",
        "serving/questions.py",
        "if key != _READ_STATUS",
        "if key",
        "an event is told with each call, or never",
        _REMEMBERED,
    ),
    Mutation(
        "events are given again",
        "fn.py",
        "reports = self.refused or self.changed or self.response.results",
        "reports = False",
        "one event is told a second time, of what happened once",
        _REMEMBERED,
    ),
    Mutation(
        "connection details are remembered",
        "fn.py",
        "return not reports and not any(each.connection_details for each in states)",
        "return not reports",
        "secrets of deleted claims stay in memory",
        _REMEMBERED,
    ),
    Mutation(
        "answers without end are remembered",
        "protocol/remembered.py",
        "while self._size > self._most:",
        "while False:",
        "many claims fill the memory, and nobody's claims are composed",
        _REMEMBERED,
    ),
    Mutation(
        "a large answer is remembered",
        "protocol/remembered.py",
        " or len(kept.rest) > LARGEST",
        "",
        "a few hostile claims take the room of all others",
        _REMEMBERED,
    ),
    Mutation(
        "the oldest answer goes first",
        "protocol/remembered.py",
        "self._any.choice(self._keys)",
        "next(iter(self._kept))",
        "claims in turn that are more than there is room for are never found",
        _REMEMBERED,
    ),
    Mutation(
        "plans of two sources are taken for those of one",
        "protocol/remembered.py",
        'b"".join(sha256(part).digest() for part in parts)',
        'sha256(b"".join(parts)).digest()',
        "a claim gets plans that its platform team does not offer",
        _REMEMBERED,
    ),
    Mutation(
        "plans of any size are kept",
        "protocol/remembered.py",
        "if size <= self._largest:",
        "if size:",
        "one large input drives the plans of all others out of memory",
        _REMEMBERED,
    ),
    Mutation(
        "a long text has the length of a short one",
        "protocol/wire.py",
        "if length < len(_TEXTS):",
        "if length <= len(_TEXTS):",
        "a claim with one long value is never composed",
        ("unit/function/protocol/test_wire.py",),
    ),
)

APIS_SPEED: tuple[Mutation, ...] = (
    Mutation(
        "hyphens of international names pass unseen",
        "domains.py",
        '_PLAIN_LABEL = r"(?!-|..--)',
        '_PLAIN_LABEL = r"(?!-)',
        "a name that no resolver takes is asked for at CloudFront",
        ("unit/function/claims/test_domains.py",),
    ),
)
