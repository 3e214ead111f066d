"""The text of chat messages about application events: the declared sentence of their type, with names and data. No I/O.

All of the text is chosen by others: the sentence by an operator, and names and data by an application. So the caller
escapes the whole text, not only the names in it.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.events.types.logic.sentences import render_sentence
from chalicelib.features.notifications.channels.logic.display_names import UNKNOWN_TARGET, clean_name, principal_name

MAX_TEXT_CHARACTERS: Final = 580
"""Maximum characters of a text. A section of Slack has 3,000 characters, of which `&` takes five when it is escaped."""

_MAX_VALUE_CHARACTERS: Final = 120
"""Maximum characters of a name or of a value of the data in a text."""

_MISSING_VALUE: Final = "—"


def build_application_text(entry: Mapping[str, Any], declared_sentence: str | None) -> str:
    """Return the text about an application event, in one line.

    A text that is too long ends with `…`. The text is generic if no sentence is declared, if the text would be empty,
    or if it would be cut before it has said who the actor is, and who reported what an asserted actor did.
    """
    if declared_sentence is not None:
        text = clean_name(_render(declared_sentence, entry), MAX_TEXT_CHARACTERS)
        if text and ("{actor}" not in declared_sentence or _actor_name(entry) in text):
            return text
    about = f" about {_target_name(entry)}" if entry["target"] else ""
    return f"{_actor_name(entry)} caused the event {entry['type']}{about}."


def _render(sentence: str, entry: Mapping[str, Any]) -> str:
    values = {"actor": _actor_name(entry), "target": _target_name(entry)}
    data = entry["data"] or {}

    def value_of(name: str) -> str:
        return values[name] if name in values else _display_value(data.get(name.removeprefix("data.")))

    return render_sentence(sentence, value_of)


def _actor_name(entry: Mapping[str, Any]) -> str:
    """Return the name of the actor. One that the application asserts is followed by who reported the event."""
    actor = entry["actor"]
    if not actor.get("asserted"):
        return principal_name(actor, _MAX_VALUE_CHARACTERS)
    reporter = principal_name(entry["reportedBy"], _MAX_VALUE_CHARACTERS, begins_sentence=False)
    return f"{_reference_name(actor)} (reported by {reporter})"


def _target_name(entry: Mapping[str, Any]) -> str:
    return _reference_name(entry["target"]) if entry["target"] else UNKNOWN_TARGET


def _reference_name(reference: Mapping[str, Any]) -> str:
    name = clean_name(reference["name"] or "", _MAX_VALUE_CHARACTERS)
    return name or clean_name(f"{reference['type']} {reference['id']}", _MAX_VALUE_CHARACTERS)


def _display_value(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else to_json(value).decode()
    return clean_name(text, _MAX_VALUE_CHARACTERS) or _MISSING_VALUE
