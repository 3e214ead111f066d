"""Background work of a deployed stage: queue mappings, the schedule and invoked functions."""

import json
from typing import Final

import httpx
import pytest
from standardwebhooks import Webhook

from infrastructure.resources import MAX_RECEIVES
from tests.deployed.deployment import STAGE
from tests.emulator.log_reader import list_entries, read_integrity_report, read_verified_log, wait_until_appended
from tests.emulator.test_sites_in_a_browser import create_published_site
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.exhaustive, pytest.mark.xdist_group("deployed")]

BATCH_SIZE: Final = 10
POLL_SECONDS: Final = 0.2
"""Polling more than ten times a second would exceed the rate limit of a minute."""


def test_webhook_receives_a_signed_event(create_client, external_server):
    ada = create_client("ada")
    path = f"/organizations/{ada.create_organization()}"
    target = external_server.url_at(str(external_server.server_address[0]), "/events")
    webhook = ada.post(f"{path}/webhooks", json={"url": target, "events": ["organization.updated"]}).json()
    response = ada.patch(path, json={"name": "Difference Engines"})
    wait_until(lambda: any(request.path == "/events" for request in external_server.requests), timeout_seconds=60)
    (delivery,) = [request for request in external_server.requests if request.path == "/events"]
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    event = Webhook(webhook["secret"]).verify(delivery.body, headers)
    assert (event["type"], event["data"]["name"]) == ("organization.updated", "Difference Engines")
    assert headers["x-request-id"] == response.headers["X-Request-Id"]


def test_person_is_erased_and_the_log_stays_valid(create_client):
    ada, grace = create_client("ada"), create_client("grace")
    organization = ada.create_organization()
    path = f"/organizations/{organization}"
    ada.invite_and_accept(organization, grace, "editor")
    assert "grace@example.com" in json.dumps(list_entries(ada, organization))
    wait_until_appended(ada, organization)
    erasure = ada.post(f"{path}/erasures", json={"email": "grace@example.com"})
    url = erasure.url.join(erasure.headers["Location"])
    wait_until(lambda: ada.get(url).json()["status"] == "completed", interval_seconds=POLL_SECONDS)
    assert wait_until_appended(ada, organization)["valid"]
    assert "grace@example.com" not in json.dumps(list_entries(ada, organization))


def test_published_page_is_public(stage, create_client):
    site, _ = create_published_site(create_client("ada"))
    page = httpx.get(f"{stage.url}{site}/pages/home", headers={**stage.headers, "Accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<title>Welcome \u2013 Analytical Engines</title>" in page.text


def test_migrations_load_the_reference_data(stage, create_client):
    assert {migration["state"] for migration in stage.migration_results} == {"applied"}
    assert stage.account.invoke(STAGE.function_name("migrate")) == []
    ada = create_client("ada")
    assert ada.get("/reference/countries/gb").json()["name"] == "United Kingdom"
    assert ada.get("/system/migrations/health").json() == {"healthy": True, "pending": 0, "failed": 0}


def test_only_failed_messages_of_a_batch_are_retried_until_dead_lettered(stage):
    sqs, queue = stage.account.client("sqs"), stage.queue_url("deliveries-slow")
    invalid_message = {"task": "of another service"}
    valid_messages = [{"task": "webhooks.probe", "pk": "W#nobody", "sk": f"{n}"} for n in range(BATCH_SIZE - 1)]
    bodies = enumerate([invalid_message, *valid_messages])
    entries = [{"Id": str(n), "MessageBody": json.dumps(body)} for n, body in bodies]
    original_attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])["Attributes"]
    with stage.pause_function("deliveries_slow"):
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "1"})
    wait_until(lambda: stage.count_messages("deliveries-slow") == 0, timeout_seconds=60)
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=original_attributes)
    dead_letters = stage.queue_url("deliveries-slow-dead")
    dead_messages = sqs.receive_message(QueueUrl=dead_letters, MaxNumberOfMessages=BATCH_SIZE)["Messages"]
    assert [json.loads(message["Body"]) for message in dead_messages] == [invalid_message]
    log_lines = stage.account.read_log_lines(STAGE.function_name("deliveries_slow"))
    assert len([line for line in log_lines if "of another service" in line]) >= MAX_RECEIVES


def test_schedule_appends_entries_whose_message_was_lost(organization_with_lost_message):
    ada, organization = organization_with_lost_message
    wait_until(lambda: read_integrity_report(ada, organization)["treeSize"] == 1, 90, interval_seconds=POLL_SECONDS)
    assert [entry["type"] for entry in read_verified_log(ada, organization)] == ["organization.created"]
