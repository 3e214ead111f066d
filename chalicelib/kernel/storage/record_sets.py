"""Small sets of records of a container that are read, replaced and logged together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic_core import to_json

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import RECORD_FIELDS, Container, Entity


class RecordSet(Entity):
    """A set of a container's records as the subject of a log entry about its change.

    The set itself is not stored, only its records. There are at most `max_items` with a total of `max_bytes`, so one
    query reads them. The set has the id of the container, and the container's version, which every change of the set
    raises. `items`: the public records.
    """

    max_items: ClassVar[int] = 40
    max_bytes: ClassVar[int] = 256 * 1024
    advice: ClassVar[str] = "Remove one first."
    """Advice for the problem `limit_exceeded`."""
    item_key_field: ClassVar[str]
    """Public field that is unique among the items."""

    organization_id: str
    name: str
    items: tuple[Any, ...]

    @classmethod
    def from_container_and_records(cls, container: Container, records: Iterable[Any]) -> Self:
        """Return the set of records of a container."""
        record_fields = {name: getattr(container, name) for name in RECORD_FIELDS}
        return cls(
            **record_fields,
            organization_id=container.audit_log_id,
            name=container.audit_log_label,
            items=tuple(records),
        )

    def flattened_items_for_diff(self, public_view: Mapping[str, Any]) -> dict[str, Any]:
        """Return a field for each item of the public set and one for their order. Log entries then show each change."""
        items = {str(item[self.item_key_field]): item for item in public_view["items"]}
        return {"items": [*items], **{f"items.{key}": item for key, item in items.items()}}

    @classmethod
    def reject_too_many_or_large_records(cls, records: Sequence[Entity]) -> None:
        """Raise Problem `limit_exceeded` if the records exceed the limits of the set."""
        noun = cls.kind.rpartition(".")[2].replace("_", " ")
        if len(records) > cls.max_items:
            raise Problem("limit_exceeded", f"At most {cls.max_items} {noun} are allowed. {cls.advice}")
        size = sum(len(to_json(record.domain_fields)) for record in records)
        if size > cls.max_bytes:
            detail = f"The {noun} with their settings would take {size} bytes. At most {cls.max_bytes} are allowed."
            raise Problem("limit_exceeded", f"{detail} Shorten some settings first.")
