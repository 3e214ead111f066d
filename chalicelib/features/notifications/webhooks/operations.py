"""Operations on the webhooks of an organization, including test messages and secret rotation."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.notifications.entities import SubscriberCleanup
from chalicelib.features.notifications.logic import signing_secrets
from chalicelib.features.notifications.logic.event_access import (
    check_events_and_get_readable_areas,
    limit_changed_recipient_to_caller_areas,
)
from chalicelib.features.notifications.logic.event_payloads import build_event_payload
from chalicelib.features.notifications.logic.trials import (
    TEST_RATE_LIMITS,
    TEST_TIMEOUT_SECONDS,
    describe_trial,
)
from chalicelib.features.notifications.models import standard_webhooks
from chalicelib.features.notifications.models.schemas import SecretRotation, TrialOut
from chalicelib.features.notifications.webhooks.entities import (
    PROBE_TASK,
    Webhook,
)
from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.features.notifications.webhooks.logic.links import WEBHOOK_LINK
from chalicelib.features.notifications.webhooks.logic.webhook_requests import failure_reason
from chalicelib.features.notifications.webhooks.models.circuit import Circuit
from chalicelib.features.notifications.webhooks.models.schemas import (
    WebhookCreate,
    WebhookOut,
    WebhookPatch,
)
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.features.tenancy.logic.signed_links import LINK_LOCATION, LINK_RATE_LIMITS, create_signed_link
from chalicelib.features.tenancy.models.signed_links import NewSignedLink
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.work import jobs

routes = RouteGroup("organizations", scope_areas=(ScopeArea("webhooks"),))

_TEST_MESSAGE: Final = "Somebody wanted to see whether messages arrive here. Nothing has happened."


@routes.get(
    "/organizations/{organization_id}/webhooks",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def list_webhooks(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[WebhookOut]:
    """List an organization's webhooks, in the order of their creation.

    Use it to see where the events of the organization are sent, and which webhooks fail. No secrets are shown.
    """
    return ctx.list_records(Webhook, Webhook.in_organization, query, WebhookOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/webhooks",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.created",
    grants_access=True,
)
def create_webhook(ctx: Context, organization: Organization, body: WebhookCreate) -> WebhookOut:
    """Create a webhook, which receives events at its URL from now on, signed with a secret.

    Only this response contains the secret. The webhook receives every event that is committed from now on, its own
    creation first. The `webhooks` section of this document describes the messages and how to verify them. A webhook
    that an API key creates or changes receives events only within the areas that the key may read: `*` and `page.*` are
    limited to these, and an exact type outside them is rejected.
    """
    areas = check_events_and_get_readable_areas(ctx, body.events)
    record_fields, secret = ctx.new_id_and_time_fields(), body.secret or standard_webhooks.generate_secret()
    webhook = Webhook(
        **record_fields,
        organization_id=organization.id,
        url=body.url,
        events=body.events,
        description=body.description,
        enabled=body.enabled,
        secrets=[
            signing_secrets.encrypted_secret_without_expiry(Webhook.secret_context_of(record_fields["id"]), secret)
        ],
        areas=areas,
    )
    return WebhookOut.of(ctx.changes.event(ctx.changes.create(webhook)), secret=secret)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
    link_types=(WEBHOOK_LINK,),
)
def get_webhook(_ctx: Context, webhook: Webhook) -> WebhookOut:
    """Get a webhook, without its secret.

    `status` is `active`, `paused` by a user, or `disabled` by the service. `failingSince` is the time since when every
    attempt has failed, and `disabledReason` says why the service disabled the webhook.
    """
    return WebhookOut.of(webhook)


@routes.patch(
    "/organizations/{organization_id}/webhooks/{webhook_id}",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.updated",
    grants_access=True,
)
def update_webhook(ctx: Context, webhook: Webhook, body: WebhookPatch) -> WebhookOut:
    """Change a webhook. The change takes effect with its own event.

    Events that occur while the webhook is not enabled are recorded as skipped, and can be replayed. Enabling it again,
    even after the service disabled it, or changing its URL clears its recorded failures. After a change by an API key,
    the webhook receives only events that the key may read.
    """
    fields, circuit = body.to_stored_fields_with_defaults(), webhook.circuit
    is_enabled_now = body.enabled and not webhook.enabled
    if is_enabled_now:
        fields["disabled_reason"] = None
    if is_enabled_now or body.url != webhook.url:
        circuit = Circuit.reset(ctx.now if body.enabled else None)
    elif webhook.enabled and not body.enabled and not circuit.is_closed:
        circuit = circuit.probing(ctx.now)  # The task then skips the backlog.
    ctx.changes.event(webhook)
    updated = ctx.changes.update(webhook, **fields, **circuit.to_fields())
    changed = limit_changed_recipient_to_caller_areas(ctx, updated, webhook)
    if changed.probe_at == ctx.now:
        ctx.changes.enqueue_after_commit(PROBE_TASK, changed)
    return WebhookOut.of(changed)


@routes.delete(
    "/organizations/{organization_id}/webhooks/{webhook_id}",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.deleted",
    grants_access=True,
)
def delete_webhook(ctx: Context, webhook: Webhook) -> None:
    """Delete a webhook and all its deliveries. Pending events are not sent any more.

    The receiver gets nothing from then on. To stop deliveries for some time only, set `enabled` to false instead:
    skipped events can be replayed later.
    """
    ctx.changes.delete(webhook)
    ctx.changes.event(webhook)
    jobs.create_and_enqueue_after_commit(ctx.changes, SubscriberCleanup.from_subscriber(webhook, ctx.now))


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/test",
    success=200,
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.tested",
    grants_access=True,
    has_external_effects=True,
    rate_limits=TEST_RATE_LIMITS,
    link_types=(WEBHOOK_LINK,),
)
def test_webhook(ctx: Context, webhook: Webhook) -> TrialOut:
    """Send a test message to a webhook immediately, whatever its status, and return the result within 5 s.

    The limit is 10 tests each minute for an organization, over all its webhooks, channels and log streams,
    and 30 for a user or API key over all organizations.

    The message is signed and sent like any other. It is not an event, is sent only once, and appears in no list:
    `{"type": "webhook.test", "timestamp", "data": {"webhookId", "message"}, "organizationId", "sequence": null,
    "actor": {"type", "id"}, "changes": []}`.
    """
    body = _test_message_body(ctx, webhook)
    headers = signing_secrets.signed_headers(webhook, new_id(ctx.now), body, ctx.now)
    response = ctx.run_once(lambda: _count_against_host_limit_and_send_test_message(webhook, body, headers))
    if response.succeeded and not webhook.circuit.is_closed:  # The backlog can be sent now.
        ctx.changes.update_untracked(webhook, **webhook.circuit.recovering(ctx.now).to_fields())
        ctx.changes.enqueue_after_commit(PROBE_TASK, webhook)
    ctx.changes.event(webhook, always=True)
    return describe_trial(response, failure_reason(response))


def _test_message_body(ctx: Context, webhook: Webhook) -> bytes:
    entry: dict[str, Any] = {
        "type": "webhook.test",
        "occurredAt": ctx.now,
        "organizationId": webhook.organization_id,
        "actor": ctx.principal_or_anonymous.actor,
        "data": {"webhookId": webhook.id, "message": _TEST_MESSAGE},
        "changes": [],
    }
    return to_json(build_event_payload(entry, None))


def _count_against_host_limit_and_send_test_message(
    webhook: Webhook, body: bytes, headers: Mapping[str, str]
) -> WebhookResponse:
    """Send a test message. It does not wait for the rate limit of its host, but counts against it."""
    host_rate_limit.acquire_send_slots_and_retry_at(webhook.organization_id, webhook.url, 1)
    return webhook_client.post_webhook(webhook.url, body, headers, TEST_TIMEOUT_SECONDS)


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/rotate-secret",
    success=200,
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.secret_rotated",
    grants_access=True,
    link_types=(WEBHOOK_LINK,),
)
def rotate_webhook_secret(ctx: Context, webhook: Webhook, body: SecretRotation) -> WebhookOut:
    """Replace the secret of a webhook. For some hours, the previous secret signs messages too.

    Use it regularly, and at once if the secret may be known to others. Only this response contains the new secret. With
    `graceHours` 0 the previous one becomes invalid immediately.
    """
    secret, secrets = signing_secrets.rotate_secret(webhook, body.grace_hours, ctx.now)
    return WebhookOut.of(ctx.changes.event(ctx.changes.update(webhook, secrets=secrets)), secret=secret)


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/links",
    access=require_organization_role(Role.ADMIN),
    scope=None,
    emits="organization.webhook.link_created",
    grants_access=True,
    rate_limits=LINK_RATE_LIMITS,
    collection_path=LINK_LOCATION,
)
def create_webhook_link(ctx: Context, webhook: Webhook) -> NewSignedLink:
    """Create a link by which somebody without an account manages one webhook for an hour.

    Send it to the team that runs the receiver. Its holder sees the webhook with its deliveries and statistics, retries
    deliveries, sends tests and rotates the secret, and nothing else. The log shows what they do, as actions of the
    link. The link ends when you lose the role that this operation requires, or when the webhook is deleted.
    """
    return create_signed_link(ctx, WEBHOOK_LINK, webhook)
