"""Examples of the operations on migrations."""

from typing import Final

from chalicelib.features.admin.migrations.entities import MigrationRecord
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "get_migrations_health": lambda _: example(),
    "get_migrations_status": lambda _: example(),
}


def crowd(_world: World, number: int) -> None:
    """Let so many migrations have been applied by code of another day."""
    put(
        MigrationRecord(
            **begun | {"id": f"9{place:03}-a-later-one"},
            description="Do more.",
            checksum="0" * 64,
            state="applied",
            position=None,
            applied_at=begun["created_at"],
        )
        for place, begun in enumerate(new(number))
    )
