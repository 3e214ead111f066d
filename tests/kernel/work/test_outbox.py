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


@pytest.fixture(autouse=True)
def no_tasks(aws, monkeypatch):
    monkeypatch.setattr(tasks, "_tasks", {})


def send(_message: dict[str, Any]) -> None:
    """Send nothing."""


def weigh(_message: dict[str, Any]) -> None:
    """Weigh nothing."""


def create_parcel():
    unit_of_work = UnitOfWork(now())
    unit_of_work.create(build_parcel("a"))
    return unit_of_work


def test_only_a_declared_event_is_committed():
    task("parcels.send", emits={"parcel.sent": Parcel})(send)
    task("parcels.weigh")(weigh)
    for name in ("parcels.send", "parcels.weigh"):
        with pytest.raises(ValueError, match=r"does not declare that it emits 'parcel\.lost'"):
            commit(create_parcel(), "parcel.lost", Origin.system(name))
    assert memory_aws.all_items() == []
    commit(create_parcel(), "parcel.sent", Origin.system("parcels.send"))
    assert [item["type"] for item in memory_aws.all_items() if item.get("kind") == "entry"] == ["parcel.sent"]
    registered = {each.name: each.emits for each in tasks.all_tasks()}
    assert registered == {"parcels.send": {"parcel.sent": Parcel}, "parcels.weigh": {}}


def test_tasks_have_unique_names_and_only_known_ones_are_origins():
    with pytest.raises(UnknownTask):
        Origin.system("parcels.send")
    task("parcels.send")(send)
    with pytest.raises(ValueError, match="two tasks are named"):
        task("parcels.send")(weigh)
