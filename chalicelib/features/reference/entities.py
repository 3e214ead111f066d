"""What is stored of reference data: what they are, and the parts of their sets."""

from typing import Any, Self

from chalicelib.features.reference.packed import Packed
from chalicelib.kernel.storage.entity import Entity


def made_at(version: str) -> str:
    """Return the moment that the records of a version were made at, for callers: the beginning of its day."""
    return f"{version}T00:00:00.000Z"


class ReferenceData(Entity):
    """The version of reference data that holds. `sets`: each of them, and in how many parts it stands."""

    kind, pk, sk = "reference_data", "DATA", "#"

    sources: list[Any]
    years: list[int]
    sets: dict[str, int]

    @classmethod
    def of(cls, packed: Packed) -> Self:
        """Return what stands in the table for a file that is there part by part."""
        parts = packed.parts()
        sets = {name: sum(part[0] == name for part in parts) for name in packed.sets}
        said, moment = packed.heading, made_at(packed.heading["version"])
        return cls(
            id=said["version"],
            created_at=moment,
            updated_at=moment,
            sources=said["sources"],
            years=said["years"],
            sets=sets,
        )

    def part_ids(self, name: str) -> list[str]:
        """Return the ids of the parts of a set, in order."""
        return [part_id(self.id, name, number) for number in range(self.sets[name])]


class ReferencePart(Entity):
    """A part of a set of reference data. Each stands in a partition of its own: a new process reads several at once."""

    kind, pk, sk = "reference_data.part", "DATA#{id}", "#"

    content: bytes

    @classmethod
    def of(cls, version: str, name: str, number: int, content: bytes) -> Self:
        """Return a part of a set."""
        moment = made_at(version)
        return cls(id=part_id(version, name, number), created_at=moment, updated_at=moment, content=content)


def part_id(version: str, name: str, number: int) -> str:
    """Return what a part is called."""
    return f"{version}.{name}.{number}"
