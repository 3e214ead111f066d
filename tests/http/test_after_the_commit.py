import pytest

from chalicelib.kernel.core.settings import settings
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.workers import Workers


def test_a_missing_queue_does_not_undo_the_commit(
    api: Api,
    ada: Person,
    workers: Workers,
    clock: Clock,
    configure: Configure,
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = settings().events_queue_url
    configure(events_queue_url=queue.replace("events", "gone"))
    response = api.post("/organizations", as_=ada, json={"name": "Engines"})
    assert response.status == 201  # The organization is committed: an error would make the client repeat the request.
    assert [vars(record)["wake"] for record in caplog.records if "wake" in vars(record)] == ["QueueDoesNotExist"]

    configure(events_queue_url=queue)
    clock.shift(minutes=1)
    workers.sweep()
    workers.deliver()
    entries = api.items(f"{response.location}/audit-log", as_=ada)
    assert [entry["sequence"] for entry in entries] == [1]
