"""Operations of the API. The decorator, signature and docstring of the function define the contract."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from chalicelib.kernel.http.models import Input, Output, Patch, Query, class_in_annotation_or_none
from chalicelib.kernel.http.principal_ids import principal_id_fields, query_model_with_names
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import MAX_BODY_BYTES
from chalicelib.kernel.operations.access_rules import (
    AccessRule,
    Caller,
    RequireRecordToken,
    RequireRole,
    ServiceKeysToo,
)
from chalicelib.kernel.operations.deprecation import Deprecation
from chalicelib.kernel.operations.inputs import Prefetched
from chalicelib.kernel.operations.link_types import LinkType
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.grants import Membership
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits.buckets import RateLimit, RateLimitBucket, Scope
from chalicelib.kernel.rate_limits.volume_limits import VolumeLimit
from chalicelib.kernel.storage.entity import Container, Entity

CREATED, ACCEPTED, OK, NO_CONTENT = 201, 202, 200, 204


@dataclass(frozen=True)
class Operation:
    """An operation of the API: a method and a path.

    `emits`: the built-in events that it can emit, the usual one first. `reports_events`: whether it commits the events
    that an application reports instead. `collection_path`: the path below which a created record is found, if that is
    not the path of the operation.

    Reads: the parameters of the function are records of the path, and values of further items that are read in the same
    round trip (`Prefetched`). `subject_user_param` is the path parameter, or the field of the path's record, with the
    id of another user whose memberships are loaded, too.

    Access: `allows_api_keys` says whether API keys may call an operation that is open to every user.
    `allows_service_keys` says whether service keys may call an operation that is open to every principal; the policy
    `ServiceKeysToo` admits them in containers. `has_optional_credential` marks operations that are open to everybody,
    but show or allow more with a credential, so that clients send it. `link_types` are the types of signed links whose
    holders may call it for the record of their link, with the rights of the link's creator. `extra_check` runs after
    the access rule with the caller's access, and raises Problem 403 or 404. `grants_access` marks operations that can
    give somebody access, by changing records whose type has `gives_access`. Their transaction fails if the caller's
    rights are revoked, or the container is deleted, between the check and the commit.

    Responses: `existing_status` is the status if the record to create exists already. `created_status` is the status if
    the record to replace did not exist; `Location` then has the URL of the request. `list_metadata` is the model of
    the metadata of a list. `cache_control` is the
    `Cache-Control` header. `alternative` is the advice on what to request instead if a response is too large.

    `has_external_effects` marks operations with effects before the commit, such as sending a message. If a precondition
    fails, these effects do not happen. `rate_limits` limit how often callers can use the operation. `volume_limits`
    limit how much it writes for an organization; its requests then do not count against the quota of requests.
    `max_body_bytes` is the size of a body, and `accepts_form` allows it to be an HTML form. `deprecation` is set before
    an operation is removed.
    """

    group: str
    method: str
    path: str
    function: Callable[..., Any]
    access: AccessRule
    scope: str | None
    emits: tuple[str, ...]
    success: int
    collection_path: str | None = None
    subject_user_param: str = ""
    allows_api_keys: bool = True
    allows_service_keys: bool = False
    link_types: tuple[LinkType, ...] = ()
    has_optional_credential: bool = False
    has_external_effects: bool = False
    existing_status: int | None = None
    created_status: int | None = None
    list_metadata: type[Output] | None = None
    cache_control: str = ""
    rate_limits: tuple[RateLimit, ...] = ()
    volume_limits: tuple[VolumeLimit, ...] = ()
    max_body_bytes: int = MAX_BODY_BYTES
    accepts_form: bool = False
    alternative: str = ""
    extra_check: Callable[[Any, Request], None] | None = None
    grants_access: bool = False
    reports_events: bool = False
    deprecation: Deprecation | None = None

    def rate_limit_buckets(self, subjects: Mapping[Scope, str]) -> list[RateLimitBucket]:
        """Return the buckets in which requests count, for the subjects that are known."""
        limits = [limit for limit in self.rate_limits if limit.per in subjects]
        return [limit.bucket_for(subjects[limit.per]) for limit in limits]

    @property
    def id(self) -> str:
        """The operation id: the function's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return self.docstring.split("\n\n")[0].replace("\n", " ")

    @property
    def docstring(self) -> str:
        """The whole docstring."""
        return inspect.getdoc(self.function) or ""

    @property
    def emits_events(self) -> bool:
        """Whether it emits events. Every operation that can change something does."""
        return bool(self.emits) or self.reports_events

    @property
    def succeeds_with_created_or_accepted(self) -> bool:
        """Whether success means that something was created."""
        return self.success in (CREATED, ACCEPTED)

    @property
    def has_location(self) -> bool:
        """Whether the response names the URL of the created record in `Location`, which the caller can read.

        What an operation reports is in the audit log, which has a scope of its own, and no service key can read it.
        """
        return self.succeeds_with_created_or_accepted and not self.reports_events

    @property
    def supports_if_match(self) -> bool:
        """Whether it supports `If-Match`, as all changes of an existing record or container do.

        A GET changes nothing, although it may emit an event.
        """
        changes = (
            self.emits_events
            and (self.returns_record_in_path or not self.succeeds_with_created_or_accepted)
            and self.method != "GET"
        )
        return changes and bool(self.record_types_by_parameter or isinstance(self.access, RequireRole))

    @property
    def can_create_record_in_path(self) -> bool:
        """Whether it creates the record in its path if that does not exist. It then also supports `If-None-Match`."""
        return self.supports_if_match and bool(self.optional_record_parameters)

    @property
    def requires_body(self) -> bool:
        """Whether a missing body is an error, and not equal to `{}`.

        This applies to a merge patch of the whole record at the path, where a missing body is probably a mistake.
        Memberships are an exception, because their operations may also create the membership.
        """
        is_record_patch = (
            self.body_model is not None and issubclass(self.body_model, Patch) and not self.body_model.part
        )
        changes_membership = any(issubclass(each, Membership) for each in self.record_types_by_parameter.values())
        return is_record_patch and self.path.endswith("}") and not changes_membership

    @property
    def returns_record_in_path(self) -> bool:
        """Whether it returns the record in its path instead of a new one."""
        return self.response_or_item_model is not None and any(
            record.output_model is self.response_or_item_model for record in self.record_types_by_parameter.values()
        )

    @property
    def access_label(self) -> str:
        """The access rule in short form, such as `public`, `user` or `organization:admin`."""
        return self.access.value if isinstance(self.access, Caller) else self.access.label

    @property
    def allows_anonymous(self) -> bool:
        """Whether callers without a credential may call it."""
        if isinstance(self.access, RequireRole):
            return bool(self.access.public_label)
        return self.access is Caller.PUBLIC or isinstance(self.access, RequireRecordToken)

    @property
    def takes_credential(self) -> bool:
        """Whether a caller can have a use for a credential, and clients send one."""
        return not self.allows_anonymous or self.has_optional_credential

    @property
    def is_open_to_api_keys(self) -> bool:
        """Whether API keys may call it, with its scope. Without a scope it has to be open to every principal."""
        return self.access is Caller.PRINCIPAL or (
            self.scope is not None and self.access not in (Caller.USER, Caller.OPERATOR, Caller.LINK)
        )

    @property
    def is_open_to_service_keys(self) -> bool:
        """Whether service keys may call it, if not everybody may. It has to declare that."""
        if isinstance(self.access, RequireRole):
            return isinstance(self.access.policy, ServiceKeysToo)
        return self.allows_service_keys

    @property
    def role_for_general_scopes(self) -> Role:
        """The role that a general scope of an API key has to include: the required one, or else that of a member."""
        return (self.access.role if isinstance(self.access, RequireRole) else None) or Role.MEMBER

    @cached_property
    def path_parameter_names(self) -> tuple[str, ...]:
        """The names in the path, in order."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @cached_property
    def path_parameter_patterns(self) -> Mapping[str, str]:
        """The pattern of each path parameter. Values that do not match are *not found* and never part of a key.

        It is the pattern of the container or record that the parameter identifies, or the one in the function's
        annotation. Raises ValueError if there is none.
        """
        return {name: self._path_parameter_pattern_or_raise(name) for name in self.path_parameter_names}

    def _path_parameter_pattern_or_raise(self, name: str) -> str:
        rule = self.access
        if isinstance(rule, RequireRole) and name == rule.container_or_record_parameter:
            return rule.path_parameter_pattern
        for record in self.record_types_by_parameter.values():
            if record.parameter == name:
                return record.parameter_pattern
        parameter = self._handler_signature.parameters.get(name)
        extras = [
            each.json_schema_extra
            for each in getattr(parameter and parameter.annotation, "__metadata__", ())
            if isinstance(each, FieldInfo)
        ]
        patterns = [str(extra["pattern"]) for extra in extras if isinstance(extra, dict) and "pattern" in extra]
        if not patterns:
            raise ValueError(f"{self.id}: annotate {name} with a type that has a pattern, such as Uuid")
        return patterns[0]

    def has_valid_path_parameters(self, parameters: Mapping[str, str]) -> bool:
        """Return whether each path parameter matches its pattern."""
        return all(re.fullmatch(pattern, parameters[name]) for name, pattern in self.path_parameter_patterns.items())

    @cached_property
    def _handler_signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def _parameter_types_with_base(self, base: type) -> dict[str, type]:
        annotations = {
            name: _annotation_without_none(parameter.annotation)
            for name, parameter in self._handler_signature.parameters.items()
        }
        return {
            name: annotation
            for name, annotation in annotations.items()
            if isinstance(annotation, type) and issubclass(annotation, base)
        }

    @cached_property
    def body_model(self) -> type[Input] | None:
        """The model of the request body, if there is one."""
        return next(iter(self._parameter_types_with_base(Input).values()), None)

    @cached_property
    def query_model(self) -> type[Query] | None:
        """The model of the query, if there is one."""
        declared = next(iter(self._parameter_types_with_base(Query).values()), None)
        return query_model_with_names(declared) if declared and self.can_include_names else declared

    @cached_property
    def record_types_by_parameter(self) -> Mapping[str, type[Entity]]:
        """Types of the records in the path, without the container, by the function's parameter."""
        return {
            name: entity
            for name, entity in self._parameter_types_with_base(Entity).items()
            if name != self.handler_container_parameter_name
        }

    @cached_property
    def prefetched_types_by_parameter(self) -> Mapping[str, type[Prefetched]]:
        """Types of the values that are prefetched, by the function's parameter."""
        return self._parameter_types_with_base(Prefetched)

    @cached_property
    def optional_record_parameters(self) -> frozenset[str]:
        """Parameters of records that may be missing. They are None then."""
        return frozenset(
            name
            for name in self.record_types_by_parameter
            if not isinstance(self._handler_signature.parameters[name].annotation, type)
        )

    @cached_property
    def handler_container_parameter_name(self) -> str | None:
        """The function's parameter for the container, if it has one."""
        if not isinstance(self.access, RequireRole):
            return None
        return next(
            (
                name
                for name, entity in self._parameter_types_with_base(Container).items()
                if entity is self.access.container_type
            ),
            None,
        )

    @cached_property
    def text_path_parameters(self) -> tuple[str, ...]:
        """The path parameters that the function takes as strings."""
        return tuple(name for name in self.path_parameter_names if name in self._handler_signature.parameters)

    @cached_property
    def response_or_item_model(self) -> type[Output] | None:
        """The model of the response or, for a list, of its items; None if there is none."""
        return class_in_annotation_or_none(self._handler_signature.return_annotation, Output)

    @cached_property
    def is_list(self) -> bool:
        """Whether it returns a page of a list."""
        return get_origin(self._handler_signature.return_annotation) is ListPage

    @property
    def can_include_names(self) -> bool:
        """Whether callers can request names for the ids in the items: in lists of what belongs to an organization."""
        model = self.response_or_item_model
        is_in_organization = self.is_list and isinstance(self.access, RequireRole)
        return is_in_organization and model is not None and bool(principal_id_fields(model))

    @property
    def has_list_etag(self) -> bool:
        """Whether its pages have entity tags, so that clients that poll get 304 while nothing has changed."""
        return self.is_list and self.method == "GET"


def _annotation_without_none(annotation: Any) -> Any:
    """Return the type of an annotation such as `T | None` without None."""
    return next((kind for kind in get_args(annotation) if kind is not NoneType), annotation)
