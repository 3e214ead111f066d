"""Webhooks in the console: creating, testing, deliveries, replays, conflicts, links, and what a member sees."""

import json
import re

import pytest

from tests.console.scenarios.webhooks import webhook_ids
from tests.console.tabs import person
from tests.harness.receiver import Receiver, Reply
from tests.harness.sample_deliveries import HOSTILE_ANSWER

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def ids(seeded_service):
    return webhook_ids(seeded_service)


@pytest.fixture
def path(ids):
    return f"/o/{ids['organization']}/webhooks"


@pytest.fixture
def webhook_path(ids, path):
    return f"{path}/{ids['webhook']}"


@pytest.fixture
def read_webhook(seeded_service, ids):
    """A function that reads the webhook as the API answers it."""
    target = f"/organizations/{ids['organization']}/webhooks/{ids['webhook']}"
    return lambda suffix="": seeded_service.caller_for(person("maud")).get(target + suffix)


def test_a_webhook_is_created_with_selected_events_and_its_secret_is_shown_once(open_tab, seeded_service, ids, path):
    page = open_tab(user="maud").open(path)
    page.get_by_role("button", name="Create").click()
    page.get_by_label("URL").fill("https://example.com/hooks")
    page.get_by_role("radio", name=re.compile("Selected events")).check()
    field = page.get_by_label("Event type or prefix")
    field.fill("site.*")
    field.press("Enter")
    field.fill("page.published")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    secret = page.locator(".secret code")
    assert secret.inner_text().startswith("whsec_")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("heading", name="example.com/hooks").wait_for()
    assert secret.count() == 0
    webhooks = seeded_service.caller_for(person("maud")).list_all(f"/organizations/{ids['organization']}/webhooks")
    assert webhooks[-1]["events"] == ["site.*", "page.published"]


def test_an_unknown_event_type_is_named_at_its_field(open_tab, path):
    page = open_tab(user="maud").open(f"{path}?dialog=create")
    page.get_by_label("URL").fill("https://example.com/hooks")
    page.get_by_role("radio", name=re.compile("Selected events")).check()
    page.get_by_label("Event type or prefix").fill("page.eaten")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    page.locator(".problem", has_text="page.eaten").wait_for()
    assert page.get_by_label("Event type or prefix").get_attribute("aria-invalid") == "true"


def test_a_change_by_a_second_client_is_never_overwritten_silently(
    open_tab, seeded_service, ids, webhook_path, read_webhook
):
    page = open_tab(user="maud").open(f"{webhook_path}?dialog=edit")
    page.get_by_label("Description").fill("Mine")
    target = f"/organizations/{ids['organization']}/webhooks/{ids['webhook']}"
    seeded_service.caller_for(person("ines")).patch(target, {"description": "Hers", "events": ["page.*"]})
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    assert page.locator(".merge .value").all_inner_texts()[:2] == ["Mine", "Hers"]
    assert read_webhook()["description"] == "Hers"
    page.get_by_role("radio", name="Yours").check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("dialog").first.wait_for(state="detached")
    assert (read_webhook()["description"], read_webhook()["events"]) == ("Mine", ["page.*"])


def test_a_test_message_shows_what_the_receiver_answered(open_tab, seeded_service, ids, webhook_path):
    with Receiver() as receiver:
        receiver.default_reply = Reply(status=418)
        target = f"/organizations/{ids['organization']}/webhooks/{ids['webhook']}"
        seeded_service.caller_for(person("maud")).patch(target, {"url": receiver.url})
        page = open_tab(user="maud").open(webhook_path)
        page.get_by_role("button", name="Send test").click()
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("status").get_by_text("Not delivered").wait_for()
        page.get_by_text("Response 418").wait_for()
        receiver.default_reply = Reply(status=204)
        page.get_by_role("button", name="Send again").click()
        page.get_by_role("status").get_by_text("Delivered", exact=True).wait_for()
        assert len(receiver.requests) == 2


