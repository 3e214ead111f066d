"""Records that tests create over HTTP, with and without methods that send requests about them."""

from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any, ClassVar

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller


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


@dataclass(frozen=True)
class RecordClient(CreatedRecord):
    """A record and requests to its path or to paths below it. `caller` sends those that name no other caller."""

    api: ApiClient = field(kw_only=True, repr=False)
    caller: Caller = field(kw_only=True)

    def request(self, method: str, path: str = "", json: Any = None, **options: Any) -> ApiResponse:
        """Send a request, with the options of `ApiClient.request`."""
        return self.api.request(method, f"{self.path}{path}", json=json, **{"caller": self.caller, **options})

    get = partialmethod(request, "GET")
    post = partialmethod(request, "POST")
    put = partialmethod(request, "PUT")
    patch = partialmethod(request, "PATCH")
    delete = partialmethod(request, "DELETE")

    def get_items(self, path: str = "", **options: Any) -> list[Json]:
        return self.api.get_items(f"{self.path}{path}", **{"caller": self.caller, **options})

    def read(self) -> Json:
        return self.get().expect(200).json

    def update(self, **fields: Any) -> Json:
        return self.patch("", fields).expect(200).json
