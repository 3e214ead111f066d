"""Ids of users and API keys in responses, for which lists can show names."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, create_model

from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.http.models import Output, Query


class _PrincipalIdMarker:
    """Marks the type of a field that contains the id of a user or API key."""


PRINCIPAL_ID: Final = _PrincipalIdMarker()
"""Annotation of a field with the id of a user or API key."""

UserId = Annotated[Uuid, PRINCIPAL_ID]
"""Id of a user in a response. Lists in an organization can show the user's name."""

PrincipalId = Annotated[str, PRINCIPAL_ID]
"""Id of a user or API key in a response. Lists in an organization can show the name."""


class PrincipalNameOut(Output):
    """The name of a user or API key whose id occurs in the items of a list.

    Show it instead of the id. It is the current name, which can differ from the one at the time of an action.
    """

    type: Literal["user", "api_key"] = Field(examples=["user"])
    name: str | None = Field(description="Null if the user's token contained no name.", examples=["Ada Lovelace"])
    username: str | None = Field(description="Null for an API key, and if the token contained none.", examples=["ada"])


PrincipalNames = Mapping[str, PrincipalNameOut]
"""Names by the id of the user or API key."""


class NamesQuery(Query):
    """The query parameter by which a list shows names for the ids in its items."""

    include: Literal["names"] | None = Field(
        None,
        description="`names` adds the names of the organization's members and API keys whose ids are in the items, "
        "by id. Ids of others are omitted, such as those of former members.",
        examples=[None],
    )


@cache
def principal_id_fields(model: type[Output]) -> tuple[str, ...]:
    """Return the fields of a model that contain ids of users or API keys."""
    return tuple(
        name
        for name, field in model.model_fields.items()
        if PRINCIPAL_ID in field.metadata or _is_marked(field.annotation)
    )


@cache
def query_model_with_names(query_model: type[Query]) -> type[Query]:
    """Return a query model with the parameter `include` in addition."""
    name = f"{query_model.__name__}WithNames"
    return create_model(name, __base__=(query_model, NamesQuery), __doc__=query_model.__doc__)


def _is_marked(annotation: Any) -> bool:
    """Return whether a type, or a member of a union such as `PrincipalId | None`, has the marker."""
    return annotation is PRINCIPAL_ID or any(map(_is_marked, get_args(annotation)))
