"""The purge of an organization whose time to be restored is over."""

from typing import Any, Final

from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.purges.logic import clear_held, clear_place
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_TASK: Final = "organizations.purge"
_PURGED: Final = "organization.purged"
_GRACE_SECONDS: Final = 120
"""How much later than the last possible restoration the purge begins: no clock is that far off."""


@task(_TASK, emits={_PURGED: Organization})
def purge_organization(message: dict[str, Any]) -> None:
    """Remove all that an organization holds, a few records a transaction, and the organization itself last.

    What a record holds goes before it. Before the organization go the exports of its log, whose names begin with its
    id: no record is there any more that makes one. The log stays, as evidence. Started again, it goes on with what is
    left.
    """
    organization = tasks.load_record(Organization, message)
    if organization is None or (organization.deletion_due_at or "~") > after(now(), seconds=-_GRACE_SECONDS):
        return
    clear_place(Organization, organization.id)
    files.delete_prefix(settings().exports_bucket, f"{organization.id}/")
    clear_held(organization)
    changes = UnitOfWork(now())
    changes.delete(organization, ended=True)
    outbox.commit(changes, _PURGED, Origin.system(_TASK))
