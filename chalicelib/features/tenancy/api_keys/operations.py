"""API keys of an organization: list, create, revoke, rotate."""

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.api_keys.logic import key_creation
from chalicelib.features.tenancy.api_keys.logic.key_revocation import plan_dependent_key_revocation
from chalicelib.features.tenancy.api_keys.models import ApiKeyCreate, ApiKeyOut, ApiKeyRotation
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity import key_secrets
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("api-keys"),))


@routes.get(
    "/organizations/{organization_id}/api-keys",
    access=require_organization_role(Role.ADMIN),
    scope="api-keys:read",
    emits=None,
)
def list_api_keys(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[ApiKeyOut]:
    """List an organization's API keys, in the order in which they were created.

    Use it to review which programs have access, with which scopes, and when each key was last used. Revoked and expired
    keys stay listed. Secrets are not shown.
    """
    return ctx.list_records(ApiKey, ApiKey.in_organization, query, ApiKeyOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/api-keys",
    access=require_organization_role(Role.ADMIN),
    scope="api-keys:write",
    emits="organization.api_key.created",
    grants_access=True,
)
def create_api_key(ctx: Context, organization: Organization, body: ApiKeyCreate) -> ApiKeyOut:
    """Create an API key. Only this response contains the secret.

    A key that is created with another API key has at most its scopes, expires no later and works from no other
    networks. It is revoked with that key. A key that a user created is revoked when the user leaves, is removed or gets
    a role that cannot grant its scopes.
    """
    issuer = key_creation.caller_api_key_or_member(ctx)
    fields, (secret, secret_fields) = (
        key_creation.validate_and_build_key_fields(issuer, body),
        key_secrets.issue_secret(),
    )
    key = ApiKey(
        **ctx.new_id_and_time_fields(),
        **fields,
        organization_id=organization.id,
        created_by=ctx.principal_or_anonymous.id,
        **secret_fields,
        grantor_ids=key_creation.mark_issuance_and_merge_grantor_ids(ctx, issuer),
    )
    ctx.changes.event(ctx.changes.create(key))
    return ApiKeyOut.of(key, key=secret)


@routes.get(
    "/organizations/{organization_id}/api-keys/{api_key_id}",
    access=require_organization_role(Role.ADMIN),
    scope="api-keys:read",
    emits=None,
)
def get_api_key(_ctx: Context, api_key: ApiKey) -> ApiKeyOut:
    """Get an API key, without its secret.

    `hint` has the last characters of the secret, by which you can recognize a key in a program's settings. `lastUsedAt`
    may be a minute old.
    """
    return ApiKeyOut.of(api_key)


@routes.delete(
    "/organizations/{organization_id}/api-keys/{api_key_id}",
    access=require_organization_role(Role.ADMIN),
    scope="api-keys:write",
    emits="organization.api_key.revoked",
    grants_access=True,
)
def revoke_api_key(ctx: Context, api_key: ApiKey) -> None:
    """Revoke an API key permanently, with all keys that it created or rotated. Revoked keys stay listed.

    Invitations that the key sent stay valid. Revoke them if you do not trust what the key did.
    """
    if not api_key.revoked_at:
        plan = plan_dependent_key_revocation(api_key)
        revoked = api_key.replace(revoked_keys=plan.revoked_key_summaries)
        ctx.changes.event(ctx.changes.update(revoked, **api_key.revocation_fields(ctx.now)))
        plan.add_revocations_and_return_count(ctx.changes)


@routes.post(
    "/organizations/{organization_id}/api-keys/{api_key_id}/rotate",
    success=200,
    access=require_organization_role(Role.ADMIN),
    scope="api-keys:write",
    emits="organization.api_key.rotated",
    grants_access=True,
)
def rotate_api_key(ctx: Context, api_key: ApiKey, body: ApiKeyRotation) -> ApiKeyOut:
    """Give an API key a new secret. The former secret works for some hours more, until `formerSecretsUntil`.

    Only this response contains the new secret. Replace the former one in the program's settings before it ends. After
    that, requests with it get 401 `api_key_revoked`, and the detail says that a rotation replaced it.

    The caller needs every scope of the key. An API key as the caller also needs bounds that are no narrower. From then
    on the key also depends on the caller, and is revoked with them as with its creator.
    """
    key_secrets.require_active(api_key)
    grantor_ids = _authorize_rotation_and_extend_grantor_ids(ctx, api_key)
    secret, fields = key_secrets.rotate_secret(api_key, body.grace_hours, ctx.now)
    rotated = ctx.changes.update(api_key, **fields, grantor_ids=grantor_ids)
    return ApiKeyOut.of(ctx.changes.event(rotated), key=secret)


def _authorize_rotation_and_extend_grantor_ids(ctx: Context, rotated_key: ApiKey) -> list[str] | None:
    """Return the grantors of a key that the caller rotates. Raises Problem 403 if the key exceeds the caller."""
    issuer = key_creation.caller_api_key_or_member(ctx)
    if isinstance(issuer, ApiKey):
        if issuer.id == rotated_key.id:
            return rotated_key.grantor_ids
        key_creation.reject_excess_rights(issuer, rotated_key.scopes, rotated_key.expires_at, rotated_key.allowed_ips)
    previous = (
        rotated_key.grantor_ids
        if rotated_key.grantor_ids is not None
        else [each for each in [rotated_key.created_by] if each]
    )
    return key_creation.mark_issuance_and_merge_grantor_ids(ctx, issuer, previous)
