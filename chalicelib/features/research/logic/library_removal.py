"""Remove a library."""

import time
from collections.abc import Iterator
from typing import Final

from chalicelib.features.research.entities import Artefact, ResearchOutput
from chalicelib.features.tenancy.purges.logic import remove_records
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Partition

_BATCH_SIZE: Final = 10


def remove_artefacts_and_outputs(library_id: str, deadline: float) -> bool:
    """Remove the artefacts and outputs of a library, a few per transaction. Return False if time is up."""
    for record_type, partition in _record_types_and_partitions(library_id):
        for items in table.iter_item_pages(partition, limit=_BATCH_SIZE):
            if time.monotonic() > deadline:
                return False
            # The index may list records that are removed already.
            current = table.get_all(record_type.make_item_key(id=item["id"]) for item in items)
            remove_records([record_type.from_item(item) for item in current.values()])
    return True


def _record_types_and_partitions(library_id: str) -> Iterator[tuple[type[Entity], Partition]]:
    yield Artefact, Artefact.in_library.partition(library_id=library_id)
    for list_name in ("shown", "merged"):
        yield ResearchOutput, ResearchOutput.in_library.partition(library_id=library_id, list_name=list_name)
