"""Operation: one thing a caller can ask for. Its decorator, its function's signature and docstring are its contract."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import NoneType
from typing import Any, Final, Generic, TypeVar, get_args, get_origin

from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import SLUG_PATTERN
from chalicelib.kernel.http.models import Input, Output, Query
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.grants import DescendantMembership
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.rate_limits.buckets import RateLimit, Scope
from chalicelib.kernel.storage.entity import Container, Entity, ItemKey
from chalicelib.kernel.storage.record_types import record_subtype

_EVENT: Final = re.compile(r"[a-z_]+(\.[a-z_]+)+")
_SCOPE: Final = re.compile(r"[a-z-]+:(read|write)")
T = TypeVar("T")

_CREATED, _ACCEPTED, _OK, _NO_CONTENT = 201, 202, 200, 204


class Caller(StrEnum):
    """Who may call an operation that is not done at a place."""

    PUBLIC = "public"
    PRINCIPAL = "principal"
    USER = "user"
    OPERATOR = "operator"


@dataclass(frozen=True)
class DescendantRule:
    """A kind of container below the one of the request where the role may be held instead.

    It applies to records of such a container. The record in the path says which container, or the query does;
    otherwise it is every one that the caller is a member of. The kind of membership is given by its name, because its
    class belongs to a feature that may depend on the one with the rule.
    """

    membership_kind: str

    @property
    def membership_type(self) -> type[DescendantMembership]:
        """Class of the memberships."""
        return record_subtype(self.membership_kind, DescendantMembership)

    @property
    def container_type(self) -> type[Container]:
        """Class of the containers."""
        return self.membership_type.container_type


@dataclass(frozen=True)
class RequireRole:
    """Who may call an operation that is done at a place: those with the role, or one above it, there.

    Without a role any user may, and the operation says who; the place itself is there for everyone then. The path names
    the place, by its id or, with `by_slug`, its slug; or the body does, with `in_body`; or, with `through`, the path
    names a record in it by an id that leads to the place. `above`: the kind of place above it where the role has to be
    held. `published`: whether everybody may, once the place is published. `everyone`: the word for anybody at all who
    may, published or not, where the operation says what they see; without a credential too. `reopened_by`: what the
    owner's request has to say to reach the place although it waits for its purge; to everything else it isn't there.
    `or_below`: where else the role may be held.
    """

    container_type: type[Container]
    role: Role | None
    by_slug: bool = False
    in_body: bool = False
    via_record: type[Entity] | None = None
    role_at: type[Container] | None = None
    if_published: bool = False
    public_label: str = ""
    restore_body: Mapping[str, str] = field(default_factory=dict)
    allow_descendant_role: DescendantRule | None = None

    @property
    def parameter(self) -> str:
        """The path parameter that names the place or, with `in_body`, the one that would."""
        if self.via_record:
            return self.via_record.parameter
        return "slug" if self.by_slug else self.container_type.parameter

    @property
    def field(self) -> str:
        """The field that names the place, with `in_body`."""
        return to_camel(self.container_type.parameter)

    @property
    def role_scope(self) -> type[Container]:
        """The kind of place where the role has to be held."""
        return self.role_at or self.container_type

    @property
    def label(self) -> str:
        """Who may, in one word."""
        if self.public_label:
            return self.public_label
        word = f"{self.role_scope.kind}:{self.role}" if self.role else Caller.USER.value
        return f"published|{word}" if self.if_published else word


@dataclass(frozen=True)
class RequireRecordToken:
    """Who may call an operation about one record: whoever carries a signed token of it, in a header of its own.

    A credential adds nothing to that. What the path names is there only for the token that names it; where the path
    names nothing, the token may be left out. `access`: who may, in one word. `named`: returns the id of what a token
    names, and raises Problem 401 if it does not hold.
    """

    label: str
    header: str
    verify: Callable[[str], str]

    def token_subject(self, request: Request) -> str | None:
        """Return the id that the request's token names, if it carries one. Raises Problem 401."""
        token = request.headers.get(ascii_lower(self.header))
        return None if token is None else self.verify(token.strip())


AccessRule = Caller | RequireRole | RequireRecordToken


@dataclass(frozen=True)
class RawResponse:
    """A page, a script or a file: `body` is its text, or what returns it; `tag` is its entity tag, if it is known."""

    body: str | Callable[[], str]
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""

    @property
    def text(self) -> str:
        """Its text."""
        return self.body if isinstance(self.body, str) else self.body()


@dataclass(frozen=True)
class Redirect:
    """A redirect to `location`, an absolute path of the service or an address elsewhere."""

    location: str
    status: int = 301


