"""The removal of a library, with all that leads to what is in it."""

import time
from collections.abc import Iterator
from typing import Final

from chalicelib.features.research.entities import Artefact, ResearchOutput
from chalicelib.features.tenancy.purges.logic import remove_records
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Partition

_AT_ONCE: Final = 10


def clear_library(library_id: str, until: float) -> bool:
    """Remove the artefacts and outputs of a library, a few a transaction; False if the time is over."""
    for kind, partition in _rooms(library_id):
        for items in table.iter_pages(partition, limit=_AT_ONCE):
            if time.monotonic() > until:
                return False
            # The index may show what is gone already.
            there = table.get_all(kind.make_item_key(id=item["id"]) for item in items)
            remove_records([kind.from_item(item) for item in there.values()])
    return True


def _rooms(library_id: str) -> Iterator[tuple[type[Entity], Partition]]:
    yield Artefact, Artefact.in_library.partition(library_id=library_id)
    for shelf in ("shown", "merged"):
        yield ResearchOutput, ResearchOutput.in_library.partition(library_id=library_id, shelf=shelf)
