"""Webhooks of an organization: list, create, read, change, remove, try, and give another secret."""

from collections.abc import Mapping
from typing import Final

from pydantic_core import to_json

from chalicelib.features.deliveries.entities import Clearing
from chalicelib.features.deliveries.models import TrialOut
from chalicelib.features.deliveries.reach import areas_within_reach, within_reach
from chalicelib.features.deliveries.rules import TRIAL_BUDGETS, TRIAL_SECONDS
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.features.webhooks import signing, standard_webhooks
from chalicelib.features.webhooks.entities import MOST_SECRETS, PROBE, Webhook
from chalicelib.features.webhooks.models import SecretRotation, WebhookCreate, WebhookOut, WebhookPatch
from chalicelib.features.webhooks.rules import failure, well
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits import host_rates

routes = RouteGroup("organizations")

_GREETING: Final = "Somebody wanted to see whether messages arrive here. Nothing has happened."


@routes.get(
    "/organizations/{organization_id}/webhooks",
    access=at_organization(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def list_webhooks(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[WebhookOut]:
    """List an organization's webhooks, in the order they were created."""
    return ctx.list_records(Webhook, Webhook.in_organization, query, WebhookOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/webhooks",
    access=at_organization(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.created",
    grants_access=True,
)
def create_webhook(ctx: Context, organization: Organization, body: WebhookCreate) -> WebhookOut:
    """Create a webhook: from now on events are sent to its URL, signed with the secret that the answer holds, once.

    Every event that is committed after it reaches it, its own creation first; what is sent, and how a receiver verifies
    it, is in the webhooks of this document. One that an API key creates or changes is told of what lies within the
    areas that the key may read: so `*` and `page.*` are meant, and an exact type outside is refused.
    """
    areas = areas_within_reach(ctx, body.events)
    new, secret = ctx.new_record_fields(), body.secret or standard_webhooks.generate()
    webhook = Webhook(
        **new,
        organization_id=organization.id,
        url=body.url,
        events=body.events,
        description=body.description,
        enabled=body.enabled,
        secrets=[signing.sealed(new["id"], secret)],
        areas=areas,
    )
    return WebhookOut.of(ctx.changes.create(webhook), secret=secret)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}",
    access=at_organization(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def get_webhook(_ctx: Context, webhook: Webhook) -> WebhookOut:
    """Get a webhook, without its secret."""
    return WebhookOut.of(webhook)


@routes.patch(
    "/organizations/{organization_id}/webhooks/{webhook_id}",
    access=at_organization(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.updated",
    grants_access=True,
)
def update_webhook(ctx: Context, webhook: Webhook, body: WebhookPatch) -> WebhookOut:
    """Change a webhook; the change holds from its own event on.

    Events while it is not enabled are recorded as skipped, and can be replayed. Enabled again, also after the service
    disabled it, or with another URL, it begins anew: what failed before is not held against it. Changed by an API key,
    it is told of nothing from then on that the key may not read.
    """
    fields, enables = body.fields(), body.enabled and not webhook.enabled
    if enables:
        fields["disabled_reason"] = None
    if enables or body.url != webhook.url:
        fields |= well(ctx.now, enabled=body.enabled)
    elif webhook.enabled and not body.enabled and not webhook.caught_up:
        fields["parked_until"] = ctx.now  # What waited for it is skipped then.
    changed = within_reach(ctx, ctx.changes.update(webhook, **fields), webhook)
    if changed.parked_until == ctx.now:
        ctx.changes.enqueue_after_commit(PROBE, changed)
    return WebhookOut.of(changed)


@routes.delete(
    "/organizations/{organization_id}/webhooks/{webhook_id}",
    access=at_organization(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.deleted",
    grants_access=True,
)
def delete_webhook(ctx: Context, webhook: Webhook) -> None:
    """Delete a webhook and all deliveries to it: they are gone at once, and what is on its way is sent no more."""
    ctx.changes.delete(webhook)
    ctx.changes.enqueue_after_commit(Clearing.task, ctx.changes.create(Clearing.after(webhook, ctx.now)))


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/test",
    success=200,
    access=at_organization(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.tested",
    grants_access=True,
    has_external_effects=True,
    rate_limits=TRIAL_BUDGETS,
)
def test_webhook(ctx: Context, organization: Organization, webhook: Webhook) -> TrialOut:
    """Send a webhook a message at once, whatever its status, and tell within 5 s what came of it.

    An organization may try 10 times a minute, its webhooks and channels together, whoever asks; one user or API key 30
    times, in all organizations.

    It is signed and sent like every other, but is no event, tried once and listed nowhere:
    `{"type": "webhook.test", "timestamp", "data": {"webhookId", "message"}, "organizationId", "sequence": null}`.
    """
    body = to_json(
        {
            "type": "webhook.test",
            "timestamp": ctx.now,
            "data": {"webhookId": webhook.id, "message": _GREETING},
            "organizationId": organization.id,
            "sequence": None,
        }
    )
    headers = signing.headers(webhook, new_id(ctx.now), body, ctx.now)
    answer = ctx.once(lambda: _tried(webhook, body, headers))
    if answer.succeeded and not webhook.caught_up:  # What waits for it need wait no longer.
        ctx.changes.update_untracked(webhook, answers=True, silences=0, parked_until=ctx.now)
        ctx.changes.enqueue_after_commit(PROBE, webhook)
    ctx.changes.set_event_subject(webhook)
    return TrialOut(
        delivered=answer.succeeded, status_code=answer.status, error=failure(answer), duration_ms=answer.duration_ms
    )


def _tried(webhook: Webhook, body: bytes, headers: Mapping[str, str]) -> WebhookResponse:
    """Send a webhook a trial. It waits for no turn, but takes one: what else its host is sent waits for longer."""
    host_rates.acquire_slots(webhook.organization_id, webhook.url, 1)
    return webhook_client.post_webhook(webhook.url, body, headers, TRIAL_SECONDS)


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/rotate-secret",
    success=200,
    access=at_organization(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.secret_rotated",
    grants_access=True,
)
def rotate_webhook_secret(ctx: Context, webhook: Webhook, body: SecretRotation) -> WebhookOut:
    """Give a webhook a new secret; for some hours messages are signed with the former one too."""
    secret, until = standard_webhooks.generate(), after(ctx.now, hours=body.grace_hours)
    former = signing.live(webhook, ctx.now) if body.grace_hours else []
    if len(former) == MOST_SECRETS:
        detail = f"{MOST_SECRETS} of its secrets sign at the moment. Let one end, or rotate with graceHours 0."
        raise Problem("limit_exceeded", detail)
    lasting = [signing.sealed_anew(webhook, one) | {"until": min(one["until"] or until, until)} for one in former]
    rotated = ctx.changes.update(webhook, secrets=[signing.sealed(webhook.id, secret), *lasting])
    return WebhookOut.of(rotated, secret=secret)
