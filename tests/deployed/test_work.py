"""Work after the answer, on a deployed stage: the queues' mappings, the schedule and the functions that are called."""

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
from tests.emulator.test_sites_in_a_browser import site_of
from tests.harness.waiting import until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]

BATCH: Final = 10
LOOK_SECONDS: Final = 0.2
"""Who looks more often than ten times a second has used up the requests of a minute."""


def test_a_webhook_is_told_what_happened_by_who_has_its_secret(calling: Calling, outside: Outside) -> None:
    ada = calling("ada")
    path = f"/organizations/{ada.makes_organization()}"
    target = outside.at(str(outside.server_address[0]), "/events")
    made = ada.post(f"{path}/webhooks", json={"url": target, "events": ["organization.updated"]}).json()
    answer = ada.patch(path, json={"name": "Difference Engines"})
    until(lambda: any(request.path == "/events" for request in outside.requests), seconds=60)
    (told,) = [request for request in outside.requests if request.path == "/events"]
    headers = {name.lower(): value for name, value in told.headers.items()}
    event = Webhook(made["secret"]).verify(told.body, headers)
    assert (event["type"], event["data"]["name"]) == ("organization.updated", "Difference Engines")
    assert headers["x-request-id"] == answer.headers["X-Request-Id"]


def test_somebody_is_erased_and_the_log_stays_whole(calling: Calling) -> None:
    ada, grace = calling("ada"), calling("grace")
    organization = ada.makes_organization()
    path = f"/organizations/{organization}"
    ada.invites(organization, grace, "editor")
    assert "grace@example.com" in json.dumps(entries_of(ada, organization))
    settled(ada, organization)
    begun = ada.post(f"{path}/erasures", json={"email": "grace@example.com"})
    where = begun.url.join(begun.headers["Location"])
    until(lambda: ada.get(where).json()["status"] == "completed", seconds=60, every=LOOK_SECONDS)
    assert settled(ada, organization)["valid"]
    assert "grace@example.com" not in json.dumps(entries_of(ada, organization))


def test_a_published_page_is_read_by_everyone(stage: Deployment, calling: Calling) -> None:
    site, _ = site_of(calling("ada"))
    page = httpx.get(f"{stage.url}{site}/pages/home", headers={**stage.headers, "Accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<title>Welcome \u2013 Analytical Engines</title>" in page.text


def test_migrations_bring_the_reference_data(stage: Deployment, calling: Calling) -> None:
    assert {migration["state"] for migration in stage.migrated} == {"applied"}
    assert stage.account.invoke(STAGE.function("migrate")) == []
    ada = calling("ada")
    assert ada.get("/reference/countries/gb").json()["name"] == "United Kingdom"
    assert ada.get("/system/migrations/health").json() == {"healthy": True, "pending": 0, "failed": 0}


def test_of_a_batch_only_what_failed_comes_again_until_it_is_put_aside(stage: Deployment) -> None:
    sqs, queue = stage.account.client("sqs"), stage.queue("deliveries-slow")
    good = [{"task": "webhooks.probe", "pk": "W#nobody", "sk": f"{n}"} for n in range(BATCH - 1)]
    bad = {"task": "of another service"}
    entries = [{"Id": str(n), "MessageBody": json.dumps(body)} for n, body in enumerate([bad, *good])]
    usual = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])["Attributes"]
    with stage.paused("deliveries_slow"):
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "1"})
    until(lambda: stage.waiting("deliveries-slow") == 0, seconds=60)
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=usual)
    put_aside = sqs.receive_message(QueueUrl=stage.queue("deliveries-slow-dead"), MaxNumberOfMessages=BATCH)
    assert [json.loads(message["Body"]) for message in put_aside["Messages"]] == [bad]
    handled = [line for line in stage.account.lines(STAGE.function("deliveries_slow")) if "of another service" in line]
    assert len(handled) >= MAX_RECEIVES


def test_what_no_message_tells_of_is_found_by_the_schedule(lost: tuple[Caller, str]) -> None:
    ada, organization = lost
    until(lambda: verified(ada, organization)["treeSize"] == 1, seconds=90, every=LOOK_SECONDS)
    assert [entry["type"] for entry in whole_log(ada, organization)] == ["organization.created"]
