"""The purge of an organization whose time to be restored is over."""

from typing import Any, Final

from chalicelib.features.organizations.entities import Organization
from chalicelib.kernel import files, outbox, table, tasks
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import after, now
from chalicelib.kernel.entity import KINDS, Entity, Item, Key
from chalicelib.kernel.outbox import Origin
from chalicelib.kernel.settings import settings
from chalicelib.kernel.table import Write
from chalicelib.kernel.tasks import task

_TASK: Final = "organizations.purge"
_PURGED: Final = "organization.purged"
_AT_ONCE: Final = 10
_GRACE_SECONDS: Final = 120
"""How much later than the last possible restoration the purge begins: no clock is that far off."""


@task(_TASK, emits={_PURGED: Organization})
def purge_organization(message: dict[str, Any]) -> None:
    """Remove all that an organization holds, a few records a transaction, and the organization itself last.

    What a record holds goes before it. Before the organization go the exports of its log, whose names begin with its
    id: no record is there any more that makes one. The log stays, as evidence. Started again, it goes on with what is
    left.
    """
    organization = tasks.about(Organization, message)
    if organization is None or (organization.deletion_due_at or "~") > after(now(), seconds=-_GRACE_SECONDS):
        return
    while held := _held(organization.stored_at):
        changes = Changes(now())
        for record in held:
            _remove(changes, record)
        changes.commit()
    files.clear(settings().exports_bucket, f"{organization.id}/")
    _clear(organization)
    changes = Changes(now())
    changes.delete(organization)
    outbox.commit(changes, _PURGED, Origin.system(_TASK))


def _held(place: Key) -> list[Item]:
    # Counts go last: until then the removal of what they count moves them.
    items = [item for item in table.query(place[0], limit=_AT_ONCE + 1).items if item["sk"] != place[1]]
    return [item for item in items if "kind" in item] or items


def _remove(changes: Changes, item: Item) -> None:
    if "kind" in item:
        record = KINDS[item["kind"]].from_item(item)
        _clear(record)
        changes.delete(record)
    else:  # a count
        changes.also(Write("Delete", (item["pk"], item["sk"])))


def _clear(record: Entity) -> None:
    while record.held and table.clear(record.held):
        pass
