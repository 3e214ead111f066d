import pytest

from chalicelib.kernel.core.settings import settings
from tests.conftest import SettingsOverride
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.workers import Workers


def test_a_missing_queue_does_not_undo_the_commit(
    api: ApiClient,
    ada: Person,
    workers: Workers,
    clock: Clock,
    configure: SettingsOverride,
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = settings().events_queue_url
    configure(events_queue_url=queue.replace("events", "gone"))
    response = api.post("/organizations", caller=ada, json={"name": "Engines"})
    assert response.status == 201  # The organization is committed: an error would make the client repeat the request.
    assert [vars(record)["wake"] for record in caplog.records if "wake" in vars(record)] == ["QueueDoesNotExist"]

    configure(events_queue_url=queue)
    clock.shift(minutes=1)
    workers.run_sweep()
    workers.deliver()
    entries = api.get_items(f"{response.location}/audit-log", caller=ada)
    assert [entry["sequence"] for entry in entries] == [1]
