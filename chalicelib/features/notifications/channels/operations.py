"""Operations on the integration channels of an organization, including test messages."""

from typing import Any

from chalicelib.features.notifications.channels.entities import IntegrationChannel, encrypted_url_fields
from chalicelib.features.notifications.channels.logic.chat_messages import MessageContent
from chalicelib.features.notifications.channels.logic.message_delivery import (
    update_channel_after_response,
    wait_and_send_message,
)
from chalicelib.features.notifications.channels.logic.provider_rules import (
    HEALTHY_FIELDS,
    failure_reason,
    url_mismatch_reason,
)
from chalicelib.features.notifications.channels.models import ChannelCreate, ChannelOut, ChannelPatch, Provider
from chalicelib.features.notifications.entities import SubscriberCleanup
from chalicelib.features.notifications.logic.event_access import (
    check_events_and_get_readable_areas,
    limit_changed_recipient_to_caller_areas,
)
from chalicelib.features.notifications.logic.trials import (
    TEST_RATE_LIMITS,
    TEST_TIMEOUT_SECONDS,
    describe_trial,
)
from chalicelib.features.notifications.models.schemas import TrialOut
from chalicelib.features.notifications.models.webhook_urls import MASK
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.work import jobs

routes = RouteGroup("organizations", scope_areas=(ScopeArea("channels"),))


@routes.get(
    "/organizations/{organization_id}/integration-channels",
    access=require_organization_role(Role.ADMIN),
    scope="channels:read",
    emits=None,
)
def list_integration_channels(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[ChannelOut]:
    """List an organization's integration channels, in the order of their creation.

    Use it to see which chat rooms receive events, and which channels need attention. The URLs of the rooms are masked,
    because anybody who has one can post to the room.
    """
    listed = IntegrationChannel.in_organization
    return ctx.list_records(IntegrationChannel, listed, query, ChannelOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/integration-channels",
    access=require_organization_role(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.created",
    grants_access=True,
)
def create_integration_channel(ctx: Context, organization: Organization, body: ChannelCreate) -> ChannelOut:
    """Create an integration channel: a chat room of Slack, Discord or Teams that receives events as sentences.

    Messages use the provider's format; at most one is sent each second. The provider `webhook` stands for any other
    program, which receives `{text, event}`. The URL is a secret: later responses show it masked.
    """
    _reject_mismatched_or_masked_url(body.provider, body.config.webhook_url)
    areas = check_events_and_get_readable_areas(ctx, body.events)
    record_fields = ctx.new_id_and_time_fields()
    channel = IntegrationChannel(
        **record_fields,
        organization_id=organization.id,
        provider=body.provider,
        name=body.name,
        events=body.events,
        enabled=body.enabled,
        areas=areas,
        **encrypted_url_fields(record_fields["id"], body.config.webhook_url),
    )
    return ChannelOut.of(ctx.changes.event(ctx.changes.create(channel)))


@routes.get(
    "/organizations/{organization_id}/integration-channels/{channel_id}",
    access=require_organization_role(Role.ADMIN),
    scope="channels:read",
    emits=None,
)
def get_integration_channel(_ctx: Context, channel: IntegrationChannel) -> ChannelOut:
    """Get an integration channel.

    `status` shows whether messages arrive, and `lastError` the last permanent failure. The URL is masked.
    """
    return ChannelOut.of(channel)


@routes.patch(
    "/organizations/{organization_id}/integration-channels/{channel_id}",
    access=require_organization_role(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.updated",
    grants_access=True,
)
def update_integration_channel(ctx: Context, channel: IntegrationChannel, body: ChannelPatch) -> ChannelOut:
    """Change an integration channel. A masked URL leaves the current URL unchanged.

    A channel that needs attention works again after a change of its URL or provider, or after it was disabled and
    enabled. After a creation or change by an API key, the channel receives only events within the areas that the key
    may read.
    """
    ctx.changes.event(channel)
    changed = ctx.changes.update(
        channel,
        provider=body.provider,
        name=body.name,
        events=body.events,
        enabled=body.enabled,
        **_validated_url_and_status_changes(channel, body),
    )
    return ChannelOut.of(limit_changed_recipient_to_caller_areas(ctx, changed, channel))


@routes.delete(
    "/organizations/{organization_id}/integration-channels/{channel_id}",
    access=require_organization_role(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.deleted",
    grants_access=True,
)
def delete_integration_channel(ctx: Context, channel: IntegrationChannel) -> None:
    """Delete an integration channel. Pending messages are dropped.

    Nothing is sent to the chat room from then on. Events stay in the audit log, and a new channel does not receive
    earlier events.
    """
    ctx.changes.delete(channel)
    ctx.changes.event(channel)
    jobs.create_and_enqueue_after_commit(ctx.changes, SubscriberCleanup.from_subscriber(channel, ctx.now))


@routes.post(
    "/organizations/{organization_id}/integration-channels/{channel_id}/test",
    success=200,
    access=require_organization_role(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.tested",
    grants_access=True,
    has_external_effects=True,
    rate_limits=TEST_RATE_LIMITS,
)
def test_integration_channel(ctx: Context, channel: IntegrationChannel) -> TrialOut:
    """Send a test message to an integration channel, whatever its status, and return the result within 5 s.

    The limit is 10 tests each minute for an organization, over all its webhooks, channels and log streams,
    and 30 for a user or API key over all organizations.

    A success clears the status `needs_attention`. A permanent failure sets it, with the reason in `lastError`.
    """
    content = MessageContent.create_test_message(ctx.principal_or_anonymous.actor, channel, ctx.now)
    response = ctx.run_once(lambda: wait_and_send_message(channel, content, TEST_TIMEOUT_SECONDS))
    update_channel_after_response(ctx.changes, channel, response)
    ctx.changes.event(channel, always=True)
    return describe_trial(response, failure_reason(channel.provider, response))


def _validated_url_and_status_changes(channel: IntegrationChannel, body: ChannelPatch) -> dict[str, Any]:
    """Return the fields for the URL and the status after a change. Raises ValidationProblem for an unsuitable URL."""
    requested_url = body.config.webhook_url
    url = channel.decrypted_url if requested_url == channel.masked_url else requested_url
    has_new_target = url != channel.decrypted_url or body.provider != channel.provider
    if has_new_target:
        _reject_mismatched_or_masked_url(body.provider, url)
    url_fields = {**encrypted_url_fields(channel.id, url), "free_at": None} if url != channel.decrypted_url else {}
    is_reset = has_new_target or (body.enabled and not channel.enabled)
    return {**url_fields, **(HEALTHY_FIELDS if is_reset else {})}


def _reject_mismatched_or_masked_url(provider: Provider, url: str) -> None:
    """Raise ValidationProblem if the provider can't receive messages at a URL."""
    error = url_mismatch_reason(provider, url) if settings().stage != "local" else None
    if MASK in url:
        error = "is masked, but differs from the current masked URL; send the full URL"
    if error:
        raise ValidationProblem([FieldError("/config/webhookUrl", "malformed", error)])
