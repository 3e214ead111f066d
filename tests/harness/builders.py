"""The base class of records that tests create over HTTP."""

from dataclasses import dataclass
from typing import ClassVar

from tests.harness.api import Json


@dataclass(frozen=True)
class Made:
    """A record as the response to its creation, or the last read, showed it.

    `listed_at`: the path of the collection, with placeholders for attributes of the fields, such as
    `{organization.path}/webhooks`.
    """

    record: Json

    listed_at: ClassVar[str]

    @property
    def id(self) -> str:
        """The id of the record."""
        return str(self.record["id"])

    @property
    def path(self) -> str:
        """The path of the record."""
        return f"{self.listed_at.format_map(vars(self))}/{self.id}"
