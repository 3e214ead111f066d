"""Examples of the operations on migrations."""

from typing import Final

from chalicelib.features.admin.migrations.entities import MigrationRecord
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "get_migrations_health": lambda _: example(),
    "get_migrations_status": lambda _: example(),
}


def add_neighbours(_world: World, count: int) -> None:
    """Add applied migrations that this version does not know."""
    put(
        MigrationRecord(
            **common_fields | {"id": f"9{place:03}-a-later-one"},
            description="Do more.",
            checksum="0" * 64,
            state="applied",
            position=None,
            applied_at=common_fields["created_at"],
        )
        for place, common_fields in enumerate(new(count))
    )
