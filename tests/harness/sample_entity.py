"""A sample entity that uses every feature of entities. It is not registered as a kind of the service."""

from dataclasses import field
from typing import Any, ClassVar

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.storage.entity import KINDS, Collection, Entity, Item, ScheduledTask
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.unique_values import FormerName, Unique
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work.outbox import commit
from tests.harness.stored_records import committed_changes, new_id_and_time_fields, system_origin

MAX_PARCELS = 3


class ParcelOut(RecordOutput):
    name: str
    label: str
    weight: int


class Parcel(Entity):
    """A parcel. Sent parcels count towards the quota; labels are unique, former labels for 90 days."""

    kind, parameter = "parcel", "parcel_id"
    pk, sk = "P#{organization_id}", "{id}"
    by_weight = Collection("P#{organization_id}#W", "{weight:03d}", index="index1")
    by_label = Unique(
        "parcel-label", "{label}", error_code="slug_taken", field="label", former_values_field="former_labels"
    )
    quota = Quota("parcels", "P#{organization_id}", MAX_PARCELS, lambda parcel: parcel.sent)
    output_model: ClassVar[type[ParcelOut]] = ParcelOut

    organization_id: str
    name: str
    label: str
    weight: int = 1
    sent: bool = True
    due_at: str | None = None
    former_labels: list[FormerName] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """The task that sends the parcel at `due_at`."""
        return ScheduledTask("parcels.send", self.due_at) if self.due_at else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """An item for each hint, which refers to the parcel."""
        return tuple({"pk": f"H#{hint}", "sk": "#", "parcel": self.id} for hint in self.hints)


del KINDS["parcel"]

LOG_ID = "01939d3c-0000-7000-8000-00000000000a"


def build_parcel(label: str = "a", **fields: object) -> Parcel:
    """Return a parcel that is not stored."""
    values: dict[str, Any] = {"organization_id": LOG_ID, "name": f"Parcel {label}", "label": label, **fields}
    return Parcel(**new_id_and_time_fields(now()), **values)


def create_parcel(label: str = "a", **fields: object) -> Parcel:
    """Store a parcel without a log entry, and return it."""
    with committed_changes() as changes:
        return changes.create(build_parcel(label, **fields))


def create_logged_parcel(label: str, log_id: str = LOG_ID) -> Parcel:
    """Store a parcel with a log entry, as a request does, and return it."""
    changes = UnitOfWork(now())
    created = changes.create(build_parcel(label, organization_id=log_id, sent=False))
    changes.event(created)
    commit(changes, system_origin("parcel.created"))
    return created
