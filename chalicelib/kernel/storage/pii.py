"""Personal data: the identifiers of a person to erase, and their occurrences in text.

An address matches a text that consists of it, or that contains it as a whole. For example, it matches in
`Mail: ada@example.com.`, but not in `nada@example.com`, `ada@example.com.au` and `o'ada@example.com`. Text after a
slash counts as a path, although it could be part of an address (RFC 5322).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from chalicelib.kernel.core.case_folding import lower_without_new_ascii

REDACTED: Final = "…"

_WORD: Final = r"[\w\u0300-\u036f]"
_NOT_AFTER_WORD: Final = rf"(?<!{_WORD})(?<!{_WORD}[.+'\u2019-])"
_NOT_BEFORE_WORD: Final = r"(?!-*[^\W_]|\.[^\W_])"
_ATOM: Final = rf"(?:{_WORD}|[!#$%&'*+/=?^`{{|}}~-])"
_ADDRESS: Final = re.compile(rf"(?!/){_ATOM}(?:{_ATOM}|\.)*@[\w-]+(?:\.[\w-]+)*")
_NOTHING: Final = "(?!)"


@dataclass(frozen=True)
class PersonIdentifiers:
    """The user ids and e-mail addresses by which a person is recognized, in lower case.

    `actor_ids`: ids of the person as an actor of application events. They can be short, such as `7`, so they are not
    searched in texts. Records compare them only with fields that contain such an id.
    """

    user_ids: frozenset[str]
    emails: frozenset[str]
    actor_ids: frozenset[str] = frozenset()

    def appears_in(self, text: str) -> bool:
        """Return whether a text contains the person."""
        return self.redact(text) != text

    def may_appear_in(self, canonical_json: str) -> bool:
        """Return whether canonical JSON (RFC 8785) may contain the person. It is faster than an exact check."""
        lowered = lower_without_new_ascii(canonical_json)
        return any(identifier in lowered for identifier in self._json_escaped_identifiers)

    def appears_in_value(self, value: Any) -> bool:
        """Return whether a JSON value contains the person, also in the names of members."""
        return any(map(self.appears_in, _iter_texts_in_json(value)))

    def redact(self, text: str) -> str:
        """Return a text without the person."""
        if lower_without_new_ascii(text) in self.emails:
            return REDACTED
        pattern = self._any_user_id_pattern if _ADDRESS.fullmatch(text) else self._user_id_or_email_pattern
        return pattern.sub(REDACTED, text)

    def redacted_field_changes(self, field_values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields whose values contain the person, with the person removed from the values."""
        return {name: self.redact_value(value) for name, value in field_values.items() if self.appears_in_value(value)}

    def redact_value(self, value: Any) -> Any:
        """Return a JSON value without the person, also in the names of members."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(name): self.redact_value(member) for name, member in value.items()}
        return [self.redact_value(element) for element in value] if isinstance(value, list) else value

    @cached_property
    def _json_escaped_identifiers(self) -> list[str]:
        return [json.dumps(identifier, ensure_ascii=False)[1:-1] for identifier in self.user_ids | self.emails]

    @cached_property
    def _any_user_id_pattern(self) -> re.Pattern[str]:
        return _compile_alternatives_or_never_matching(map(_case_insensitive_pattern, sorted(self.user_ids)))

    @cached_property
    def _user_id_or_email_pattern(self) -> re.Pattern[str]:
        emails = (
            f"{_NOT_AFTER_WORD}{_case_insensitive_pattern(email)}{_NOT_BEFORE_WORD}" for email in sorted(self.emails)
        )
        return _compile_alternatives_or_never_matching([*emails, self._any_user_id_pattern.pattern])


def _compile_alternatives_or_never_matching(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or _NOTHING)


def _case_insensitive_pattern(text: str) -> str:
    """Return a pattern that matches a text in upper or lower case.

    It does not match other letters that Unicode folds to ASCII letters.
    """
    return "".join(
        f"[{c}{chr(ord(c) - 32)}]" if "a" <= c <= "z" else re.escape(c) if c.isascii() else f"(?i:{c})" for c in text
    )


def _iter_texts_in_json(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _iter_texts_in_json(member)
    elif isinstance(value, list):
        for element in value:
            yield from _iter_texts_in_json(element)
