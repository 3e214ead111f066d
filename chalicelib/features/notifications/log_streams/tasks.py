"""Tasks of log streams: starting their workers, sending batches, and disabling streams that keep failing."""

from typing import Any

from chalicelib.features.notifications.entities import START_STREAM_TASK
from chalicelib.features.notifications.log_streams.entities import (
    HEALTHY_FIELDS,
    LogStream,
    StreamNotice,
    StreamProgress,
)
from chalicelib.features.notifications.log_streams.logic import stream_worker
from chalicelib.features.notifications.logic import admin_notices
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import now, now_ms
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox, queues, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

DISABLED_EVENT = "organization.log_stream.disabled"


@task(START_STREAM_TASK, emits={DISABLED_EVENT: LogStream})
def start_stream_worker(message: dict[str, Any]) -> None:
    """Queue the worker of a stream, or disable a stream whose destination has accepted nothing for days.

    The worker runs in the function for slow recipients, where it does not delay webhooks. That function has no key to
    authenticate log entries, so it cannot disable a stream itself.
    """
    progress = tasks.load_record_or_none(StreamProgress, message)
    if progress is None or not stream_worker.is_due(progress):
        return
    if progress.pending_disable_reason:
        _disable_stream(progress)
    else:
        queues.enqueue_delivery_to_slow_recipient(stream_worker.build_message(progress))


@task(stream_worker.SEND_TASK)
def send_batches(message: dict[str, Any]) -> None:
    """Send the waiting entries of a stream in batches, in the order of the log, until the message's `until`."""
    stream_worker.send_waiting_batches(message, message.get("until", now_ms()))


@task(StreamNotice.task)
def notify_stream_disabled(message: dict[str, Any]) -> None:
    """Notify the admins of an organization by email that the service disabled a log stream."""
    admin_notices.send_to_admins(message, StreamNotice, LogStream, _render_email)


def _render_email(notice: StreamNotice, stream: LogStream, organization: Organization) -> mail.Email:
    return mail.render_email(
        "features/notifications/log_streams/mail.jinja",
        organization=organization.name,
        destination=stream.audit_log_label,
        reason=stream.disabled_reason,
        failing_since=notice.failing_since,
    )


def _disable_stream(progress: StreamProgress) -> None:
    """Disable a stream, unless it is deleted, or paused by a user. Raises ConcurrentModification."""
    item = table.get(stream_worker.stream_key(progress))
    stream = LogStream.from_item(item) if item else None
    changes = UnitOfWork(now())
    changes.update_untracked(progress, **{**HEALTHY_FIELDS, "failing_since": progress.failing_since, "due_at": None})
    if stream is None or stream.status != "active":
        changes.commit()
        return
    disabled = changes.event(changes.update(stream, enabled=False, disabled_reason=progress.pending_disable_reason))
    notice = StreamNotice.create(disabled, progress.failing_since, changes.now)
    admin_notices.create_if_mail_is_sent(changes, notice)
    outbox.commit(changes, Origin.system(START_STREAM_TASK))
