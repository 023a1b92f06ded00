"""Reads the fields of a review, and checks their types and lengths: any client may send one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["LONGEST_TEXT", "BadReview", "Fields"]

LONGEST_TEXT: Final = 1024
"""Characters of a name, and of most other texts. Kubernetes' own names have at most 253."""
_LONGEST_MAP: Final = 256 * 1024
"""Characters of all annotations of an object (apimachinery, TotalAnnotationSizeLimitB)."""


class BadReview(ValueError):  # noqa: N818 - says what is bad
    """The review is not one that an API server sends; the message names the field and what was expected."""


@dataclass(frozen=True)
class Fields:
    """An object of a review, with its path. A field that is null counts as absent, as in Kubernetes."""

    path: str
    values: dict[str, Any]

    def object(self, name: str) -> Fields:
        """Return an object; it is empty if the field is absent. Raises BadReview."""
        value = self._typed(name, dict, "an object")
        return Fields(self._of(name), {} if value is None else value)

    def text(self, name: str, longest: int = LONGEST_TEXT) -> str:
        """Return a string, "" if the field is absent. Raises BadReview."""
        value = self._typed(name, str, "a string") or ""
        if len(value) > longest:
            raise BadReview(f"{self._of(name)}: expected at most {longest} characters")
        return str(value)

    def texts(self, name: str, most: int | None = None, longest: int = LONGEST_TEXT) -> None:
        """Check a list of at most so many strings. Raises BadReview."""
        for each in self._list(name, most):
            if not isinstance(each, str) or len(each) > longest:
                raise BadReview(f"{self._of(name)}: expected strings of at most {longest} characters")

    def objects(self, name: str) -> None:
        """Check a list of objects. Raises BadReview."""
        if not all(isinstance(each, dict) for each in self._list(name)):
            raise BadReview(f"{self._of(name)}: expected a list of objects")

    def text_map(self, name: str) -> None:
        """Check an object of strings, as annotations are. Raises BadReview."""
        values = self.object(name).values.values()
        if not all(isinstance(each, str) for each in values):
            raise BadReview(f"{self._of(name)}: expected an object of strings")
        if sum(map(len, values)) > _LONGEST_MAP:
            raise BadReview(f"{self._of(name)}: expected at most {_LONGEST_MAP} characters")

    def _list(self, name: str, most: int | None = None) -> list[Any]:
        value: list[Any] = self._typed(name, list, "a list") or []
        if most is not None and len(value) > most:
            raise BadReview(f"{self._of(name)}: expected at most {most} entries")
        return value

    def _typed(self, name: str, type_: type, expected: str) -> Any:
        value = self.values.get(name)
        if value is not None and not isinstance(value, type_):
            raise BadReview(f"{self._of(name)}: expected {expected}")
        return value

    def _of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
