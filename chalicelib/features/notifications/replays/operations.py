"""Operations on replays: start one, list them, and get the progress of one."""

from chalicelib.features.notifications.deliveries import logic
from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.replays.entities import Replay, status_or_failed_and_skipped
from chalicelib.features.notifications.replays.models import ReplayCreate, ReplayOut
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.logic.backlog import defer_new_events
from chalicelib.features.tenancy.entities.organizations import require_organization_role
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.work import jobs

routes = RouteGroup("organizations")


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/replay",
    success=202,
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.replayed",
    grants_access=True,
    collection_path="/organizations/{organization_id}/webhooks/{webhook_id}/replays",
)
def replay_webhook_deliveries(ctx: Context, webhook: Webhook, body: ReplayCreate) -> ReplayOut:
    """Send the deliveries of a time range again, oldest first.

    After an outage, `"status": "pending"` sends at once what waits for its next attempt. New events follow after these,
    so all arrive in the order of the log. A webhook that did not respond is probed at once.

    The replay runs in the background: poll the record in the 202 response until it is completed or failed. At most 10
    replays run at a time in an organization. If the webhook is not active, the problem is `invalid_transition`.
    """
    webhook.require_active()
    replay = _new_replay(ctx, webhook, body)
    jobs.create_and_enqueue_after_commit(ctx.changes, replay)
    ctx.changes.event(replay)
    if body.status == "pending":  # Even if the backlog is being sent, which then continues when the replay has ended.
        ctx.changes.update_untracked(webhook, **defer_new_events(webhook.circuit, ctx.now).to_fields())
    return ReplayOut.of(replay)


def _new_replay(ctx: Context, webhook: Webhook, body: ReplayCreate) -> Replay:
    until = body.until or max(body.since, ctx.now)
    return Replay(
        **ctx.new_id_and_time_fields(),
        organization_id=webhook.organization_id,
        webhook_id=webhook.id,
        lease_until=ctx.now,
        since=body.since,
        until=until,
        delivery_status=body.status,
        requeued=logic.count_deliveries(webhook.id, status_or_failed_and_skipped(body.status), body.since, until),
        ttl=timestamp_ms(after(ctx.now, days=RETENTION_DAYS)) // 1000,
    )


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/replays",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def list_webhook_replays(ctx: Context, webhook: Webhook, query: ListQuery) -> ListPage[ReplayOut]:
    """List the replays of a webhook, newest first.

    Use it to see which periods were sent again after an outage, and how far a running replay is. Replays are stored for
    90 days.
    """
    ids = {"organization_id": webhook.organization_id, "webhook_id": webhook.id}
    return ctx.list_records(Replay, Replay.of_webhook, query, ReplayOut.of, **ids)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/replays/{replay_id}",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def get_webhook_replay(_ctx: Context, webhook_id: Uuid, replay: Replay) -> ReplayOut:  # noqa: ARG001 - part of the record's key
    """Get a replay: its progress, and how many deliveries it queued.

    The record is kept for 90 days, even if the webhook is deleted.
    """
    return ReplayOut.of(replay)
