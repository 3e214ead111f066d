"""The stored reference data: the current version, and the parts of its sets of records."""

from typing import Any, Self

from chalicelib.features.reference.models.dataset_file import Dataset
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS


def version_day_start_timestamp(version: str) -> str:
    """Return the timestamp that callers see on the records of a version: the beginning of its day."""
    return f"{version}T00:00:00.000Z"


class ReferenceData(Entity):
    """The current version of the reference data. `sets` maps the name of each set of records to its number of parts."""

    kind, pk, sk = "reference_data", "DATA", "#"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption

    sources: list[Any]
    years: list[int]
    sets: dict[str, int]

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Self:
        """Return the record of a dataset whose parts are stored."""
        parts = dataset.numbered_compressed_parts()
        sets = {name: sum(part[0] == name for part in parts) for name in dataset.sets}
        heading, timestamp = dataset.heading, version_day_start_timestamp(dataset.heading["version"])
        return cls(
            id=heading["version"],
            created_at=timestamp,
            updated_at=timestamp,
            sources=heading["sources"],
            years=heading["years"],
            sets=sets,
        )

    def part_ids(self, set_name: str) -> list[str]:
        """Return the ids of the parts of a set in order."""
        return [part_id(self.id, set_name, number) for number in range(self.sets[set_name])]


class ReferencePart(Entity):
    """A part of a set of reference data, in a partition of its own so that parts are read in parallel."""

    kind, pk, sk = "reference_data.part", "DATA#{id}", "#"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption

    content: bytes

    @classmethod
    def create(cls, version: str, set_name: str, part_number: int, content: bytes) -> Self:
        """Return a part of a set."""
        timestamp = version_day_start_timestamp(version)
        return cls(
            id=part_id(version, set_name, part_number), created_at=timestamp, updated_at=timestamp, content=content
        )


def part_id(version: str, set_name: str, part_number: int) -> str:
    """Return the id of a part of a set."""
    return f"{version}.{set_name}.{part_number}"
