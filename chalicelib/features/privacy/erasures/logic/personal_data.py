"""The fields of application events that the schemas of their types mark as personal data."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from chalicelib.features.events.types.logic.definitions import (
    Definition,
    UnknownType,
    UnknownVersion,
    definition_keys,
    find_definition,
)
from chalicelib.features.privacy.erasures.logic.named_actors import ListPersonalValues, TypeVersion
from chalicelib.kernel.storage import table

PERSONAL_DATA_KEYWORD: Final = "x-personal-data"
"""The keyword of a schema that marks what it describes as personal data, if its value is true.

JSON Schema (2020-12, section 6.5) treats unknown keywords as annotations. An evaluation collects those of all
subschemas that apply to a value.
"""


def load_personal_values(type_versions: Collection[TypeVersion]) -> Mapping[TypeVersion, ListPersonalValues]:
    """Load the schemas of versions of event types, and return the functions that list the values marked as personal.

    Versions that are not declared are absent in the result.
    """
    items = table.get_all({key for each in type_versions for key in definition_keys(*each)})
    result: dict[TypeVersion, ListPersonalValues] = {}
    for event_type, version in type_versions:
        with suppress(UnknownType, UnknownVersion):
            result[event_type, version] = _compile_schema(find_definition(items, event_type, version))
    return result


def _compile_schema(definition: Definition) -> ListPersonalValues:
    import jsonschema_rs

    validator = jsonschema_rs.Draft202012Validator({**definition.schema})

    def iter_marked_values(data: Mapping[str, Any]) -> Iterator[Any]:
        for each in validator.evaluate(data).annotations():
            annotations = each["annotations"]
            if isinstance(annotations, dict) and annotations.get(PERSONAL_DATA_KEYWORD) is True:
                yield _value_at(data, each["instanceLocation"])

    return iter_marked_values


def _value_at(data: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer (RFC 6901)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data
