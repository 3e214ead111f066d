"""Results of an operation's function other than a model: a page of a list, a redirect, or a raw response."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chalicelib.kernel.http.models import Output
from chalicelib.kernel.http.principal_ids import PrincipalNames

T = TypeVar("T")


@dataclass(frozen=True)
class RawResponse:
    """A response that is not JSON, such as a page, a script or a file.

    `body` is the text, or a function that returns it. `tag` is the entity tag, if it is known.
    """

    body: str | Callable[[], str]
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""

    @property
    def text(self) -> str:
        """Text of the body."""
        return self.body if isinstance(self.body, str) else self.body()


@dataclass(frozen=True)
class ErrorDocument(RawResponse):
    """A response that reports an error to a person instead of a program. It has no entity tag."""

    status: int = 404


@dataclass(frozen=True)
class Redirect:
    """A redirect to `location`: an absolute path of the service, or a URL of another host.

    With `is_of_other_host`, a path belongs to the host for which a proxy or CDN sends the request.
    """

    location: str
    status: int = 301
    is_of_other_host: bool = False


@dataclass(frozen=True)
class ListPage(Generic[T]):
    """One page of a list, and the cursor of the next page, if there is one.

    Items that are bytes are JSON, and sent as they are. `metadata` is sent in addition to the items by operations that
    declare `list_metadata`. `names`: names of users and API keys whose ids are in the items, if they were requested.
    """

    items: list[T] | list[bytes]
    next_cursor: str | None
    metadata: Output | None = None
    names: PrincipalNames | None = None


@dataclass(frozen=True)
class SerializedOutput(Generic[T]):
    """A response of a model whose JSON exists already, and is sent as it is."""

    body: bytes
