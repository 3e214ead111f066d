"""Background work of a deployed stage: queue mappings, the schedule and invoked functions."""

import json
from typing import Final

import httpx
import pytest
from standardwebhooks import Webhook

from infrastructure.resources import MAX_RECEIVES
from tests.deployed.deployment import STAGE, Deployment
from tests.deployed.external_server import Outside
from tests.emulator.conftest import Calling
from tests.emulator.outside import entries_of, settled, verified, whole_log
from tests.emulator.people import Caller
from tests.emulator.test_sites_in_a_browser import create_published_site
from tests.harness.waiting import until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]

BATCH_SIZE: Final = 10
POLL_SECONDS: Final = 0.2
"""Polling more than ten times a second would exceed the rate limit of a minute."""


def test_webhook_receives_a_signed_event(calling: Calling, outside: Outside) -> None:
    ada = calling("ada")
    path = f"/organizations/{ada.makes_organization()}"
    target = outside.at(str(outside.server_address[0]), "/events")
    webhook = ada.post(f"{path}/webhooks", json={"url": target, "events": ["organization.updated"]}).json()
    response = ada.patch(path, json={"name": "Difference Engines"})
    until(lambda: any(request.path == "/events" for request in outside.requests), seconds=60)
    (delivery,) = [request for request in outside.requests if request.path == "/events"]
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    event = Webhook(webhook["secret"]).verify(delivery.body, headers)
    assert (event["type"], event["data"]["name"]) == ("organization.updated", "Difference Engines")
    assert headers["x-request-id"] == response.headers["X-Request-Id"]


def test_person_is_erased_and_the_log_stays_valid(calling: Calling) -> None:
    ada, grace = calling("ada"), calling("grace")
    organization = ada.makes_organization()
    path = f"/organizations/{organization}"
    ada.invites(organization, grace, "editor")
    assert "grace@example.com" in json.dumps(entries_of(ada, organization))
    settled(ada, organization)
    erasure_response = ada.post(f"{path}/erasures", json={"email": "grace@example.com"})
    erasure_url = erasure_response.url.join(erasure_response.headers["Location"])
    until(lambda: ada.get(erasure_url).json()["status"] == "completed", seconds=60, every=POLL_SECONDS)
    assert settled(ada, organization)["valid"]
    assert "grace@example.com" not in json.dumps(entries_of(ada, organization))


def test_published_page_is_public(stage: Deployment, calling: Calling) -> None:
    site, _ = create_published_site(calling("ada"))
    page = httpx.get(f"{stage.url}{site}/pages/home", headers={**stage.headers, "Accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<title>Welcome \u2013 Analytical Engines</title>" in page.text


def test_migrations_load_the_reference_data(stage: Deployment, calling: Calling) -> None:
    assert {migration["state"] for migration in stage.migrated} == {"applied"}
    assert stage.account.invoke(STAGE.function("migrate")) == []
    ada = calling("ada")
    assert ada.get("/reference/countries/gb").json()["name"] == "United Kingdom"
    assert ada.get("/system/migrations/health").json() == {"healthy": True, "pending": 0, "failed": 0}


def test_only_failed_messages_of_a_batch_are_retried_until_dead_lettered(stage: Deployment) -> None:
    sqs, queue = stage.account.client("sqs"), stage.queue("deliveries-slow")
    valid_messages = [{"task": "webhooks.probe", "pk": "W#nobody", "sk": f"{n}"} for n in range(BATCH_SIZE - 1)]
    invalid_message = {"task": "of another service"}
    entries = [
        {"Id": str(n), "MessageBody": json.dumps(body)} for n, body in enumerate([invalid_message, *valid_messages])
    ]
    original_attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])["Attributes"]
    with stage.paused("deliveries_slow"):
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "1"})
    until(lambda: stage.waiting("deliveries-slow") == 0, seconds=60)
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=original_attributes)
    dead_messages = sqs.receive_message(QueueUrl=stage.queue("deliveries-slow-dead"), MaxNumberOfMessages=BATCH_SIZE)
    assert [json.loads(message["Body"]) for message in dead_messages["Messages"]] == [invalid_message]
    log_lines = [
        line for line in stage.account.lines(STAGE.function("deliveries_slow")) if "of another service" in line
    ]
    assert len(log_lines) >= MAX_RECEIVES


def test_schedule_appends_entries_whose_message_was_lost(lost: tuple[Caller, str]) -> None:
    ada, organization = lost
    until(lambda: verified(ada, organization)["treeSize"] == 1, seconds=90, every=POLL_SECONDS)
    assert [entry["type"] for entry in whole_log(ada, organization)] == ["organization.created"]