@dataclass(frozen=True)
class ListPage(Generic[T]):
    """One page of a list, and the cursor of the next, if there is one. Items of bytes are sent as they are.

    `beside`: what stands beside the items, in an answer of an operation that says so.
    """

    items: list[T] | list[bytes]
    next_cursor: str | None
    metadata: Output | None = None


@dataclass(frozen=True)
class Operation:
    """An operation of the interface. `emits` lists the events it can emit, the usual one first.

    `listed_at`: the path below which what it makes is found, unless that is its own. `also`: where records stand
    that the request names beside its path, to be read in the same round trip as what decides access (the ids of its
    place are among its parameters, as far as they are known by then); `of_caller` says so of what follows from who
    calls, if that is a user. `whose`: the path parameter, or the field of the path's record, that holds the id of
    another user, whose standing is loaded too. `keys`: whether API keys are let in where everyone is.
    `irrevocable`: whether it does something before the commit, such as sending a message: a condition that does not
    hold keeps it from that. `again`: the status of an answer if what it would make is there already. `beside`: what a
    list tells beside its items; `tagged`: whether a page of it has an entity tag. `kept`: the
    `Cache-Control` of its answers. `budgets`: how often it may be asked for, by whom. `form`:
    whether its body may be an HTML form as well. `admits`: what else decides
    whether a caller is let in whom `needs` lets in: it gets their access, and raises Problem 403 or 404. `instead`:
    what to ask for where its answer is too large to be sent. `grants_access`: whether it can leave access behind, by
    changing records of a kind that `gives_access`: its transaction fails if the caller's rights end, or the place
    closes, between their check and the commit.
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
    prefetch: Callable[[Request], Iterable[ItemKey]] | None = None
    prefetch_for_user: Callable[[Request, User], Iterable[ItemKey]] | None = None
    subject_user_param: str = ""
    allows_api_keys: bool = True
    has_external_effects: bool = False
    existing_status: int | None = None
    list_metadata: type[Output] | None = None
    has_etag: bool = False
    cache_control: str = ""
    rate_limits: tuple[RateLimit, ...] = ()
    accepts_form: bool = False
    alternative: str = ""
    extra_check: Callable[[Any, Request], None] | None = None
    grants_access: bool = False

    def rate_limits_per(self, scope: Scope) -> list[RateLimit]:
        """Return its limits of one scope."""
        return [budget for budget in self.rate_limits if budget.per == scope]

    @property
    def id(self) -> str:
        """The operation id: the function's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return self.description.split("\n\n")[0].replace("\n", " ")

    @property
    def description(self) -> str:
        """The whole docstring."""
        return inspect.getdoc(self.function) or ""

    @property
    def mutates(self) -> bool:
        """Whether it can change anything."""
        return bool(self.emits)

    @property
    def creates(self) -> bool:
        """Whether success means that something new was made, and `Location` says where."""
        return self.success in (_CREATED, _ACCEPTED)

    @property
    def is_conditional(self) -> bool:
        """Whether it honours `If-Match`: every change of a record, or of a place, that is there already.

        A GET is no change, though it may emit that it was made.
        """
        changes = self.mutates and (self.returns_target or not self.creates) and self.method != "GET"
        return changes and bool(self.records or isinstance(self.access, RequireRole))

    @property
    def returns_target(self) -> bool:
        """Whether it answers a record that its path names: then nothing is new but what it says of that."""
        return self.response_model is not None and any(
            record.output_model is self.response_model for record in self.records.values()
        )

    @property
    def access_label(self) -> str:
        """Who may call it, in one word, such as `public`, `user` or `organization:admin`."""
        return self.access.value if isinstance(self.access, Caller) else self.access.label

    @property
    def allows_anonymous(self) -> bool:
        """Whether anybody at all may call it, without a credential too."""
        if isinstance(self.access, RequireRole):
            return bool(self.access.public_label)
        return self.access is Caller.PUBLIC or isinstance(self.access, RequireRecordToken)

    @cached_property
    def path_parameters(self) -> tuple[str, ...]:
        """The names in the path, in order."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @cached_property
    def path_patterns(self) -> Mapping[str, str]:
        """The pattern of each path parameter. What does not match names nothing, and gets into no key.

        It is that of the place or record which the parameter names, or the one that the function's annotation says.
        Raises ValueError if there is none.
        """
        return {name: self._path_pattern(name) for name in self.path_parameters}

    def _path_pattern(self, name: str) -> str:
        needs = self.access
        if isinstance(needs, RequireRole) and name == needs.parameter:
            return SLUG_PATTERN if needs.by_slug else (needs.via_record or needs.container_type).parameter_pattern
        for record in self.records.values():
            if record.parameter == name:
                return record.parameter_pattern
        parameter = self._signature.parameters.get(name)
        said = [
            each.json_schema_extra
            for each in getattr(parameter and parameter.annotation, "__metadata__", ())
            if isinstance(each, FieldInfo)
        ]
        patterns = [str(extra["pattern"]) for extra in said if isinstance(extra, dict) and "pattern" in extra]
        if not patterns:
            raise ValueError(f"{self.id}: annotate {name} with a type that has a pattern, such as Uuid")
        return patterns[0]

    def is_addressable(self, parameters: Mapping[str, str]) -> bool:
        """Return whether each path parameter has a value that can name something."""
        return all(re.fullmatch(pattern, parameters[name]) for name, pattern in self.path_patterns.items())

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def _annotated(self, base: type) -> dict[str, type]:
        named = {name: _without_none(p.annotation) for name, p in self._signature.parameters.items()}
        return {name: kind for name, kind in named.items() if isinstance(kind, type) and issubclass(kind, base)}

    @cached_property
    def body(self) -> type[Input] | None:
        """The model of the request body, if it takes one."""
        return next(iter(self._annotated(Input).values()), None)

    @cached_property
    def query(self) -> type[Query] | None:
        """The model of the query, if it takes one."""
        return next(iter(self._annotated(Query).values()), None)

    @cached_property
    def records(self) -> Mapping[str, type[Entity]]:
        """The records that the path names, the place aside, by the parameter that takes each."""
        return {name: entity for name, entity in self._annotated(Entity).items() if name != self.container_argument}

    @cached_property
    def optional_records(self) -> frozenset[str]:
        """Those of the records that may be missing: their parameters take None then."""
        return frozenset(n for n in self.records if not isinstance(self._signature.parameters[n].annotation, type))

    @cached_property
    def container_argument(self) -> str | None:
        """The parameter that takes the place the operation is done at."""
        if not isinstance(self.access, RequireRole):
            return None
        return next(
            (n for n, entity in self._annotated(Container).items() if entity is self.access.container_type), None
        )

    @cached_property
    def plain_arguments(self) -> tuple[str, ...]:
        """The path parameters that the function takes as they are."""
        return tuple(name for name in self.path_parameters if name in self._signature.parameters)

    @cached_property
    def response_model(self) -> type[Output] | None:
        """The model of the answer or, for a list, of its items; None if it answers no record."""
        annotation = self._signature.return_annotation
        alternatives = [annotation, *get_args(annotation)]
        return next((a for a in alternatives if isinstance(a, type) and issubclass(a, Output)), None)

    @cached_property
    def is_list(self) -> bool:
        """Whether it answers a page of a list."""
        return get_origin(self._signature.return_annotation) is ListPage


def _without_none(annotation: Any) -> Any:
    """Return what an annotation stands for if it is not None."""
    return next((kind for kind in get_args(annotation) if kind is not NoneType), annotation)


@dataclass(frozen=True)
class RouteGroup:
    """The operations of one group of the interface; its methods declare them.

    `scope_areas` are the areas of scopes that the feature introduces.
    """

    name: str
    operations: list[Operation] = field(default_factory=list)
    scope_areas: tuple[ScopeArea, ...] = ()

    def get(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Declare a read."""
        return self._declare("GET", path, _OK, **options)

    def post(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Declare a creation (201), or with `success=` an action (200, 202, 204)."""
        return self._declare("POST", path, options.pop("success", _CREATED), **options)

    def patch(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Declare a change by JSON Merge Patch (RFC 7396)."""
        return self._declare("PATCH", path, _OK, **options)

    def put(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Declare a replacement."""
        return self._declare("PUT", path, _OK, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Declare a removal."""
        return self._declare("DELETE", path, _NO_CONTENT, **options)

    def _declare(
        self,
        method: str,
        path: str,
        success: int,
        *,
        access: AccessRule,
        scope: str | None,
        emits: str | tuple[str, ...] | None,
        **options: Any,
    ) -> Callable[[Callable[..., Any]], Operation]:
        # None of the three has a default: a forgotten permission or event fails at import.
        events = (emits,) if isinstance(emits, str) else emits or ()
        for word, grammar in [(event, _EVENT) for event in events] + ([(scope, _SCOPE)] if scope else []):
            if not grammar.fullmatch(word):
                raise ValueError(f"{method} {path}: {word!r} is not well-formed")

        def declare(function: Callable[..., Any]) -> Operation:
            operation = Operation(self.name, method, path, function, access, scope, events, success, **options)
            self.operations.append(operation)
            return operation

        return declare
