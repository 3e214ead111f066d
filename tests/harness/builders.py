"""What tests make over HTTP: a record as the answer showed it, and where it is found."""

from dataclasses import dataclass
from typing import ClassVar

from tests.harness.api import Json


@dataclass(frozen=True)
class Made:
    """Something as it was when it was made, or last looked at. `listed_at`: the path below which all of its kind are.

    What stands there in braces is said by the fields.
    """

    record: Json

    listed_at: ClassVar[str]

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.record["id"])

    @property
    def path(self) -> str:
        """Where it is found; what belongs to it is below."""
        return f"{self.listed_at.format_map(vars(self))}/{self.id}"
