"""Domains that may be taken for others because of their letters: told to people, never refused.

A label is told of where it mixes scripts that no language mixes, or where letters of one other script make up
what looks like plain ASCII. Scripts are the first words of Unicode's character names; which mixtures are
common follows "Highly Restrictive" of UTS 39, and the letters follow Chromium's rules for showing
international names. A top-level domain of the same script is a sign that the word is meant as it stands.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import idna

_ENCODED: Final = "xn--"

_MIXED_BY_LANGUAGES: Final = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
)
_HAN: Final = frozenset({"CJK", "IDEOGRAPHIC"})
_OF_NO_SCRIPT: Final = frozenset({"COMBINING", "MODIFIER", "KATAKANA-HIRAGANA"})
"""First words of the names of letters and marks that are used with several scripts."""

_TWINS: Final = {
    **dict(
        zip(
            "\u0430\u044c\u0441\u0501\u0435\u050d\u04bb\u0456\u0458\u04cf\u043f\u043e",
            "abcdeghijlno",
            strict=True,
        )
    ),
    **dict(
        zip("\u0440\u051b\u0433\u0455\u0475\u051d\u0461\u0448\u0445\u0443\u0437", "pqrsvwwwxy3", strict=True)
    ),
    **dict(
        zip("\u03b1\u03b3\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c9", "aynikvoptuw", strict=True)
    ),
    **dict(zip("\u0561\u0563\u0566\u056c\u0570\u0575\u0578\u057d\u0581\u0585", "wqqlhjnugo", strict=True)),
}
"""Letters of Cyrillic, Greek and Armenian, each with the ASCII one that it looks like."""


@dataclass(frozen=True)
class Lookalike:
    """One domain, and why it may be taken for another."""

    domain: str
    """In lower-case A-labels."""
    text: str
    """As people see it."""
    why: str

    def __str__(self) -> str:
        return f"{self.domain} reads {self.text}, which {self.why}"


def among(domains: Iterable[str]) -> tuple[Lookalike, ...]:
    """Those of the domains, in A-labels, that may be taken for others."""
    return tuple(found for each in domains if _ENCODED in each and (found := _look(each)))


def _look(domain: str) -> Lookalike | None:
    labels = [_decoded(label) for label in domain.split(".")]
    home = _scripts(labels[-1])
    why = next((why for label in labels[:-1] for why in _doubts(label, home)), "")
    return Lookalike(domain, ".".join(labels), why) if why else None


def _decoded(label: str) -> str:
    if not label.startswith(_ENCODED):
        return label
    try:
        return idna.decode(label)
    except idna.IDNAError:
        # Parsed claims have none of these; whoever has one is not told more than there is to tell.
        return label


def _doubts(label: str, home: frozenset[str]) -> Iterator[str]:
    scripts = _scripts(label)
    plain = "".join(_TWINS.get(letter, letter) for letter in label)
    like = f" and looks like {plain}" if plain.isascii() else ""
    if len(scripts) > 1 and not any(scripts <= each for each in _MIXED_BY_LANGUAGES):
        named = " and ".join(sorted(script.capitalize() for script in scripts))
        yield f"mixes {named} letters{like}"
    elif len(scripts) == 1 and like and not label.isascii() and not scripts <= home:
        (script,) = scripts
        yield f"has {script.capitalize()} letters only{like}"


def _scripts(label: str) -> frozenset[str]:
    """The scripts of a label's letters; digits and hyphens have none."""
    first = (unicodedata.name(each, "").partition(" ")[0] for each in label if not _neutral(each))
    return frozenset("HAN" if word in _HAN else word for word in first) - _OF_NO_SCRIPT - {""}


def _neutral(character: str) -> bool:
    return unicodedata.category(character)[0] not in "LM"
