"""Entries that name a person whom only an application knows, by the type and id of an actor of its events."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic_core import from_json

from chalicelib.features.audit.exports.entities import list_id_filters_naming
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, is_valid_at_claimed_sequence
from chalicelib.kernel.audit_log.application_events import is_application_entry_item, is_application_event
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.crypto.merkle import leaf_hash

TypeVersion = tuple[str, int]
"""An event type and a version of its schema."""

ListPersonalValues = Callable[[Mapping[str, Any]], Iterable[Any]]
"""Returns the values in the `data` of an event that the schema of its type marks as personal data."""

LoadPersonalValues = Callable[[Collection[TypeVersion]], Mapping[TypeVersion, ListPersonalValues]]
"""Loads the schemas of event types. A version that does not exist is absent in the result."""


@dataclass(frozen=True)
class NamedActor:
    """A person by type and id, which are compared exactly, and the log in which the person is searched."""

    log_id: str
    type: str
    id: str

    def iter_decisions(
        self, entries: Sequence[StoredEntry], load_personal_values: LoadPersonalValues
    ) -> Iterator[bool]:
        """Yield for each entry whether it names the person: as actor, as a target, or in personal data.

        The schemas of event types are loaded and evaluated only for entries whose data contains the id. An entry of an
        export counts if its filters name the id. An altered entry counts if its text contains the id.
        """
        contents: list[Any] = [self._content_or_text(entry) if self._contains_id(entry) else None for entry in entries]
        decisions = [content is not None and self._is_named_or_none(content) for content in contents]
        undecided = {
            (content["type"], content["version"])
            for content, is_named in zip(contents, decisions, strict=True)
            if is_named is None
        }
        personal_values = load_personal_values(undecided) if undecided else {}
        for content, is_named in zip(contents, decisions, strict=True):
            if is_named is None:
                list_values = personal_values.get((content["type"], content["version"]), _list_all)
                yield self._occurs_in(list_values(content["data"]))
            else:
                yield is_named

    def _contains_id(self, entry: StoredEntry) -> bool:
        # The filters of exports, which are in entries of built-in events, are in lower case.
        texts = self._ids_in_canonical_json[: 1 if is_application_entry_item(entry.item) else 2]
        return isinstance(entry.body, bytes) and any(each in entry.body for each in texts)

    def _is_named_or_none(self, content: Mapping[str, Any] | str) -> bool | None:
        """Return whether a content names the person, or None if the schema of its type has to decide."""
        if isinstance(content, str):
            return self._id_pattern.search(content) is not None
        if not is_application_event(content):
            filters = (content["data"] or {}).get("filters")
            return isinstance(filters, dict) and bool(list_id_filters_naming(filters, [self.id]))
        if self._is_actor_or_target(content):
            return True
        return None if self._occurs_in([content["data"]]) else False

    def _occurs_in(self, values: Iterable[Any]) -> bool:
        """Return whether a text, a number or the name of a member in JSON values contains the id as a whole word."""
        return any(self._id_pattern.search(text) for value in values for text in _iter_texts(value))

    def _is_actor_or_target(self, content: Mapping[str, Any]) -> bool:
        references = [content["actor"], content["reportedBy"], *content["targets"]]
        return any((each["type"], each["id"]) == (self.type, self.id) for each in references)

    def _content_or_text(self, entry: StoredEntry) -> Any:
        """Return the content of a genuine entry, or the text of one that was altered, whose structure is unknown."""
        body = entry.body if isinstance(entry.body, bytes) else b""
        is_pending = logs.is_authentic_pending_entry(self.log_id, entry.item) and entry.item["leaf"] == leaf_hash(body)
        is_genuine = is_pending or is_valid_at_claimed_sequence(self.log_id, entry)
        return from_json(body) if is_genuine else body.decode(errors="replace")

    @cached_property
    def _ids_in_canonical_json(self) -> list[bytes]:
        """The id, and the id in lower case."""
        return [json.dumps(each, ensure_ascii=False)[1:-1].encode() for each in (self.id, ascii_lower(self.id))]

    @cached_property
    def _id_pattern(self) -> re.Pattern[str]:
        """The id as a whole word, so that `17` is found in `no. 17`, but not in `170`, `a17` and `17-b`."""
        return re.compile(rf"(?<!\w)(?<!\w-){re.escape(self.id)}(?!\w)(?!-\w)")


def _list_all(data: Mapping[str, Any]) -> list[Any]:
    return [data]


def _iter_texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value, also the names of members."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield name
            yield from _iter_texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from _iter_texts(element)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
