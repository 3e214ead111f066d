"""Docstrings of generated code, from the descriptions of the OpenAPI document."""

import re
import textwrap
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.entrypoints.openapi.python_names import python_name

_WIDTH: Final = 120
_STEP: Final = 4


def docstring(text: str, depth: int = 1, arguments: dict[str, str] | None = None) -> str:
    """Return the docstring of a class or a method at a depth of indentation, with its arguments in Google's style."""
    indent = " " * _STEP * depth
    paragraphs = [_wrap(each, indent, indent) for each in _paragraphs(text)]
    if arguments:
        lines = [_wrap(f"{name}: {each}", f"{indent}    ", f"{indent}        ") for name, each in arguments.items()]
        paragraphs.append("\n".join([f"{indent}Args:", *lines]))
    body = "\n\n".join(paragraphs).strip()
    end = f"\n{indent}" if "\n" in body or len(indent) + len(body) + 6 > _WIDTH else ""
    return f'{indent}{_quote(body)}{end}"""'


def attribute_docstring(text: str) -> str:
    """Return the docstring of a field, which editors show."""
    return docstring(" ".join(text.split()))


def describe(schema: Mapping[str, Any], description: str | None = None) -> str:
    """Return the description of a schema, in which the names of fields are those of Python."""
    text = schema.get("description", "") if description is None else description
    values = schema.get("enum", ())
    return re.sub(
        r"`([a-z]+[A-Z]\w*)`", lambda name: name[0] if name[1] in values else f"`{python_name(name[1])}`", text
    )


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.split("\n\n")]


def _wrap(text: str, first: str, next_: str) -> str:
    # A line can also have both quotation marks.
    return textwrap.fill(text, _WIDTH - 6, initial_indent=first, subsequent_indent=next_, break_long_words=False)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = f'{escaped[:-1]}\\"'
    return f'"""{escaped}'
