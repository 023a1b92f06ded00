"""Domains that people may confuse with others because of their letters. The function reports them and never
refuses them.

It reports a label that mixes scripts which no language mixes, or whose letters of one other script look like
plain ASCII. Scripts are the first words of Unicode's character names; the common mixtures follow "Highly
Restrictive" of UTS 39, and the letters follow Chromium's rules for displaying international names. It does
not report a label in the script of its top-level domain, as that indicates an intended name.
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
"""First words of the names of letters and marks that several scripts use."""

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
"""Cyrillic, Greek and Armenian letters, each with the ASCII letter that it looks like."""


@dataclass(frozen=True)
class Lookalike:
    """One domain, and why people may confuse it with another."""

    domain: str
    """In lower-case A-labels."""
    text: str
    """As a browser may display it."""
    why: str

    def __str__(self) -> str:
        return f"{self.domain} is displayed as {self.text}, which {self.why}"


def among(domains: Iterable[str]) -> tuple[Lookalike, ...]:
    """Those of the domains (A-labels) that people may confuse with others."""
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
        # Not reported here: a parsed claim has no such label.
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
        yield f"has only {script.capitalize()} letters{like}"


def _scripts(label: str) -> frozenset[str]:
    """The scripts of a label's letters; digits and hyphens have none."""
    first = (unicodedata.name(each, "").partition(" ")[0] for each in label if not _neutral(each))
    return frozenset("HAN" if word in _HAN else word for word in first) - _OF_NO_SCRIPT - {""}


def _neutral(character: str) -> bool:
    return unicodedata.category(character)[0] not in "LM"
