from chalicelib.kernel.core.settings import settings


def test_a_missing_queue_does_not_undo_the_commit(api, ada, workers, clock, configure, caplog):
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
