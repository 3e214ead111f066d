"""Comparison of a record with an entry about it. No I/O."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from string import Formatter
from typing import Annotated, Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from chalicelib.kernel.audit_log.entries import value_or_digest_if_long
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.storage.entity import RECORD_FIELDS, Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.key_templates import fields_of
from chalicelib.kernel.storage.log_rules import EntryContent

_INVALID: Final = object()
_CONTAINER_PARTITION: Final = re.compile(r"[OPSW]#[^#]+")
_CONTAINER_SORT_KEY: Final = "#"


def find_differing_fields(record: Entity, data: Mapping[str, Any]) -> list[str]:
    """Return the public fields whose stored values differ from those in an entry, by their public names.

    Records without a public form have none.
    """
    if not record.output_model:
        return []
    names = [*_compared_field_names(type(record)), *(name for name in RECORD_FIELDS if to_camel(name) in data)]
    return [
        to_camel(name)
        for name in names
        if (in_entry := _name_in_entries(type(record), name)) in data
        and not json_equal(_public_value(record, name), data[in_entry])
    ]


def list_hidden_fields(record_type: type[Entity]) -> list[str]:
    """Return the authenticated fields that no entry contains, by their names in camel case."""
    compared = _compared_field_names(record_type) if record_type.log_rules.has_entries else ()
    return [to_camel(name) for name in record_type.authenticated_fields() if name not in compared]


def is_related(entry: EntryContent, record: Entity) -> bool:
    """Return whether an entry and a record name the same id, apart from the organization."""
    ids = {entry["target"]["id"], *_iter_ids(entry["data"])} - {entry["organizationId"]}
    values = (getattr(record, name) for name in record.stored_fields)
    return any(
        isinstance(each, str) and each in ids
        for value in values
        for each in (value if isinstance(value, list) else (value,))
    )


def _iter_ids(value: Any) -> Iterator[str]:
    """Yield the ids in the public form of a record."""
    for name, member in value.items() if isinstance(value, Mapping) else ():
        if isinstance(member, str) and (name == "id" or name.endswith("Id")):
            yield member
        for each in member if isinstance(member, list) else (member,):
            yield from _iter_ids(each)


def list_texts(entry: EntryContent) -> dict[str, str]:
    """Return the texts in the data of an entry, by the names of the record's fields."""
    return {to_snake(name): value for name, value in (entry["data"] or {}).items() if isinstance(value, str)}


def field_values_in_key(record_type: type[Entity], key: ItemKey) -> dict[str, str]:
    """Return the values of the fields in the key of a record, by name."""
    match = key_pattern(f"{record_type.pk}\n{record_type.sk}").fullmatch("\n".join(key))
    return match.groupdict() if match else {}


def copied_record_key_or_none(record_type: type[Entity], copy: Item) -> ItemKey | None:
    """Return the key of the record that a derived item is a copy of; None if it is no copy of such a record."""
    prefix, match = record_type.log_rules.copy_sk_prefix, key_pattern(record_type.pk).fullmatch(copy["pk"])
    is_copy = bool(prefix) and match is not None and copy["sk"].startswith(prefix)
    return record_type.make_item_key(**match.groupdict(), id=str(copy.get("id"))) if match and is_copy else None


@cache
def key_pattern(template: str) -> re.Pattern[str]:
    """Return a pattern of the keys that a template describes, with a group for each field."""
    pattern, names = "", set[str]()
    for text, name, *_ in Formatter().parse(template):
        group = "[^#\n]+" if name in names else f"(?P<{name}>[^#\n]+)"
        pattern += re.escape(text) + (group if name else "")
        names.add(name or "")
    return re.compile(pattern)


def record_key_or_none(record_type: type[Entity], entry: EntryContent) -> ItemKey | None:
    """Return the item key of the record that an entry is about; None if the entry lacks a field of it."""
    values = list_texts(entry) | {"id": entry["target"]["id"], "organization_id": entry["organizationId"]}
    if record_type.id_field != "id" or "id" not in fields_of(record_type.pk + record_type.sk):
        values = {record_type.parameter: entry["target"]["id"], **values}
    return record_type.make_item_key(**values) if record_type.has_key_fields(values) else None


def id_in_key(record_type: type[Entity], key: ItemKey) -> str:
    """Return the id of a record, as its key contains it: in the sort key or, if that is constant, in the partition."""
    template, value = (record_type.sk, key[1]) if fields_of(record_type.sk) else (record_type.pk, key[0])
    return value.removeprefix(template.partition("{")[0])


def container_key_or_none(record_type: type[Entity], key: ItemKey, entry: EntryContent) -> ItemKey | None:
    """Return the item key of the container of a record, or of the parent of a container. `entry` is about the record.

    An organization has none.
    """
    if issubclass(record_type, Container):
        parent_type = record_type.parent_type
        parent_id = entry["data"].get(to_camel(parent_type.parameter)) if parent_type else None
        return parent_type.make_item_key(id=parent_id) if parent_type and parent_id else None
    match = _CONTAINER_PARTITION.match(key[0])
    return (match[0], _CONTAINER_SORT_KEY) if match else None


def _compared_field_names(record_type: type[Entity]) -> Iterable[str]:
    """Return the stored fields that entries contain and that do not change without an entry."""
    stored = {*record_type.stored_fields} - {*record_type.unauthenticated_fields, *RECORD_FIELDS}
    return [name for name in getattr(record_type.output_model, "model_fields", ()) if name in stored]


def _name_in_entries(record_type: type[Entity], name: str) -> str:
    """Return the name of a field in entries: the name in camel case, unless the response model gives it another one."""
    return record_type.output_model.model_fields[name].serialization_alias or to_camel(name)


def _public_value(record: Entity, name: str) -> Any:
    """Return a stored field as the entry contains it."""
    adapter = _field_adapter(type(record).output_model, name)
    try:
        value = adapter.validate_python(getattr(record, name), from_attributes=True)
    except ValidationError:  # Somebody stored a value that the service would not store.
        return _INVALID
    return value_or_digest_if_long(adapter.dump_python(value, mode="json", by_alias=True))


@cache
def _field_adapter(model: Any, name: str) -> TypeAdapter[Any]:
    field = model.model_fields[name]
    annotation: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    return TypeAdapter(annotation)
