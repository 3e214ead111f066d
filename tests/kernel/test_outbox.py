from typing import Any

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import tasks
from chalicelib.kernel.work.outbox import Origin, commit
from chalicelib.kernel.work.tasks import UnknownTask, task
from tests.harness import cloud
from tests.harness.parcels import Parcel, parcel

pytestmark = pytest.mark.usefixtures("aws", "_no_tasks")


@pytest.fixture
def _no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_tasks", {})


def send(_message: dict[str, Any]) -> None:
    """Send nothing."""


def weigh(_message: dict[str, Any]) -> None:
    """Weigh nothing."""


def made() -> UnitOfWork:
    changes = UnitOfWork(now())
    changes.create(parcel("a"))
    return changes


class TestEventsOfATask:
    def test_what_it_declares_is_committed(self) -> None:
        task("parcels.send", emits={"parcel.sent": Parcel})(send)
        commit(made(), "parcel.sent", Origin.system("parcels.send"))
        assert [item["type"] for item in cloud.stored() if item.get("kind") == "entry"] == ["parcel.sent"]
        assert [(declared.name, declared.emits) for declared in tasks.all_tasks()] == [
            ("parcels.send", {"parcel.sent": Parcel})
        ]

    def test_what_it_does_not_declare_is_refused_and_nothing_is_changed(self) -> None:
        task("parcels.send", emits={"parcel.sent": Parcel})(send)
        task("parcels.weigh")(weigh)
        for name in ("parcels.send", "parcels.weigh"):
            with pytest.raises(ValueError, match=r"does not say that it emits 'parcel\.lost'"):
                commit(made(), "parcel.lost", Origin.system(name))
        assert cloud.stored() == []

    def test_of_what_is_no_task_nothing_is_told(self) -> None:
        with pytest.raises(UnknownTask):
            Origin.system("parcels.send")

    def test_no_two_have_one_name(self) -> None:
        task("parcels.send")(send)
        with pytest.raises(ValueError, match="two tasks are named"):
            task("parcels.send")(weigh)
