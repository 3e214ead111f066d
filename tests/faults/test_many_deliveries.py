"""Events to twelve webhooks, two of which fail: the others receive all events in the order of the log.

`python -m benchmarks.deliveries.lag` does the same with a thousand events on the emulator and measures the lag.
"""

from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import post_webhook
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Reply
from tests.harness.webhooks import create_webhook, parse_event, rename_organization

EVENTS, WEBHOOKS = 14, 12  # A call of SQS queues the deliveries to ten of them.
HANGING_PATH, FAILING_PATH = "/0", "/1"


def test_working_webhooks_receive_all_events_in_order(api, organization, workers, receiver, monkeypatch, configure):
    configure(webhook_allow_private="1")
    # Only the hanging webhook has a short time limit: a busy machine may delay any of the other replies by seconds.
    monkeypatch.setattr(
        webhook_client,
        "post_webhook",
        lambda url, body, headers: post_webhook(url, body, headers, 1.0 if url.endswith(HANGING_PATH) else None),
    )
    receiver.replies_by_path |= {HANGING_PATH: NO_REPLY, FAILING_PATH: Reply(status=500)}
    paths = [f"/{n}" for n in range(WEBHOOKS)]
    for path in paths:
        create_webhook(api, organization, receiver.url_at("127.0.0.1", path), events=["organization.updated"])
    for n in range(EVENTS):
        rename_organization(api, organization, f"Name {n}")
    workers.deliver()
    requests_by_path: dict[str, list[ReceivedRequest]] = {path: [] for path in paths}
    for request in receiver.requests:
        requests_by_path[request.path].append(request)
    for path in paths[2:]:
        assert [parse_event(request)["data"]["name"] for request in requests_by_path[path]] == [
            f"Name {n}" for n in range(EVENTS)
        ]
        assert len({request.headers["webhook-id"] for request in requests_by_path[path]}) == EVENTS
    assert len(requests_by_path[HANGING_PATH]) < 5
    assert len({request.headers["webhook-id"] for request in requests_by_path[FAILING_PATH]}) == EVENTS
