"""The checks of custom domains that nobody asks for: of pending ones often at first, of verified ones once a day."""

from typing import Any, Final

from chalicelib.features.domains.checks import check
from chalicelib.features.domains.entities import CHECK, CustomDomain
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_EVENTS: Final = {status: f"platform.custom_domain.{status}" for status in ("verified", "failed", "lapsed")}


@task(CHECK, emits=dict.fromkeys(_EVENTS.values(), CustomDomain))
def check_domain(message: dict[str, Any]) -> None:
    """Look at a domain whose time it is. Only what becomes of it makes an entry; that it was looked at is settled."""
    custom = tasks.load_record(CustomDomain, message)
    if custom is None or custom.next_check_at is None or custom.next_check_at > now():
        return
    fields, changes = check(custom, now()), UnitOfWork(now())
    if fields["status"] == custom.status:
        changes.update_untracked(custom, **fields)
        changes.commit()
    else:
        changes.update(custom, **fields)
        outbox.commit(changes, _EVENTS[fields["status"]], Origin.system(CHECK))
