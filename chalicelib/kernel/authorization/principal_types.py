"""Which types of callers can perform an operation at all."""

from chalicelib.kernel.core.problems import Problem, unauthenticated
from chalicelib.kernel.identity.auth import (
    Anonymous,
    UnverifiedCaller,
    UnverifiedCredential,
    credential_item_keys,
    verify_caller,
)
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.grants import ServiceCredential
from chalicelib.kernel.storage import table


def reject_principal_type(operation: Operation, caller: UnverifiedCaller, ip: str) -> None:
    """Raise 401 or 403 if no caller of this type can perform the operation. An invalid key is reported first."""
    rule = operation.access
    if operation.allows_anonymous and (operation.allows_api_keys or not isinstance(caller, UnverifiedCredential)):
        return
    is_public_when_published = isinstance(rule, RequireRole) and rule.if_published
    if isinstance(caller, Anonymous):
        if is_public_when_published:
            return
        raise unauthenticated()
    if isinstance(caller, UnverifiedCredential):
        problem = _problem_of_key_or_none(operation, caller, is_public_when_published=is_public_when_published)
        if problem:
            verify_caller(caller, table.get_all(credential_item_keys(caller)), ip)
            raise problem
    elif rule is Caller.OPERATOR and not caller.is_operator:
        raise Problem("forbidden", "Only operators of the service can do this.")


def _problem_of_key_or_none(
    operation: Operation, caller: UnverifiedCredential, *, is_public_when_published: bool
) -> Problem | None:
    """Return why no key of this type can perform an operation, whatever its scopes and whatever the request names."""
    if caller.record_type is ServiceCredential:
        if operation.is_open_to_service_keys or is_public_when_published:
            return None
        return Problem("insufficient_scope", "Service keys can only write and read application events.")
    return (
        None if operation.is_open_to_api_keys else Problem("forbidden", "API keys cannot do this. Use a user's token.")
    )
