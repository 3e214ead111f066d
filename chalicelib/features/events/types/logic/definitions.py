"""The definitions of event types, as they were declared, for programs that write, validate and show events."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.features.events.types.entities import TYPE_NAMES_PARTITION, EventType, SchemaVersion, version_key
from chalicelib.kernel.core.event_patterns import is_application_type
from chalicelib.kernel.core.problems import FieldError
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey


class UnknownType(LookupError):
    """No such type is declared. The message is for callers."""


class UnknownVersion(LookupError):
    """The type has no such version. The message is for callers."""


@dataclass(frozen=True)
class Definition:
    """An event type with one version of its schema. `example`: data that the schema accepts, or None."""

    type: str
    version: int
    deprecated: bool
    sentence: str
    schema: Mapping[str, Any]
    schema_digest: str
    example: Mapping[str, Any] | None

    @property
    def cache_key(self) -> tuple[str, int, str]:
        """The key of the compiled schema in caches of the process."""
        return self.type, self.version, self.schema_digest

    def list_errors(self, data: Mapping[str, Any] | None) -> list[FieldError]:
        """Return the errors of the data of an event, with pointers relative to it. Missing data counts as `{}`."""
        from chalicelib.features.events.types.logic.data_validation import list_data_errors

        return list_data_errors(self.cache_key, self.schema, data or {})


def definition_keys(event_type: str, version: int | None) -> list[ItemKey]:
    """Return the keys of the items that define a type: its record and, if one is named, a version of its schema."""
    keys = [EventType.make_item_key(type=event_type)]
    return keys if version is None else [*keys, version_key(event_type, version)]


def find_definition(items: Mapping[ItemKey, Item], event_type: str, version: int | None) -> Definition:
    """Return the definition of a type, with the named or the latest version of its schema.

    `items` contain those at `definition_keys` that exist. Raises UnknownType and UnknownVersion.
    """
    item = items.get(EventType.make_item_key(type=event_type))
    if item is None:
        raise UnknownType(_describe_unknown_type(event_type))
    declared = EventType.from_item(item)
    return find_definition_of_type(declared, items, version)


def _describe_unknown_type(event_type: str) -> str:
    if is_application_type(event_type):
        return f"{event_type!r} is not declared. GET /event-types lists the declared types. Operators declare others."
    return f"{event_type!r} is a built-in type, or reserved for one. Only the service itself writes such events."


def find_definition_of_type(declared: EventType, items: Mapping[ItemKey, Item], version: int | None) -> Definition:
    """Return the definition of a declared type as `find_definition` does. Raises UnknownVersion."""
    source: EventType | SchemaVersion = declared
    if version not in (None, declared.latest_version):
        item = items.get(version_key(declared.type, version or 0))
        if item is None:
            latest = declared.latest_version
            raise UnknownVersion(f"{declared.type!r} has no version {version}. The latest one is {latest}.")
        source = SchemaVersion.from_item(item)
    return Definition(
        type=declared.type,
        version=declared.latest_version if version is None else version,
        deprecated=declared.deprecated,
        sentence=declared.sentence,
        schema=source.data_schema,
        schema_digest=source.schema_digest,
        example=source.example,
    )


def list_declared_type_names() -> list[str]:
    """Return the names of all declared types, in order, with one Query."""
    return [item["sk"] for item in table.query_all(TYPE_NAMES_PARTITION, "")]


def list_declared_types(after_name: str, limit: int) -> tuple[list[EventType], bool]:
    """Return the first types after a name, in the order of their names, and whether they are the last ones.

    It reads an index, which may lag, with one Query.
    """
    key = EventType.make_item_key(type=after_name)
    names = {"pk": key[0], "sk": key[1], "index1pk": "EVENT-TYPES", "index1sk": after_name}
    result = table.query(EventType.by_name.partition(), after=names if after_name else None, limit=limit)
    return [EventType.from_item(item) for item in result.items], result.last_evaluated_key is None
