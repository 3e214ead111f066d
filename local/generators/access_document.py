"""Generates `docs/permissions.md`: who may call each operation, and what roles and scopes include."""

from collections import defaultdict
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Final, cast

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.authorization.memberships import role_in_container
from chalicelib.kernel.operations.access_rules import (
    Caller,
    OperatorsToo,
    OwnerRestores,
    RequireRecordToken,
    RequireRole,
    RoleInDescendant,
    ServiceKeysToo,
)
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import (
    GENERAL_SCOPES,
    Role,
    all_scopes,
    expand_scopes,
    role_of_general_scopes_or_member,
    scopes_allow,
)
from chalicelib.kernel.permissions.scope_areas import scope_areas
from chalicelib.kernel.storage.entity import Container
from local.generators.markdown import code, table

_HEAD: Final = """\
# Permissions

Who may call each operation. `make generate` derives this page from the declarations of the operations and from the
rules of the kernel, which also decide about each request. [Concepts](concepts.md) explains the records.

A caller has one of these credentials:

- **A user's token.** What the user may do depends on their [role](#roles) in an organization, a platform or a space.
- **An API key** of an organization. What it may do depends on its [scopes](#scopes), and only within its organization.
- **A service key** of the deployment, which operators create for your own back end. It writes and reads application
  events in all organizations, within its scopes and event types. Every other operation refuses it with 403
  `insufficient_scope`, except those that are open to everybody and `get_me`.
- **A signed link**, which an admin creates for somebody without an account. For an hour its holder may call the
  operations that say so, for the record of the link, with the rights of the admin.
- **None.** Only the operations with "everybody" accept such requests, and those that take the token of a record in a
  header.

Operators are users whose token has the group that the setting `AUTH_OPERATOR_GROUP` names (`operators`, unless you
change it). They see the service as a whole, and have no rights in organizations of which they are not members. A caller
who has no part in an organization gets 404 for everything in it that is not published.
"""

_ROLES_INTRO: Final = """\
## Roles

Each role includes the roles before it. Nobody can grant a role above their own.
"""

_PARENT_INTRO: Final = """
A platform belongs to an organization, and a space to a platform. A role in the outer one gives a role in the inner one:
"""

_SITES_NOTE: Final = """
Sites have no members of their own: the role in their organization applies. A role that is given in a platform or a
space applies there and in what is below it, never above it.
"""

_SCOPES_INTRO: Final = """\
## Scopes

An API key has one or more scopes. `read`, `write` and `admin` are general scopes, which follow the roles of users:
`read` allows reading what the role `member` may read, `write` allows what the role `editor` may do, and `admin` allows
what the role `admin` may do. The other scopes apply to one area, whatever role its operations require of users. So an
operation that requires the role `admin`, such as those of webhooks and of the audit log, needs `admin` or the scope of
its area. No scope allows what only the owner may do.
"""

_AREAS_INTRO: Final = """
Each area has the scope `…:read`, and most have the scope `…:write`, which includes it:
"""

_OPERATIONS_INTRO: Final = """\
## Operations

"Who" is the lowest role of a user and where they need it; higher roles may do the same. "API key" lists the scopes of
which one is enough. Scopes that include one of them are enough, too, so `admin` is enough in each row with a scope.
"Refused" means that the operation is only for users, and "not needed" that it needs no credential. A service key may
call an operation if "Who" says so. It needs the scope of the operation's area.
"""

_CALLERS: Final = {
    Caller.PUBLIC: "everybody",
    Caller.PRINCIPAL: "every user, for what they can see",
    Caller.USER: "every user",
    Caller.OPERATOR: "operators",
    Caller.LINK: "the holder of a signed link",
}


def access_page() -> str:
    """Return the page."""
    return f"{_HEAD}\n{_roles_section()}\n{_scopes_section()}\n{_operations_section()}"


def _roles_section() -> str:
    own = [
        (code(role), ", ".join(code(each) for each in Role if role.includes(each)), _count_requiring(role))
        for role in Role
    ]
    inherited = [
        (code(parent) if parent else "none", *(_inherited_role(parent, is_private=each) for each in (False, True)))
        for parent in (None, *Role)
    ]
    columns = ("Role in the organization or platform", "In a platform, or an open space", "In a private space")
    own_table = table(("Role", "Includes", "Operations that require it"), own)
    return f"{_ROLES_INTRO}\n{own_table}\n{_PARENT_INTRO}\n{table(columns, inherited)}\n{_SITES_NOTE}"


def _count_requiring(role: Role) -> str:
    rules = [operation.access for operation in all_operations()]
    return str(sum(isinstance(rule, RequireRole) and rule.role is role for rule in rules))


