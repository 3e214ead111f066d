"""Which types of callers can perform an operation at all."""

from typing import Final

from chalicelib.kernel.core.problems import Problem, unauthenticated
from chalicelib.kernel.identity.auth import (
    Anonymous,
    UnverifiedCaller,
    UnverifiedCredential,
    credential_item_keys,
    verify_caller,
)
from chalicelib.kernel.identity.signed_links import LINK_TOKEN_HEADER, LinkHolder
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.grants import ServiceCredential
from chalicelib.kernel.storage import table

_MISSING_LINK: Final = f"This is only for the holder of a signed link. Send its token as `{LINK_TOKEN_HEADER}`."


def reject_principal_type(operation: Operation, caller: UnverifiedCaller, ip: str) -> None:
    """Raise 401 or 403 if no caller of this type can perform the operation. An invalid key is reported first."""
    rule = operation.access
    if isinstance(caller, LinkHolder):
        _reject_link_unless_listed(operation, caller)
        return
    if operation.allows_anonymous and (operation.allows_api_keys or not isinstance(caller, UnverifiedCredential)):
        return
    is_public_when_published = isinstance(rule, RequireRole) and rule.if_published
    if isinstance(caller, Anonymous):
        if is_public_when_published:
            return
        raise unauthenticated(_MISSING_LINK) if rule is Caller.LINK else unauthenticated()
    if isinstance(caller, UnverifiedCredential):
        problem = _problem_of_key_or_none(operation, caller, is_public_when_published=is_public_when_published)
        if problem:
            verify_caller(caller, table.get_all(credential_item_keys(caller)), ip)
            raise problem
    elif rule is Caller.OPERATOR and not caller.is_operator:
        raise Problem("forbidden", "Only operators of the service can do this.")
    elif rule is Caller.LINK:
        raise Problem("forbidden", _MISSING_LINK)


def _reject_link_unless_listed(operation: Operation, holder: LinkHolder) -> None:
    """Raise 403 if no link of this type gives access to an operation."""
    if holder.link.type not in (each.name for each in operation.link_types):
        detail = f"A link cannot do this. `{LINK_TOKEN_HEADER}` is only for the operations that list its scheme."
        raise Problem("forbidden", detail)


def _problem_of_key_or_none(
    operation: Operation, caller: UnverifiedCredential, *, is_public_when_published: bool
) -> Problem | None:
    """Return why no key of this type can perform an operation, whatever its scopes and whatever the request names."""
    if caller.record_type is ServiceCredential:
        if operation.is_open_to_service_keys or is_public_when_published:
            return None
        return Problem("insufficient_scope", "Service keys can only write and read application events.")
    if operation.is_open_to_api_keys:
        return None
    return Problem(
        "forbidden",
        _MISSING_LINK if operation.access is Caller.LINK else "API keys cannot do this. Use a user's token.",
    )
