"""Integration channels of an organization: list, create, read, change, remove, test."""

from collections.abc import Mapping
from typing import Any

from chalicelib.features.channels.entities import IntegrationChannel, kept
from chalicelib.features.channels.messages import Notice
from chalicelib.features.channels.models import MASK, ChannelCreate, ChannelOut, ChannelPatch, Provider
from chalicelib.features.channels.rules import MENDED, failure, misfit
from chalicelib.features.channels.sending import judge, send
from chalicelib.features.deliveries.entities import Clearing
from chalicelib.features.deliveries.models import TrialOut
from chalicelib.features.deliveries.reach import areas_within_reach, within_reach
from chalicelib.features.deliveries.rules import TRIAL_BUDGETS, TRIAL_SECONDS
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/integration-channels",
    access=at_organization(Role.ADMIN),
    scope="channels:read",
    emits=None,
)
def list_integration_channels(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[ChannelOut]:
    """List an organization's integration channels, in the order they were created."""
    listed = IntegrationChannel.in_organization
    return ctx.list_records(IntegrationChannel, listed, query, ChannelOut.of, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/integration-channels",
    access=at_organization(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.created",
    grants_access=True,
)
def create_integration_channel(ctx: Context, organization: Organization, body: ChannelCreate) -> ChannelOut:
    """Create an integration channel: a room of Slack, Discord or Teams that is told of events, in words.

    Its messages are in the provider's own format, one a second at most. The provider `webhook` stands for any other
    program: it gets `{text, event}`. The URL is a secret; from now on it is shown masked.
    """
    _check(body.provider, body.config.webhook_url)
    areas = areas_within_reach(ctx, body.events)
    begun = ctx.new_record_fields()
    channel = IntegrationChannel(
        **begun,
        organization_id=organization.id,
        provider=body.provider,
        name=body.name,
        events=body.events,
        enabled=body.enabled,
        areas=areas,
        **kept(begun["id"], body.config.webhook_url),
    )
    return ChannelOut.of(ctx.changes.create(channel))


@routes.get(
    "/organizations/{organization_id}/integration-channels/{channel_id}",
    access=at_organization(Role.ADMIN),
    scope="channels:read",
    emits=None,
)
def get_integration_channel(_ctx: Context, channel: IntegrationChannel) -> ChannelOut:
    """Get an integration channel."""
    return ChannelOut.of(channel)


@routes.patch(
    "/organizations/{organization_id}/integration-channels/{channel_id}",
    access=at_organization(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.updated",
    grants_access=True,
)
def update_integration_channel(ctx: Context, channel: IntegrationChannel, body: ChannelPatch) -> ChannelOut:
    """Change an integration channel; sent back masked, its URL stays the same.

    One that needs attention works again with another URL or provider, or once it was switched off and on again.
    Created or changed by an API key, it is told of what lies within the areas that the key may read.
    """
    given = body.config.webhook_url
    url = channel.url if given == channel.masked_url else given
    moved: dict[str, Any] = {**kept(channel.id, url), "free_at": None} if url != channel.url else {}
    if anew := bool(moved) or body.provider != channel.provider:
        _check(body.provider, url)
    mended: Mapping[str, Any] = MENDED if anew or (body.enabled and not channel.enabled) else {}
    changed = ctx.changes.update(
        channel, provider=body.provider, name=body.name, events=body.events, enabled=body.enabled, **moved, **mended
    )
    return ChannelOut.of(within_reach(ctx, changed, channel))


@routes.delete(
    "/organizations/{organization_id}/integration-channels/{channel_id}",
    access=at_organization(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.deleted",
    grants_access=True,
)
def delete_integration_channel(ctx: Context, channel: IntegrationChannel) -> None:
    """Delete an integration channel; what was still on its way to it is dropped."""
    ctx.changes.delete(channel)
    ctx.changes.enqueue_after_commit(Clearing.task, ctx.changes.create(Clearing.after(channel, ctx.now)))


@routes.post(
    "/organizations/{organization_id}/integration-channels/{channel_id}/test",
    success=200,
    access=at_organization(Role.ADMIN),
    scope="channels:write",
    emits="organization.integration_channel.tested",
    grants_access=True,
    has_external_effects=True,
    rate_limits=TRIAL_BUDGETS,
)
def test_integration_channel(ctx: Context, channel: IntegrationChannel) -> TrialOut:
    """Send an integration channel a message now, whatever its state, and tell within 5 s whether it arrived.

    An organization may try 10 times a minute, its webhooks and channels together, whoever asks; one user or API key 30
    times, in all organizations.

    If it did, the channel needs no attention any more; if it never will, it does, and `lastError` says why.
    """
    notice = Notice.trial(ctx.principal.actor, channel, ctx.now)
    answer = ctx.once(lambda: send(channel, notice, TRIAL_SECONDS))
    judge(ctx.changes, channel, answer)
    ctx.changes.set_event_subject(channel)
    return TrialOut(
        delivered=answer.succeeded,
        status_code=answer.status,
        error=failure(channel.provider, answer),
        duration_ms=answer.duration_ms,
    )


def _check(provider: Provider, url: str) -> None:
    """Raise Invalid if messages to the provider can't go to a URL."""
    fault = misfit(provider, url) if settings().stage != "local" else None
    if MASK in url:
        fault = "is masked, and not as it was read last; send the whole URL"
    if fault:
        raise ValidationProblem([FieldError("/config/webhookUrl", "malformed", fault)])
