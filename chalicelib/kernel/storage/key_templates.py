"""Templates of keys: format strings with the fields of a record."""

from collections.abc import Mapping
from functools import cache
from string import Formatter
from typing import Any


def render_or_none(template: str, values: Mapping[str, Any]) -> str | None:
    """Return the template with the values of its fields inserted, or None if a value is missing."""
    if any(values.get(name) is None for name in fields_of(template)):
        return None
    return template.format_map(values)


@cache
def fields_of(template: str) -> tuple[str, ...]:
    """Return the fields of a template, in order."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


def render_prefix(template: str, values: Mapping[str, Any]) -> str:
    """Return the beginning of a template with the values of its fields inserted, up to the first field without one."""
    first_unknown = next((name for name in fields_of(template) if name not in values), None)
    return (template.partition(f"{{{first_unknown}")[0] if first_unknown else template).format_map(values)
