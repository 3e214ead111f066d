"""Access rules: who may call an operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from pydantic.alias_generators import to_camel

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import SLUG_PATTERN
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
    LINK = "signed-link"


class ContainerReference(Enum):
    """How a request names its container: by its id or slug in the path, or by its id in the body."""

    PATH_ID = auto()
    PATH_SLUG = auto()
    BODY_ID = auto()


@dataclass(frozen=True)
class OfRecord:
    """The container is that of a record, whose id is in the path."""

    record_type: type[Entity]


ContainerLocation = ContainerReference | OfRecord


@dataclass(frozen=True)
class OwnerRestores:
    """The owner can access a deleted container with the body that restores it. Otherwise it is *not found*."""

    body: Mapping[str, str]


@dataclass(frozen=True)
class OperatorsToo:
    """Operators of the service can call the operation in every container as if they had the role."""


@dataclass(frozen=True)
class ServiceKeysToo:
    """Service keys with the operation's scope can call the operation in every container as if they had the role."""


@dataclass(frozen=True)
class RoleInDescendant:
    """The role is also sufficient in a container of another type below the one of the request.

    That container is the one of the record in the path, or the one in the query. Without either, all containers of the
    type that the caller is a member of are considered. The type of memberships is given by its kind, because its class
    belongs to a feature that may depend on the feature with the rule.
    """

    membership_kind: str

    @property
    def membership_type(self) -> type[DescendantMembership]:
        """Class of the memberships."""
        return get_record_type_of_base(self.membership_kind, DescendantMembership)

    @property
    def container_type(self) -> type[Container]:
        """Class of the containers."""
        return self.membership_type.container_type


AccessPolicy = OwnerRestores | OperatorsToo | ServiceKeysToo | RoleInDescendant
"""An exception to an access rule, which admits further callers."""


@dataclass(frozen=True)
class RequireRole:
    """Callers need a role, or one above it, in a container.

    Without a role, every user may call the operation. The operation itself decides what they see.

    `role_at` is the type of the ancestor in which the role is required instead. `if_published` opens the operation to
    everybody once the container is published. `public_label` opens it to everybody at any time, also without a
    credential. Its value documents the rule, and the operation itself decides what callers see.
    """

    container_type: type[Container]
    role: Role | None
    location: ContainerLocation = ContainerReference.PATH_ID
    role_at: type[Container] | None = None
    if_published: bool = False
    public_label: str = ""
    policy: AccessPolicy | None = None

    @property
    def container_or_record_parameter(self) -> str:
        """Path parameter of the container. If the body names it, only the paths of other operations have it."""
        return "slug" if self.location is ContainerReference.PATH_SLUG else self._type_in_path.parameter

    @property
    def container_id_body_field(self) -> str:
        """Field of the body with the container's id, if the body names it."""
        return to_camel(self.container_type.parameter)

    @property
    def path_parameter_pattern(self) -> str:
        """Pattern of the path parameter of the container."""
        return SLUG_PATTERN if self.location is ContainerReference.PATH_SLUG else self._type_in_path.parameter_pattern

    @property
    def _type_in_path(self) -> type[Entity]:
        return self.location.record_type if isinstance(self.location, OfRecord) else self.container_type

    @property
    def role_container_type(self) -> type[Container]:
        """Type of the container in which the role is required."""
        return self.role_at or self.container_type

    def is_sufficient(self, role: Role | None) -> bool:
        """Return whether a role, or None for no role, is sufficient where the role is required."""
        return self.role is None or (role is not None and role.includes(self.role))

    @property
    def label(self) -> str:
        """The rule in short form, such as `organization:admin`."""
        if self.public_label:
            return self.public_label
        label = f"{self.role_container_type.kind}:{self.role}" if self.role else Caller.USER.value
        label = f"published|{label}" if self.if_published else label
        match self.policy:
            case OperatorsToo():
                return f"{label}|{Caller.OPERATOR}"
            case ServiceKeysToo():
                return f"{label}|service-key"
        return label


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
