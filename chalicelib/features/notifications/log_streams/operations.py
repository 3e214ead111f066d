"""Operations on the log streams of an organization, including test entries."""

from typing import Any

from chalicelib.features.audit.log.logic.log_head import LogHead
from chalicelib.features.notifications.entities import START_STREAM_TASK
from chalicelib.features.notifications.log_streams.entities import (
    LogStream,
    StreamProgress,
)
from chalicelib.features.notifications.log_streams.logic.destination_requests import create_test_batch, send_batch
from chalicelib.features.notifications.log_streams.logic.stream_changes import (
    changed_stream_fields,
    new_stream_and_secret,
    resolve_start_sequence,
    restarted_progress_fields,
    rotate_signing_secret,
)
from chalicelib.features.notifications.log_streams.logic.stream_state import (
    Progress,
    describe_stream,
    describe_streams,
)
from chalicelib.features.notifications.log_streams.models.schemas import (
    LogStreamCreate,
    LogStreamDetailOut,
    LogStreamPatch,
)
from chalicelib.features.notifications.logic.event_access import (
    check_events_and_get_readable_areas,
    limit_changed_recipient_to_caller_areas,
)
from chalicelib.features.notifications.logic.trials import (
    TEST_RATE_LIMITS,
    TEST_TIMEOUT_SECONDS,
    describe_trial,
)
from chalicelib.features.notifications.models.schemas import SecretRotation, TrialOut
from chalicelib.features.notifications.webhooks.logic.webhook_requests import failure_reason
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("log-streams"),))

_TEST_MESSAGE = "Somebody wanted to see whether entries arrive here. Nothing has happened."


