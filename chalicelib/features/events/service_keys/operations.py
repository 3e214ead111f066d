"""Service keys of the deployment: list, create, revoke, rotate."""

from chalicelib.features.events.service_keys.entities import ServiceKey
from chalicelib.features.events.service_keys.models import MAX_LIFETIME_DAYS, ServiceKeyCreate, ServiceKeyOut
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity import key_secrets
from chalicelib.kernel.identity.key_models import KeyRotation
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("system")


@routes.get("/system/service-keys", access=Caller.OPERATOR, scope=None, emits=None)
def list_service_keys(ctx: Context, query: ListQuery) -> ListPage[ServiceKeyOut]:
    """List the service keys, in the order in which they were created.

    Use it to review which programs report application events, and when each key was last used. Revoked and expired keys
    stay listed. Secrets are not shown. A key that was created or changed a moment ago may be missing or outdated.
    """
    return ctx.list_records(ServiceKey, ServiceKey.all_service_keys, query, ServiceKeyOut.of)


@routes.post("/system/service-keys", access=Caller.OPERATOR, scope=None, emits="system.service_key.created")
def create_service_key(ctx: Context, body: ServiceKeyCreate) -> ServiceKeyOut:
    """Create a service key. Only this response contains the secret.

    Use it for your own back end, which reports events of many organizations. A service key writes and reads application
    events in every organization, and can do nothing else. Every other operation refuses it with `insufficient_scope`,
    except those that are open to everybody and `GET /me`.
    """
    fields, (secret, secret_fields) = body.to_stored_fields_with_defaults(), key_secrets.issue_secret()
    fields["expires_at"] = fields["expires_at"] or after(ctx.now, days=MAX_LIFETIME_DAYS)
    key = ServiceKey(**ctx.new_id_and_time_fields(), **fields, **secret_fields, created_by=ctx.user.id)
    ctx.changes.event(ctx.changes.create(key))
    return ServiceKeyOut.of(key, key=secret)


@routes.get("/system/service-keys/{service_key_id}", access=Caller.OPERATOR, scope=None, emits=None)
def get_service_key(_ctx: Context, service_key: ServiceKey) -> ServiceKeyOut:
    """Get a service key, without its secret.

    `hint` has the last characters of the secret, by which you can recognize a key in a program's settings. `lastUsedAt`
    may be a minute old.
    """
    return ServiceKeyOut.of(service_key)


@routes.delete(
    "/system/service-keys/{service_key_id}", access=Caller.OPERATOR, scope=None, emits="system.service_key.revoked"
)
def revoke_service_key(ctx: Context, service_key: ServiceKey) -> None:
    """Revoke a service key permanently. The next request with it is rejected. Revoked keys stay listed.

    The events that it wrote stay in the logs, where `reportedBy` has its id.
    """
    if not service_key.revoked_at:
        ctx.changes.event(ctx.changes.update(service_key, **service_key.revocation_fields(ctx.now)))


@routes.post(
    "/system/service-keys/{service_key_id}/rotate",
    success=200,
    access=Caller.OPERATOR,
    scope=None,
    emits="system.service_key.rotated",
)
def rotate_service_key(ctx: Context, service_key: ServiceKey, body: KeyRotation) -> ServiceKeyOut:
    """Give a service key a new secret. The former secret works for some hours more, until `formerSecretsUntil`.

    Only this response contains the new secret. Replace the former one in the program's settings before it ends. After
    that, requests with it get 401 `api_key_revoked`, and the detail says that a rotation replaced it. The expiry of the
    key stays. Create another key before it expires.
    """
    key_secrets.require_active(service_key)
    secret, fields = key_secrets.rotate_secret(service_key, body.grace_hours, ctx.now)
    return ServiceKeyOut.of(ctx.changes.event(ctx.changes.update(service_key, **fields)), key=secret)
