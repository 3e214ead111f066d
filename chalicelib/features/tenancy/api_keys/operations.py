"""API keys of an organization: list, create, revoke, rotate."""

from chalicelib.features.tenancy.api_keys.entities import MOST_SECRETS, ApiKey
from chalicelib.features.tenancy.api_keys.logic import key_creation
from chalicelib.features.tenancy.api_keys.logic.key_revocation import ending_with_key
from chalicelib.features.tenancy.api_keys.models import ApiKeyCreate, ApiKeyOut, ApiKeyRotation
from chalicelib.features.tenancy.entities.organizations import Organization, at_organization
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("api-keys"),))


@routes.get(
    "/organizations/{organization_id}/api-keys",
    access=at_organization(Role.ADMIN),
    scope="api-keys:read",
    emits=None,
)
def list_api_keys(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[ApiKeyOut]:
    """List an organization's API keys, in the order they were created."""
    return ctx.list_records(ApiKey, ApiKey.in_organization, query, ApiKeyOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/api-keys",
    access=at_organization(Role.ADMIN),
    scope="api-keys:write",
    emits="organization.api_key.created",
    grants_access=True,
)
def create_api_key(ctx: Context, organization: Organization, body: ApiKeyCreate) -> ApiKeyOut:
    """Create an API key; the answer holds the secret, once.

    One that is made by another key has no scope that this lacks, ends no later, and works from no other networks; it is
    revoked with it. One that a person made is revoked when they are removed, leave or are demoted, unless what they are
    then could still give its scopes.
    """
    maker = key_creation.maker(ctx)
    fields, secret = key_creation.fields_within(maker, body), api_key_format.generate_api_key()
    key = ApiKey(
        **ctx.new_record_fields(),
        **fields,
        organization_id=organization.id,
        created_by=ctx.principal.id,
        hint=api_key_format.api_key_hint(secret),
        digests={api_key_format.digest_api_key(secret): None},
        lineage=key_creation.rest_on(ctx, maker),
    )
    ctx.changes.create(key)
    return ApiKeyOut.of(key, key=secret)


@routes.get(
    "/organizations/{organization_id}/api-keys/{api_key_id}",
    access=at_organization(Role.ADMIN),
    scope="api-keys:read",
    emits=None,
)
def get_api_key(_ctx: Context, api_key: ApiKey) -> ApiKeyOut:
    """Get an API key, without its secret."""
    return ApiKeyOut.of(api_key)


@routes.delete(
    "/organizations/{organization_id}/api-keys/{api_key_id}",
    access=at_organization(Role.ADMIN),
    scope="api-keys:write",
    emits="organization.api_key.revoked",
    grants_access=True,
)
def revoke_api_key(ctx: Context, api_key: ApiKey) -> None:
    """Revoke an API key, for good, with all keys that it made or rotated; they stay listed.

    What it invited stays too: keys come and go. Revoke those invitations if you don't trust what the key did.
    """
    if not api_key.revoked_at:
        ending = ending_with_key(api_key)
        ctx.changes.update(api_key.replace(revoked_keys=ending.named), **api_key.revoked(ctx.now))
        ending.revoke(ctx.changes)


@routes.post(
    "/organizations/{organization_id}/api-keys/{api_key_id}/rotate",
    success=200,
    access=at_organization(Role.ADMIN),
    scope="api-keys:write",
    emits="organization.api_key.rotated",
    grants_access=True,
)
def rotate_api_key(ctx: Context, api_key: ApiKey, body: ApiKeyRotation) -> ApiKeyOut:
    """Give an API key a new secret; the former one works for some hours more.

    It takes every scope of that key and, of a key that rotates another, bounds that are no narrower. The key rests on
    who rotated it from then on, and ends with them, as on who made it.
    """
    if api_key.status != "active":
        raise Problem("invalid_transition", f"The API key is {api_key.status}; create another.")
    lineage = _lineage_of_rotated(ctx, api_key)
    secret, until = api_key_format.generate_api_key(), after(ctx.now, hours=body.grace_hours)
    lasting = {d: min(ends or until, until) for d, ends in api_key.digests.items() if ends is None or ends > ctx.now}
    if body.grace_hours and len(lasting) == MOST_SECRETS:
        detail = f"{MOST_SECRETS} of its secrets work at the moment. Let one end, or rotate with graceHours 0."
        raise Problem("limit_exceeded", detail)
    digests = lasting | {api_key_format.digest_api_key(secret): None}
    rotated = ctx.changes.update(api_key, digests=digests, hint=api_key_format.api_key_hint(secret), lineage=lineage)
    return ApiKeyOut.of(rotated, key=secret)


def _lineage_of_rotated(ctx: Context, rotated: ApiKey) -> list[str] | None:
    """Return what a key rests on once the caller has its new secret. Raises Problem 403 if it is beyond the caller."""
    maker = key_creation.maker(ctx)
    if isinstance(maker, ApiKey):
        if maker.id == rotated.id:
            return rotated.lineage
        key_creation.refuse_beyond(maker, rotated.scopes, rotated.expires_at, rotated.allowed_ips)
    made_by = rotated.lineage if rotated.lineage is not None else [each for each in [rotated.created_by] if each]
    return key_creation.rest_on(ctx, maker, made_by)
