"""Loads the reference data of 2026-11-22: a part at a time, and at last what says that they are all there."""

from typing import Final

from chalicelib.features.reference.entities import ReferenceData, ReferencePart
from chalicelib.features.reference.models.dataset_file import dataset_path, read_dataset
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

VERSION: Final = "2026-11-22"
DATA: Final = dataset_path(VERSION)


def step(position: int, changes: UnitOfWork) -> int | None:
    """Put the part of a position or, behind the last, the heading: readers look for nothing before that names it."""
    packed = read_dataset(DATA)
    parts = packed.numbered_compressed_parts()
    if position < len(parts):
        changes.upsert(ReferencePart.create(VERSION, *parts[position]))
        return position + 1
    changes.upsert(ReferenceData.from_dataset(packed))
    return None
