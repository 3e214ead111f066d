"""The outbox commits only events that the task of their origin declares."""

from typing import Any

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import tasks
from chalicelib.kernel.work.outbox import Origin, commit
from chalicelib.kernel.work.tasks import UnknownTask, task
from tests.harness import memory_aws
from tests.harness.sample_entity import Parcel, build_parcel

pytestmark = pytest.mark.usefixtures("aws", "_no_tasks")


@pytest.fixture
def _no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_tasks", {})


def send(_message: dict[str, Any]) -> None:
    """Send nothing."""


def weigh(_message: dict[str, Any]) -> None:
    """Weigh nothing."""


def create_parcel() -> UnitOfWork:
    unit_of_work = UnitOfWork(now())
    unit_of_work.create(build_parcel("a"))
    return unit_of_work


class TestTaskEvents:
    def test_a_declared_event_is_committed(self):
        task("parcels.send", emits={"parcel.sent": Parcel})(send)
        commit(create_parcel(), "parcel.sent", Origin.system("parcels.send"))
        assert [item["type"] for item in memory_aws.all_items() if item.get("kind") == "entry"] == ["parcel.sent"]
        assert [(registered.name, registered.emits) for registered in tasks.all_tasks()] == [
            ("parcels.send", {"parcel.sent": Parcel})
        ]

    def test_an_undeclared_event_is_rejected_without_changes(self):
        task("parcels.send", emits={"parcel.sent": Parcel})(send)
        task("parcels.weigh")(weigh)
        for name in ("parcels.send", "parcels.weigh"):
            with pytest.raises(ValueError, match=r"does not declare that it emits 'parcel\.lost'"):
                commit(create_parcel(), "parcel.lost", Origin.system(name))
        assert memory_aws.all_items() == []

    def test_an_unknown_task_cannot_be_an_origin(self):
        with pytest.raises(UnknownTask):
            Origin.system("parcels.send")

    def test_two_tasks_cannot_have_the_same_name(self):
        task("parcels.send")(send)
        with pytest.raises(ValueError, match="two tasks are named"):
            task("parcels.send")(weigh)
