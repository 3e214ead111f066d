"""The operation that describes the caller."""

from chalicelib.features.tenancy.me.logic import describe_key, describe_user
from chalicelib.features.tenancy.me.models import Me
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, ServiceKeyPrincipal
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("me")


@routes.get("/me", access=Caller.PRINCIPAL, scope=None, emits=None, allows_service_keys=True)
def get_me(ctx: Context) -> Me:
    """Get the caller: their id, names and address, their credential, their organizations and pending invitations.

    Use it to see what the service reads from a token, or what an API key or service key may do. Keys need no scope.
    """
    principal = ctx.principal_or_anonymous
    if isinstance(principal, ApiKeyPrincipal | ServiceKeyPrincipal):
        return describe_key(ctx, principal)
    return describe_user(ctx, ctx.user)
