"""API keys of an organization: list, create, revoke, rotate."""

from chalicelib.features.api_keys.entities import MOST_SECRETS, ApiKey
from chalicelib.features.api_keys.models import ApiKeyCreate, ApiKeyOut, ApiKeyRotation
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel import api_keys
from chalicelib.kernel.clock import after
from chalicelib.kernel.context import Context
from chalicelib.kernel.models import ListQuery
from chalicelib.kernel.operation import Page, RouteGroup
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.roles import Role, beyond

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/api-keys",
    needs=at_organization(Role.ADMIN), scope="api-keys:read", emits=None,
)  # fmt: skip
def list_api_keys(ctx: Context, organization: Organization, query: ListQuery) -> Page[ApiKeyOut]:
    """List an organization's API keys, in the order they were created."""
    return ctx.list(ApiKey, ApiKey.in_organization, query, ApiKeyOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/api-keys",
    needs=at_organization(Role.ADMIN), scope="api-keys:write", emits="organization.api_key.created",
)  # fmt: skip
def create_api_key(ctx: Context, organization: Organization, body: ApiKeyCreate) -> ApiKeyOut:
    """Create an API key; the answer holds the secret, once."""
    _refuse_beyond(ctx, body.scopes)
    secret = api_keys.generate()
    key = ApiKey(
        **ctx.new(), **body.fields(), organization_id=organization.id, created_by=ctx.principal.id,
        hint=api_keys.hint(secret), digests={api_keys.digest(secret): None},
    )  # fmt: skip
    ctx.changes.create(key)
    ctx.require_membership()
    return ApiKeyOut.of(key, key=secret)


@routes.get(
    "/organizations/{organization_id}/api-keys/{api_key_id}",
    needs=at_organization(Role.ADMIN), scope="api-keys:read", emits=None,
)  # fmt: skip
def get_api_key(_ctx: Context, api_key: ApiKey) -> ApiKeyOut:
    """Get an API key, without its secret."""
    return ApiKeyOut.of(api_key)


@routes.delete(
    "/organizations/{organization_id}/api-keys/{api_key_id}",
    needs=at_organization(Role.ADMIN), scope="api-keys:write", emits="organization.api_key.revoked",
)  # fmt: skip
def revoke_api_key(ctx: Context, api_key: ApiKey) -> None:
    """Revoke an API key, for good; it stays listed.

    What it invited stays too: keys come and go. Revoke those invitations if you don't trust what the key did.
    """
    if not api_key.revoked_at:
        ctx.changes.update(api_key, revoked_at=ctx.now, live=False)


@routes.post(
    "/organizations/{organization_id}/api-keys/{api_key_id}/rotate",
    success=200, needs=at_organization(Role.ADMIN), scope="api-keys:write", emits="organization.api_key.rotated",
)  # fmt: skip
def rotate_api_key(ctx: Context, api_key: ApiKey, body: ApiKeyRotation) -> ApiKeyOut:
    """Give an API key a new secret; the former one works for some hours more."""
    if api_key.status != "active":
        raise Problem("invalid_transition", f"The API key is {api_key.status}; create another.")
    _refuse_beyond(ctx, api_key.scopes)
    secret, until = api_keys.generate(), after(ctx.now, hours=body.grace_hours)
    lasting = {d: min(ends or until, until) for d, ends in api_key.digests.items() if ends is None or ends > ctx.now}
    if body.grace_hours and len(lasting) == MOST_SECRETS:
        detail = f"{MOST_SECRETS} of its secrets work at the moment. Let one end, or rotate with graceHours 0."
        raise Problem("limit_exceeded", detail)
    digests = lasting | {api_keys.digest(secret): None}
    rotated = ctx.changes.update(api_key, digests=digests, hint=api_keys.hint(secret))
    ctx.require_membership()
    return ApiKeyOut.of(rotated, key=secret)


def _refuse_beyond(ctx: Context, scopes: list[str]) -> None:
    excess = beyond(scopes, ctx.scopes) if ctx.scopes is not None else []
    if excess:
        detail = f"An API key can't give what it doesn't hold: {', '.join(excess)}."
        raise Problem.at("/scopes", "insufficient_scope", detail)
