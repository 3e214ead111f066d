"""Scheduled checks of custom domains: frequent for pending domains, daily for verified ones."""

from typing import Any, Final

from chalicelib.features.platforms.domains.entities import CHECK_TASK, CustomDomain
from chalicelib.features.platforms.domains.logic.dns_check import query_dns_for_verification_changes
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_EVENTS_BY_STATUS: Final = {status: f"platform.custom_domain.{status}" for status in ("verified", "failed", "lapsed")}


@task(CHECK_TASK, emits=dict.fromkeys(_EVENTS_BY_STATUS.values(), CustomDomain))
def check_due_domain(message: dict[str, Any]) -> None:
    """Check a domain whose next check is due. Only a change of its status is logged as an event."""
    custom_domain = tasks.load_record_or_none(CustomDomain, message)
    if custom_domain is None or custom_domain.next_check_at is None or custom_domain.next_check_at > now():
        return
    fields, changes = query_dns_for_verification_changes(custom_domain, now()), UnitOfWork(now())
    if fields["status"] == custom_domain.status:
        changes.update_untracked(custom_domain, **fields)
        changes.commit()
    else:
        changes.event(custom_domain, _EVENTS_BY_STATUS[fields["status"]])
        changes.update(custom_domain, **fields)
        outbox.commit(changes, Origin.system(CHECK_TASK))
