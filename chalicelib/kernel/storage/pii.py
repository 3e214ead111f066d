"""Person: somebody who is to be forgotten, by all that identifies them, and where they stand in text.

An address stands in text that is nothing but that address, or in text of another kind, whatever surrounds it there: in
`Mail: ada@example.com.` it does, in `nada@example.com`, `ada@example.com.au` and `o'ada@example.com` it doesn't. What
begins with a slash is a path, though it could be an address (RFC 5322).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from chalicelib.kernel.core.case_folding import lower

REDACTED: Final = "…"

_WORD: Final = r"[\w\u0300-\u036f]"
_BEFORE: Final = rf"(?<!{_WORD})(?<!{_WORD}[.+'\u2019-])"
_BEHIND: Final = r"(?!-*[^\W_]|\.[^\W_])"
_ATOM: Final = rf"(?:{_WORD}|[!#$%&'*+/=?^`{{|}}~-])"
_ADDRESS: Final = re.compile(rf"(?!/){_ATOM}(?:{_ATOM}|\.)*@[\w-]+(?:\.[\w-]+)*")
_NOTHING: Final = "(?!)"


@dataclass(frozen=True)
class PersonalData:
    """Somebody by the ids they have as a user and by their e-mail addresses, in lower case."""

    user_ids: frozenset[str]
    emails: frozenset[str]

    def appears_in(self, text: str) -> bool:
        """Return whether a text names them."""
        return self.redact(text) != text

    def may_appear_in(self, text: str) -> bool:
        """Return whether JSON in its canonical form (RFC 8785) is worth a closer look: where not, it names nobody."""
        lowered = lower(text)
        return any(mark in lowered for mark in self._marks)

    def appears_in_value(self, value: Any) -> bool:
        """Return whether a value as JSON has them names them, in any text, also by what a member is called."""
        return any(map(self.appears_in, _texts(value)))

    def redact(self, text: str) -> str:
        """Return a text that names them no more."""
        if lower(text) in self.emails:
            return REDACTED
        named = self._user_named if _ADDRESS.fullmatch(text) else self._named
        return named.sub(REDACTED, text)

    def redact_all(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of some texts, or other JSON, that name them, as they have to be that they name them no more."""
        return {name: self.redact_value(value) for name, value in values.items() if self.appears_in_value(value)}

    def redact_value(self, value: Any) -> Any:
        """Return JSON that names them no more, in any text, also by what a member is called."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(name): self.redact_value(member) for name, member in value.items()}
        return [self.redact_value(element) for element in value] if isinstance(value, list) else value

    @cached_property
    def _marks(self) -> list[str]:
        return [json.dumps(mark, ensure_ascii=False)[1:-1] for mark in self.user_ids | self.emails]

    @cached_property
    def _user_named(self) -> re.Pattern[str]:
        return _any_of(map(_in_any_case, sorted(self.user_ids)))

    @cached_property
    def _named(self) -> re.Pattern[str]:
        emails = (f"{_BEFORE}{_in_any_case(email)}{_BEHIND}" for email in sorted(self.emails))
        return _any_of([*emails, self._user_named.pattern])


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or _NOTHING)


def _in_any_case(text: str) -> str:
    """Return what matches text in whatever case, without the letters that Unicode takes for ASCII ones."""
    return "".join(
        f"[{c}{chr(ord(c) - 32)}]" if "a" <= c <= "z" else re.escape(c) if c.isascii() else f"(?i:{c})" for c in text
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)
