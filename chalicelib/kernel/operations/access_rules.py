"""Access rules: who may call an operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic.alias_generators import to_camel

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.permissions.grants import DescendantMembership
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container, Entity
from chalicelib.kernel.storage.record_types import get_record_type_of_base


class Caller(StrEnum):
    """Who may call an operation that does not belong to a container."""

    PUBLIC = "public"
    PRINCIPAL = "principal"
    USER = "user"
    OPERATOR = "operator"


@dataclass(frozen=True)
class DescendantRule:
    """A type of containers below the one of the request in which the caller can have the required role instead.

    The container is that of the record in the path, or the one in the query. Without either, all containers of the type
    that the caller is a member of are considered. The type of memberships is given by its kind, because its class
    belongs to a feature that may depend on the feature with the rule.
    """

    membership_kind: str

    @property
    def descendant_membership_type(self) -> type[DescendantMembership]:
        """Class of the memberships."""
        return get_record_type_of_base(self.membership_kind, DescendantMembership)

    @property
    def descendant_container_type(self) -> type[Container]:
        """Class of the containers."""
        return self.descendant_membership_type.container_type


@dataclass(frozen=True)
class RequireRole:
    """Callers need a role, or one above it, in a container.

    Without a role, every user may call the operation. The operation itself decides what they see.

    The path contains the container's id or, with `by_slug`, its slug. With `in_body` the body contains the id. With
    `via_record` the path contains the id of a record from which the container is found. `role_at` is the type of the
    ancestor in which the role is required instead.

    `if_published` opens the operation to everybody once the container is published. `public_label` opens it to
    everybody at any time, also without a credential. Its value documents the rule, and the operation itself decides
    what callers see. `restore_body` is the request body that restores a deleted container: with it the owner can access
    the container, which otherwise is *not found*. `allow_descendant_role` names a type of containers further down in
    which the role is sufficient, too. `allow_operators` lets operators of the service call the operation in every
    container as if they had the role.
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
    allow_operators: bool = False

    @property
    def container_or_record_parameter(self) -> str:
        """Path parameter of the container. With `in_body`, only the paths of other operations have it."""
        if self.via_record:
            return self.via_record.parameter
        return "slug" if self.by_slug else self.container_type.parameter

    @property
    def container_id_body_field(self) -> str:
        """Field of the body with the container's id, with `in_body`."""
        return to_camel(self.container_type.parameter)

    @property
    def role_container_type(self) -> type[Container]:
        """Type of the container in which the role is required."""
        return self.role_at or self.container_type

    @property
    def label(self) -> str:
        """The rule in short form, such as `organization:admin`."""
        if self.public_label:
            return self.public_label
        label = f"{self.role_container_type.kind}:{self.role}" if self.role else Caller.USER.value
        label = f"published|{label}" if self.if_published else label
        return f"{label}|{Caller.OPERATOR}" if self.allow_operators else label


@dataclass(frozen=True)
class RequireRecordToken:
    """Callers need a signed token of the record in the path, in the header `header`.

    A credential is neither needed nor considered. Without a record in the path, the token may be omitted. `label`: the
    rule in short form. `verify` returns the id of the token's record, and raises Problem 401 if the token is not valid.
    """

    label: str
    header: str
    verify: Callable[[str], str]

    def verified_record_id_or_none(self, request: Request) -> str | None:
        """Return the id of the record of the request's token, or None without a token. Raises Problem 401."""
        token = request.headers.get(ascii_lower(self.header))
        return None if token is None else self.verify(token.strip())


AccessRule = Caller | RequireRole | RequireRecordToken
