"""The sentences of event types: text with placeholders, which chat messages replace."""

import re
from collections.abc import Callable, Collection
from typing import Final

from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names

_PLACEHOLDER: Final = re.compile(r"\{(actor|target|data\.[^{}]+)\}")
_BRACED_OR_BRACE: Final = re.compile(r"\{[^{}]*\}|[{}]")
_DATA: Final = "data."


def render_sentence(sentence: str, value_of: Callable[[str], str]) -> str:
    """Return a sentence with its placeholders replaced, in one pass, so that values are never replaced again.

    `value_of` returns the text for the name of a placeholder: `actor`, `target`, or a property such as `data.amount`.
    """
    return _PLACEHOLDER.sub(lambda placeholder: value_of(placeholder[1]), sentence)


def list_sentence_errors(sentence: str, property_names: Collection[str]) -> list[str]:
    """Return what is wrong with the placeholders of a sentence. `property_names`: the properties of the data."""
    known = ["actor", "target", *(f"{_DATA}{name}" for name in property_names)]
    found = dict.fromkeys(_BRACED_OR_BRACE.findall(sentence))
    return [_describe_unknown(each, known) for each in found if each[1:-1] not in known]


def _describe_unknown(text: str, known_names: Collection[str]) -> str:
    name = text[1:-1]
    if not name:
        return f"{text!r} is no placeholder. A sentence contains braces only around the name of a placeholder."
    detail = (
        f"{text!r} names no property in `properties` of the schema."
        if name.startswith(_DATA)
        else f"{text!r} is no placeholder. Use {{actor}}, {{target}}, or a property of the data: {{data.amount}}."
    )
    return " ".join(filter(None, (detail, ask_whether_meant(find_nearest_names(name, known_names)))))