def _inherited_role(parent_role: Role | None, *, is_private: bool) -> str:
    """Return the role in a container without a membership there, and what a membership there adds."""
    container = cast("Container", SimpleNamespace(parent_type=Container, is_private=is_private))
    inherited = role_in_container(container, None, parent_role)
    with_memberships = {role_in_container(container, own, parent_role) for own in Role if own != Role.OWNER}
    if with_memberships == {inherited}:
        return code(inherited or "")
    return f"{code(inherited) if inherited else 'none'}, or that of their membership there"


def _scopes_section() -> str:
    general = [
        (code(scope), _included_scopes(scope), code(role_of_general_scopes_or_member([scope])), _count_allowed(scope))
        for scope in GENERAL_SCOPES
    ]
    areas = [(code(scope), _operation_ids(scope)) for area in scope_areas() for scope in area.scopes]
    return "\n".join(
        (
            _SCOPES_INTRO,
            table(("Scope", "Includes", "Acts as", "Operations"), general),
            _AREAS_INTRO,
            table(("Scope", "Operations that it allows, in addition to those of the scopes that it includes"), areas),
            "",
        )
    )


def _included_scopes(scope: str) -> str:
    if expand_scopes([scope]) == set(all_scopes()):
        return "every scope"
    return ", ".join(code(each) for each in all_scopes() if each in expand_scopes([scope]))


def _count_allowed(scope: str) -> str:
    return str(sum(_allows(scope, operation) for operation in all_operations()))


def _operation_ids(scope: str) -> str:
    return ", ".join(code(operation.id) for operation in all_operations() if operation.scope == scope)


def _allows(scope: str, operation: Operation) -> bool:
    """Return whether an API key with only this scope may call an operation."""
    return operation.scope is not None and scopes_allow([scope], operation.scope, operation.role_for_general_scopes)


def sufficient_scopes(operation: Operation) -> list[str]:
    """Return the scopes of which one is enough for an operation, without those that include another one of them."""
    allowing = [scope for scope in all_scopes() if _allows(scope, operation)]
    return [scope for scope in allowing if not (expand_scopes([scope]) - {scope}) & {*allowing}]


def _scopes_text(operation: Operation) -> str:
    if operation.scope is None and operation.is_open_to_api_keys:
        return "no scope needed"
    if operation.scope is None:
        return "not needed" if operation.allows_anonymous and operation.allows_api_keys else "refused"
    return ", ".join(map(code, sufficient_scopes(operation)))


def _operations_section() -> str:
    by_feature: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in all_operations():
        by_feature[_feature_title(operation)].append(operation)
    return "\n".join((_OPERATIONS_INTRO, *(_feature_table(title, each) for title, each in by_feature.items())))


def _feature_title(operation: Operation) -> str:
    """Return the context and the feature that define an operation, such as `Organizations: API keys`."""
    _, layer, *names = operation.function.__module__.removesuffix(".operations").split(".")
    context, *feature = (name.replace("_", " ").replace("api ", "API ") for name in names)
    title = {"tenancy": "organizations"}.get(context, context).capitalize()
    return f"{title}: {feature[0]}" if layer == "features" and feature else title


def _feature_table(title: str, operations: Iterable[Operation]) -> str:
    rows = [(code(o.id), code(f"{o.method} {o.path}"), who_may_call(o), _scopes_text(o)) for o in operations]
    return f"### {title}\n\n{table(('Operation', 'Request', 'Who', 'API key'), rows)}\n"


def who_may_call(operation: Operation) -> str:
    """Return the lowest role that may call an operation, and where, such as `admin` of the organization."""
    rule = operation.access
    if isinstance(rule, Caller):
        text = _CALLERS[rule]
        return f"{text}, as its description states" if operation.extra_check else text
    if isinstance(rule, RequireRecordToken):
        return f"whoever has the token of the record, in the header `{rule.header}`"
    return f"{_role_text(rule)}{'; the holder of a signed link' if operation.link_types else ''}"


def _role_text(rule: RequireRole) -> str:
    if rule.public_label:
        return "everybody" if rule.public_label == Caller.PUBLIC else "everybody with the link"
    if rule.role is None:
        return "every user, as its description states"
    role = f"{code(rule.role)} of the {rule.role_container_type.kind}"
    match rule.policy:
        case RoleInDescendant(container_type=container_type):
            role += f", or of the {container_type.kind} that it concerns"
        case OwnerRestores():
            role += f"; only the {code(Role.OWNER)} restores it"
        case OperatorsToo():
            role += "; operators in every organization"
        case ServiceKeysToo():
            role += "; service keys in every organization"
    return f"everybody once it is published, before that {role}" if rule.if_published else role
