"""The phrases that read as translated, with what to write instead, and a search for them (pure)."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

ACTOR: Final = "name who acts: the provider, the function, Crossplane, CloudFront, the platform team"
REPORT: Final = "say how: the condition shows it, the provider logs it, or emits an event"
READ: Final = "say what happens: the provider reads, checks, polls or observes it"
ADVICE: Final = {
    r"nobody(?:'s)?": f"{ACTOR}; or 'no one'",
    r"somebody(?:'s)?": f"{ACTOR}; or leave the actor out: 'was deleted in AWS'",
    r"everybody(?:'s)?": "name them: any namespace, all claims",
    r"whoever": "name the role: the owner of the domain, the claim's author; or 'anyone who'",
    r"anew": "again; or the verb that means it: recreate, rewrite, request another",
    r"(?:made|makes?) again": "recreate",
    r"by itself": "say who does it, or leave it out: 'the provider retries'",
    r"told of": REPORT,
    r"(?:is|are|be) told": REPORT,
    r"looked at": READ,
    r"looks? at (?:a|the) tenant": READ,
    r"next look": "the next poll, or the next reconcile",
    r"none is made": "'recreation is on hold'",
    r"the dead say": "'a process that is down leaves its last status in place'",
    r"no more is known": "'for no known reason'",
    r"nothing known": "'for no known reason'",
    r"(?:the|a) way out": "'says how to proceed'",
    r"(?:put|puts|putting) right": "repair, correct",
    r"mend(?:s|ed)?": "fix",
    r"amid": "during",
    r"(?:be|is|are) had": "get: 'the namespace gets the domain'",
    r"go(?:es)? dark": "is down, is not served",
    r"(?:hold|holds|held) up": "block, delay",
    r"begun": "start",
    r"stands? (?:in|there|here|beside)": "'is in', 'contains'",
    r"beside the namespaces": "cluster-scoped",
    r"(?:is|are) other (?:than|for)": "differ",
    r"(?:knows?|known) (?:no|neither)": "does not support, does not have",
    r"(?:whose|who) it is": "'its owner'",
    r"in silence": "silently",
    r"the outside world": "the external system, the external API",
    r"not acted upon": "without effect, not implemented",
    r"counts as satisfied": "'not requested; treated as ready'",
    r"takes? no more requests": "'AWS is throttling requests'",
    r"an accident is not repeated": "'mass deletions do not cascade'",
    r"honest about it": "'Status: alpha'",
}
"""A phrase that reads as translated, and what to write instead."""

ACTORS: Final = {
    phrase: ADVICE[phrase]
    for phrase in (r"nobody(?:'s)?", r"somebody(?:'s)?", r"everybody(?:'s)?", "whoever", "anew", "told of")
}
"""The phrases that the docstrings and comments of tests do not have either."""

CODE = re.compile(r"^ *```.*?^ *```$|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
"""Code blocks, code spans and the targets of links: messages are quoted there as the code writes them."""


def prose(text: str) -> str:
    """The text with code blanked out, its lines as they were."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


@cache
def pattern(phrase: str) -> re.Pattern[str]:
    """The phrase as whole words, also across a line break."""
    return re.compile(r"(?<![\w-])(?:" + phrase.replace(" ", r"\s+") + r")(?![\w-])", re.IGNORECASE)


def findings(name: str, text: str, phrases: Mapping[str, str] = ADVICE) -> list[str]:
    """What is to be reworded: file, line, phrase and advice."""
    plain = prose(text)
    if not pattern("|".join(phrases)).search(plain):
        return []
    found = sorted(
        (plain.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), advice)
        for phrase, advice in phrases.items()
        for match in pattern(phrase).finditer(plain)
    )
    return [f"{name}:{line}: '{phrase}': {advice}" for line, phrase, advice in found]


def of_python(name: str, source: str, *, docstrings: bool = True) -> list[str]:
    """What is to be reworded in a Python file's strings: file, line, phrase and advice. F-strings are read
    part by part."""
    parsed = ast.parse(source)
    documentation = set(_docstrings(parsed))
    found = []
    for node in ast.walk(parsed):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if len(node.value.split()) > 1 and (docstrings or node not in documentation):
            lines = findings("", node.value)
            found += [(node.lineno + int(line.split(":")[1]) - 1, line.split(": ", 1)[1]) for line in lines]
    return [f"{name}:{line}: {rest}" for line, rest in sorted(found)]


def of_remarks(name: str, source: str, phrases: Mapping[str, str] = ADVICE) -> list[str]:
    """What is to be reworded in a Python file's docstrings and comments: file, line, phrase and advice."""
    docstrings = [(each.lineno, str(each.value)) for each in _docstrings(ast.parse(source))]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(each.start[0], each.string) for each in tokens if each.type == tokenize.COMMENT]
    found = []
    for first, text in sorted([*docstrings, *comments]):
        lines = findings("", text, phrases)
        found += [(first + int(line.split(":")[1]) - 1, line.split(": ", 1)[1]) for line in lines]
    return [f"{name}:{line}: {rest}" for line, rest in found]


def _docstrings(parsed: ast.Module) -> Iterator[ast.Constant]:
    """The strings that stand as statements: docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
