"""The base classes of generated models and resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, WrapValidator, field_validator

if TYPE_CHECKING:
    from pydantic import ValidationInfo, ValidatorFunctionWrapHandler

    from atrium_client._requests import AsyncRequests, Requests


def _to_json_name(name: str) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(each.capitalize() for each in others)


def _keep_unexpected(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return value


KEEP_UNEXPECTED = WrapValidator(_keep_unexpected)
"""Keeps a value that has none of the types of a union, such as a kind of block that is newer than this client."""


class Model(BaseModel):
    """A record of the API. Fields have the names of the API in snake case.

    A newer service may send further fields and values. They are kept as they are, so they do not break a program. Only
    a record without a required field is rejected.
    """

    model_config = ConfigDict(
        alias_generator=_to_json_name,
        defer_build=True,
        extra="allow",
        protected_namespaces=(),
        validate_by_alias=True,
        validate_by_name=True,
    )

    _tag: ClassVar[str | None] = None
    """The field that tells this model from the others of a union, which therefore has to have its value."""
    _etag: str | None = PrivateAttr(default=None)

    @property
    def etag(self) -> str | None:
        """The ETag of the record as it was read, for `if_match`. None for a record inside of another one."""
        return self._etag

    @field_validator("*", mode="wrap")
    @classmethod
    def _keep_unexpected_value(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if info.field_name is not None and info.field_name == cls._tag:
            return handler(value)
        try:
            return handler(value)
        except ValidationError as error:
            if all(each["type"] == "missing" for each in error.errors()):
                raise
            return value


class Resource:
    """A group of operations."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests


class AsyncResource:
    """A group of operations, for asynchronous programs."""

    def __init__(self, requests: AsyncRequests) -> None:
        self._requests = requests
