"""Which types of callers can perform an operation at all."""

from chalicelib.kernel.core.problems import Problem, unauthenticated
from chalicelib.kernel.identity.auth import (
    Anonymous,
    UnverifiedApiKey,
    UnverifiedCaller,
    api_key_item_keys,
    verify_caller,
)
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table


def reject_principal_type(operation: Operation, caller: UnverifiedCaller, ip: str) -> None:
    """Raise 401 or 403 if no caller of this type can perform the operation. An invalid API key is reported first."""
    rule = operation.access
    if operation.allows_anonymous and (operation.allows_api_keys or not isinstance(caller, UnverifiedApiKey)):
        return
    if isinstance(caller, Anonymous):
        if isinstance(rule, RequireRole) and rule.if_published:
            return
        raise unauthenticated()
    if isinstance(caller, UnverifiedApiKey) and not operation.is_open_to_api_keys:
        verify_caller(caller, table.get_all(api_key_item_keys(caller)), ip)
        raise Problem("forbidden", "API keys cannot do this. Use a user's token.")
    if rule is Caller.OPERATOR and not (isinstance(caller, User) and caller.is_operator):
        raise Problem("forbidden", "Only operators of the service can do this.")
