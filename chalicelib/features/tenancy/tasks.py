"""The purge of a deleted organization that can no longer be restored."""

from typing import Any, Final

from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.purges.logic import delete_child_items, purge_container_contents
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_PURGE_TASK: Final = "organizations.purge"
_PURGED_EVENT: Final = "organization.purged"
_GRACE_SECONDS: Final = 120
"""Time between the last possible restoration and the purge, which is longer than the difference between clocks."""


@task(_PURGE_TASK, emits={_PURGED_EVENT: Organization})
def purge_contents_and_delete_organization(message: dict[str, Any]) -> None:
    """Remove everything that a deleted organization contains, a few records per transaction, and the organization last.

    The children of a record are removed before the record. The exports of the log are removed before the organization,
    because their object keys begin with its id. The log stays as evidence. A repeated run continues with what is left.
    """
    organization = tasks.load_record_or_none(Organization, message)
    if organization is None or (organization.deletion_due_at or "~") > after(now(), seconds=-_GRACE_SECONDS):
        return
    purge_container_contents(Organization, organization.id)
    files.delete_files_and_uploads_with_prefix(settings().exports_bucket, f"{organization.id}/")
    delete_child_items(organization)
    changes = UnitOfWork(now())
    changes.delete(organization, grants_no_access=True)
    changes.event(organization)
    outbox.commit(changes, Origin.system(_PURGE_TASK))
