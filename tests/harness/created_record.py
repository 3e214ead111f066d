"""The base class of records that tests create over HTTP."""

from dataclasses import dataclass
from typing import ClassVar

from tests.harness.api import Json


@dataclass(frozen=True)
class CreatedRecord:
    """A record as the response to its creation, or the last read, showed it.

    `collection_path`: the path of the collection, with placeholders for attributes of the fields, such as
    `{organization.path}/webhooks`.
    """

    record: Json

    collection_path: ClassVar[str]

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def path(self) -> str:
        return f"{self.collection_path.format_map(vars(self))}/{self.id}"