def test_deliveries_are_filtered_by_the_address(open_tab, webhook_path):
    tab = open_tab(user="maud")
    page = tab.open(webhook_path)
    page.get_by_role("table", name=re.compile("Deliveries")).wait_for()
    page.get_by_label("Status").select_option("failed")
    page.get_by_text("1 delivery").wait_for()
    assert "status=failed" in page.url
    page.get_by_label(re.compile("From")).fill("2030-01-01T00:00")
    page.get_by_role("heading", name="No delivery matches").wait_for()
    page.go_back()
    page.get_by_text("1 delivery").wait_for()


def test_answers_of_receivers_are_only_text(open_tab, ids, webhook_path):
    page = open_tab(user="maud").open(f"{webhook_path}/deliveries/{ids['delivery']}")
    page.get_by_text("Answer 500").wait_for()
    assert HOSTILE_ANSWER in page.locator(".attempts").inner_text()
    assert page.locator("main img, main script").count() == 0
    assert page.locator(".attempts > li").count() == 3
    page.get_by_text("webhook-id: ").wait_for()


def test_a_delivery_is_sent_again(open_tab, ids, webhook_path, read_webhook):
    page = open_tab(user="maud").open(f"{webhook_path}/deliveries/{ids['delivery']}")
    page.get_by_role("button", name="Send again").click()
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    page.get_by_text("Attempt 4 follows").wait_for()
    assert read_webhook(f"/deliveries/{ids['delivery']}")["status"] == "pending"


def test_pending_deliveries_are_read_again(open_tab, ids, webhook_path):
    tab = open_tab(user="maud")
    tab.page.clock.install()
    page = tab.open(webhook_path)
    page.get_by_role("table").get_by_text("Pending").wait_for()
    target = f"GET /organizations/{ids['organization']}/webhooks/{ids['webhook']}/deliveries"
    assert tab.requested.count(target) == 1
    with page.expect_request(lambda request: request.url.endswith("/deliveries")):
        page.clock.run_for(6_000)


def test_a_replay_sends_what_the_receiver_missed_and_shows_its_progress(open_tab, webhook_path, read_webhook):
    page = open_tab(user="maud").open(f"{webhook_path}?view=replays")
    page.get_by_role("button", name="Replay deliveries").click()
    page.get_by_label(re.compile("Events from")).fill("2026-01-01T00:00")
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("heading", name="The replay has started").wait_for()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("table", name=re.compile("Replays")).get_by_text("failed and skipped").wait_for()
    assert read_webhook("/replays")["items"][0]["from"] == "2026-01-01T00:00:00.000Z"


def test_a_link_is_shown_once_with_its_end(open_tab, webhook_path):
    page = open_tab(user="maud").open(webhook_path)
    page.get_by_role("button", name="Share link").click()
    page.get_by_role("button", name="Create link").click()
    assert "/webhook-portal#token=" in page.locator(".secret code").inner_text()
    page.get_by_text("It works until").locator("time").wait_for()


def test_a_webhook_is_deleted_after_its_url_was_typed(open_tab, webhook_path, read_webhook, seeded_service, ids):
    url = read_webhook()["url"]
    page = open_tab(user="maud").open(f"{webhook_path}?view=settings")
    page.get_by_role("button", name="Delete webhook").click()
    delete = page.get_by_role("dialog").get_by_role("button", name="Delete")
    assert delete.is_disabled()
    page.get_by_label(re.compile("Type")).fill(url)
    delete.click()
    page.get_by_role("heading", name="Webhooks").wait_for()
    page.get_by_role("table").wait_for()
    remaining = seeded_service.caller_for(person("maud")).list_all(f"/organizations/{ids['organization']}/webhooks")
    assert url not in json.dumps(remaining)


def test_a_member_is_told_who_opens_webhooks(open_tab, path, webhook_path):
    tab = open_tab(user="hattie")
    for each in (path, webhook_path):
        page = tab.open(each)
        page.get_by_text("Needs admin; ask Maud Ellery").wait_for()
    assert not [each for each in tab.requested if "/webhooks" in each]