@routes.get(
    "/organizations/{organization_id}/log-streams",
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:read",
    emits=None,
)
def list_log_streams(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[LogStreamDetailOut]:
    """List an organization's log streams, in the order of their creation, with their lag.

    Use it to see where the log is sent, and which streams fail or fall behind. No credentials are shown.
    """
    streams = list[LogStream]()
    page: ListPage[Any] = ctx.list_records(
        LogStream, LogStream.in_organization, query, streams.append, organization_id=organization.id
    )
    return ListPage(describe_streams(streams, organization.id), page.next_cursor)


@routes.post(
    "/organizations/{organization_id}/log-streams",
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:write",
    emits="organization.log_stream.created",
    grants_access=True,
)
def create_log_stream(
    ctx: Context, organization: Organization, head: LogHead, body: LogStreamCreate
) -> LogStreamDetailOut:
    """Create a log stream, which sends the entries of the organization's log to a system of yours, in batches.

    Entries are sent in the order of the log, at least once, about 30 s after they occur at the latest. `startAt`
    chooses the first one: `now`, or a sequence, so that earlier entries are sent too. The sections of the guide on log
    streams describe each destination. For an HTTPS endpoint, only this response contains the secret. For S3, put the
    `externalId` of this response into the trust policy of your role. At most 10 streams exist in an organization. A
    stream that an API key creates or changes sends only entries within the areas that the key may read.
    """
    areas = check_events_and_get_readable_areas(ctx, body.events)
    start_sequence = resolve_start_sequence(body.start_at, head.log_size)
    stream, secret = new_stream_and_secret(ctx.new_id_and_time_fields(), organization.id, body, areas, start_sequence)
    progress = StreamProgress.create(stream, due_at=ctx.now if stream.enabled else None)
    ctx.changes.event(ctx.changes.create(stream))
    ctx.changes.enqueue_after_commit(START_STREAM_TASK, ctx.changes.create(progress))
    return describe_stream(stream, progress, head.log_size, secret=secret)


@routes.get(
    "/organizations/{organization_id}/log-streams/{log_stream_id}",
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:read",
    emits=None,
)
def get_log_stream(_ctx: Context, log_stream: LogStream, progress: Progress) -> LogStreamDetailOut:
    """Get a log stream, without its credentials.

    `status` is `active`, `failing` while attempts fail, `paused` by a user, or `disabled` by the service. `lagEntries`
    and `lagSeconds` say how far it is behind the log, and `lastError` why the last failed attempt failed.
    """
    return progress.describe(log_stream)


@routes.patch(
    "/organizations/{organization_id}/log-streams/{log_stream_id}",
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:write",
    emits="organization.log_stream.updated",
    grants_access=True,
)
def update_log_stream(
    ctx: Context, log_stream: LogStream, progress: Progress, body: LogStreamPatch
) -> LogStreamDetailOut:
    """Change, pause, continue or restart a log stream. The change takes effect with the next batch.

    `enabled` = false pauses it: entries wait, and are sent once it is enabled again, also after the service disabled
    it. `startAt` restarts it: with a sequence, entries are sent again or skipped, and `now` skips all that wait. A
    credential that is omitted stays, unless URL or site change. After a change by an API key, the stream sends only
    entries that the key may read.

    A field that the service sets, such as `position`, is rejected unless it has its present value. You can also send a
    whole stream back as you read it, although its lag may have changed since.
    """
    changed = changed_stream_fields(log_stream, body, progress.log_size)
    updated = ctx.changes.update(log_stream, touch=body.start_at is not None, **changed)
    limited = ctx.changes.event(limit_changed_recipient_to_caller_areas(ctx, updated, log_stream))
    record = progress.of(log_stream)
    if fields := restarted_progress_fields(log_stream, limited, restarts=body.start_at is not None, now=ctx.now):
        record = ctx.changes.update_untracked(record, **fields)
        ctx.changes.enqueue_after_commit(START_STREAM_TASK, record)
    return describe_stream(limited, record, progress.log_size)


@routes.delete(
    "/organizations/{organization_id}/log-streams/{log_stream_id}",
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:write",
    emits="organization.log_stream.deleted",
    grants_access=True,
)
def delete_log_stream(ctx: Context, log_stream: LogStream, progress: Progress) -> None:
    """Delete a log stream. Entries that wait are not sent any more.

    To stop it for some time only, set `enabled` to false instead. What was sent stays where it is.
    """
    ctx.changes.delete(log_stream)
    ctx.changes.delete(progress.of(log_stream))
    ctx.changes.event(log_stream)


@routes.post(
    "/organizations/{organization_id}/log-streams/{log_stream_id}/rotate-secret",
    success=200,
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:write",
    emits="organization.log_stream.secret_rotated",
    grants_access=True,
)
def rotate_log_stream_secret(
    ctx: Context, log_stream: LogStream, progress: Progress, body: SecretRotation
) -> LogStreamDetailOut:
    """Replace the secret of a log stream to an HTTPS endpoint. For some hours, the previous secret signs batches too.

    Use it regularly, and at once if the secret may be known to others. Only this response contains the new secret. With
    `graceHours` 0 the previous one becomes invalid immediately. Streams to Splunk and Datadog have a credential of the
    provider instead, which PATCH replaces.
    """
    secret, secrets = rotate_signing_secret(log_stream, body.grace_hours, ctx.now)
    rotated = ctx.changes.event(ctx.changes.update(log_stream, secrets=secrets))
    return describe_stream(rotated, progress.of(rotated), progress.log_size, secret=secret)


@routes.post(
    "/organizations/{organization_id}/log-streams/{log_stream_id}/test",
    success=200,
    access=require_organization_role(Role.ADMIN),
    scope="log-streams:write",
    emits="organization.log_stream.tested",
    grants_access=True,
    has_external_effects=True,
    rate_limits=TEST_RATE_LIMITS,
)
def test_log_stream(ctx: Context, log_stream: LogStream, progress: Progress) -> TrialOut:
    """Send a test entry to the destination of a log stream immediately, whatever its status, and return the result.

    The limit is 10 tests each minute for an organization, over all its webhooks, channels and log streams, and 30 for a
    user or API key over all organizations.

    The test entry has the type `log_stream.test` and no sequence. It is sent only once, in the format of the stream, as
    a batch of one entry. In a bucket, it is the object `test.ndjson.gz`, which the next test replaces.
    """
    batch = create_test_batch(log_stream, ctx.principal_or_anonymous.actor, ctx.now, _TEST_MESSAGE)
    response = ctx.run_once(lambda: send_batch(log_stream, batch, TEST_TIMEOUT_SECONDS))
    record = progress.of(log_stream)
    if response.succeeded and log_stream.enabled and record.failing_since:  # The entries that wait can be sent now.
        ctx.changes.enqueue_after_commit(START_STREAM_TASK, ctx.changes.update_untracked(record, due_at=ctx.now))
    ctx.changes.event(log_stream, always=True)
    return describe_trial(response, failure_reason(response))
