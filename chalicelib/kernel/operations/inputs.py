"""The validated input of an operation, and the values that operations prefetch with it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http import query_handling, validation
from chalicelib.kernel.http.measured_fields import MeasuredRecord
from chalicelib.kernel.http.models import Input, Output, Query
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.storage.entity import Item, ItemKey

if TYPE_CHECKING:
    from chalicelib.kernel.operations.operation import Operation


@dataclass(frozen=True)
class RequestInput:
    """The query and the body of a request. Both are validated when they are needed, a valid query only once."""

    operation: "Operation"
    request: Request

    @property
    def unknown_query_parameters(self) -> list[str]:
        """The names of query parameters that the operation does not have."""
        operation = self.operation
        return validation.unknown_query_parameters(operation.query_model, operation.body_model, self.request)

    @cached_property
    def query(self) -> Query:
        """The query. Raises ValidationProblem."""
        is_strict = query_handling.has_strict_handling(self.request)
        rejected_names = self.unknown_query_parameters if is_strict else ()
        return validation.validate_query(self.operation.query_model or Query, self.request, rejected_names)

    def known_values(self, parameters: Mapping[str, str], user: User | None) -> "KnownValues":
        """Return the values from which operations derive what they prefetch."""
        query = None
        with suppress(Problem):
            query = self.query
        return KnownValues(self.operation, self.request, parameters, query, user)

    def validated_body(self, public_record: Mapping[str, Any] | None, measured: MeasuredRecord | None = None) -> Input:
        """Return the body. A merge patch applies to a record as the caller sees it, which is None for other bodies.

        `measured`: the record as responses show it, if they show more than the record.

        Raises Problem as `validation.validate_body` does.
        """
        operation = self.operation
        return validation.validate_body(
            operation.body_model,
            self.request,
            public_record,
            accepts_form=operation.accepts_form,
            is_required=operation.requires_body,
            max_bytes=operation.max_body_bytes,
            measured=measured,
        )


@dataclass(frozen=True)
class KnownValues:
    """The values of a request that are known before anything is read.

    `parameters`: those of the path, with the ids of the container and its ancestors if they are known. `query`: the
    query, or None if it is not valid. `user`: the caller, if it is a user.
    """

    operation: "Operation"
    request: Request
    parameters: Mapping[str, str]
    query: Any
    user: User | None

    def body_field_or_none(self, name: str) -> Any:
        """Return a field of the body as `validation.valid_field_or_none` does, or None without a body."""
        model = self.operation.body_model
        return validation.valid_field_or_none(model, name, self.request) if model else None


@dataclass(frozen=True)
class Prefetched(ABC):
    """What a handler receives besides the records of the path. It is read with the items that decide about access.

    Subclasses have properties for it. `keys`: those that `derive_keys` returned. `items`: everything that was read to
    authorize the request. Nothing is prefetched for a request whose query is not valid.
    """

    values: KnownValues
    keys: Sequence[ItemKey]
    items: Mapping[ItemKey, Item]

    @classmethod
    @abstractmethod
    def derive_keys(cls, values: KnownValues) -> Iterable[ItemKey]:
        """Return the keys of the items to read. A field of the body that is not valid is None."""

    @property
    def first_item_or_none(self) -> Item | None:
        """The item at the first of the keys that has one."""
        return next((self.items[key] for key in self.keys if key in self.items), None)


class Measurement(Prefetched):
    """What responses show of the record in the path in addition to its own fields. It changes without a new version."""

    @abstractmethod
    def describe(self, record: Any) -> Output:
        """Return the record as responses show it."""
