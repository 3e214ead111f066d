"""The migrations in the order in which they are applied. An applied migration must not change: add another one.

A migration is a module of `steps`. Its `step(position, changes)` performs the step at a position, 0 for the first, by
adding to the unit of work. It returns the position of the next step, or None at the end. A step is committed together
with its position, and is repeated if that fails. `DATA`, if the module has it, is a file that it loads.
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
    """A migration. `checksum` is the checksum of its module and its data, which a test verifies."""

    id: str
    description: str
    checksum: str
    module: str

    def add_step_writes_and_return_next(self, position: int, changes: UnitOfWork) -> int | None:
        """Perform a step, and return the position of the next, or None."""
        step: Step = import_module(self.module).step
        return step(position, changes)

    def compute_checksum(self) -> str:
        """Return the SHA-256 of the module's text and its data."""
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
    Migration(
        id="0002-invitations-by-address",
        description="List pending invitations by the invited address.",
        checksum="4f7963faedc525009841a7f25b4cc8aea87079ed69640ee2bb91ce361f252144",
        module="chalicelib.features.admin.migrations.logic.steps.list_invitations_by_address",
    ),
    Migration(
        id="0003-organizations-by-name",
        description="List organizations by name and slug, for operators.",
        checksum="453ec2b45b9328c318d0045ca25bd69bcd7c1af691b5abafca0eb2ada996b334",
        module="chalicelib.features.admin.migrations.logic.steps.list_organizations",
    ),
    Migration(
        id="0004-records-by-name",
        description="List members, platforms, sites and leads by name.",
        checksum="0ff30dca796b32d457140de6a3ef4734fc7921b3dde1993fdaa0dc1767d6778a",
        module="chalicelib.features.admin.migrations.logic.steps.list_records_by_name",
    ),
)
