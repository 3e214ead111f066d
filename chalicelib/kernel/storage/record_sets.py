"""Sets: a few records of a place that are read, replaced and told of together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic_core import to_json

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import RECORD_FIELDS, Container, Entity


class RecordSet(Entity):
    """A set of records of a place as one: what an entry is about that tells how the set has changed.

    It is not stored: its records are, each by itself, `most` of them and `most_bytes` in all, so that one Query reads
    them. It has the id of the place, and its version, which each change of them raises. `items`: as they are shown.
    """

    most: ClassVar[int] = 40
    most_bytes: ClassVar[int] = 256 * 1024
    advice: ClassVar[str] = "Remove one first."
    """What to do to have another."""
    keyed_by: ClassVar[str]
    """The field of an item, as callers see it, that no two of them have in common."""

    organization_id: str
    name: str
    items: tuple[Any, ...]

    @classmethod
    def of(cls, place: Container, items: Iterable[Any]) -> Self:
        """Return the whole of some records of a place."""
        about = {name: getattr(place, name) for name in RECORD_FIELDS}
        return cls(**about, organization_id=place.log, name=place.log_label, items=tuple(items))

    def diffable(self, public: Mapping[str, Any]) -> dict[str, Any]:
        """Return the public whole item by item, and which there are in which order: so an entry tells what changed."""
        items = {str(item[self.keyed_by]): item for item in public["items"]}
        return {"items": [*items], **{f"items.{key}": item for key, item in items.items()}}

    @classmethod
    def check_size(cls, records: Sequence[Entity]) -> None:
        """Raise Problem `limit_exceeded` if these are more than the set may hold."""
        noun = cls.kind.rpartition(".")[2].replace("_", " ")
        if len(records) > cls.most:
            raise Problem("limit_exceeded", f"At most {cls.most} {noun} are allowed. {cls.advice}")
        size = sum(len(to_json(record.domain_fields)) for record in records)
        if size > cls.most_bytes:
            detail = f"The {noun} and their settings would take {size} bytes in all, and {cls.most_bytes} are allowed."
            raise Problem("limit_exceeded", f"{detail} Shorten some settings first.")
