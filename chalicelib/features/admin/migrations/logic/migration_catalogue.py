"""The migrations, in the order in which they are applied. One that was applied somewhere is never changed: add another.

A migration is a module of `steps`. Its `step(position, changes)` does what begins at a position (the first is 0) by
adding to changes, and returns the position of the next, or None at the end. A step may be done again if it wasn't
committed; it is committed together with its position. `DATA`, if the module has it, is the file that it brings.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

Step = Callable[[int, UnitOfWork], int | None]


@dataclass(frozen=True)
class Migration:
    """One migration. `checksum`: that of its module and its data, which a test compares."""

    id: str
    description: str
    checksum: str
    module: str

    def step(self, position: int, changes: UnitOfWork) -> int | None:
        """Do a step, and return where the next begins, or None."""
        step: Step = import_module(self.module).step
        return step(position, changes)

    def computed(self) -> str:
        """Return the SHA-256 of what it does: of its module's text and of its data."""
        module = import_module(self.module)
        digest = hashlib.sha256(Path(str(module.__file__)).read_bytes())
        digest.update(data.read_bytes() if (data := getattr(module, "DATA", None)) else b"")
        return digest.hexdigest()


MIGRATIONS: Final = (
    Migration(
        id="0001-reference-data",
        description="Load countries, currencies, languages, time zones and cities.",
        checksum="6b045f7f9db9857ffb50fc9a04620cd097480d902430c6a9baa70d64a56f0704",
        module="chalicelib.features.admin.migrations.logic.steps.load_reference_data",
    ),
)
