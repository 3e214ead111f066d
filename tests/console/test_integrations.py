"""Channels, log streams and event types in the console."""

import re

import pytest

from local.seed.content.leads import OPERATOR
from tests.console.scenarios.webhooks import webhook_ids
from tests.console.tabs import person

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def ids(seeded_service):
    return webhook_ids(seeded_service)


@pytest.fixture
def path(ids):
    return f"/o/{ids['organization']}"


@pytest.fixture
def list_records(seeded_service, ids):
    """A function that lists records of the organization as the API answers them."""
    caller = seeded_service.caller_for(person("maud"))
    return lambda name: caller.list_all(f"/organizations/{ids['organization']}/{name}")


def test_an_edit_of_a_channel_keeps_its_masked_url_and_shows_a_conflict(
    open_tab, seeded_service, ids, path, list_records
):
    page = open_tab(user="maud").open(f"{path}/channels")
    page.get_by_role("button", name="Edit: #river-desk").click()
    page.get_by_label("Name").fill("<b>#mine</b>")
    target = f"/organizations/{ids['organization']}/integration-channels/{ids['channel']}"
    seeded_service.caller_for(person("ines")).patch(target, {"name": "#hers"})
    url = list_records("integration-channels")[0]["config"]["webhookUrl"]
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    assert page.locator(".merge .value").all_inner_texts() == ["<b>#mine</b>", "#hers", "#river-desk"]
    page.get_by_role("radio", name="Yours").check()
    page.get_by_role("button", name="Apply").click()
    page.locator("td.primary-cell", has_text="<b>#mine</b>").wait_for()
    channel = list_records("integration-channels")[0]
    assert (channel["name"], channel["config"]["webhookUrl"]) == ("<b>#mine</b>", url)


def test_a_channel_is_created(open_tab, path, list_records):
    page = open_tab(user="maud").open(f"{path}/channels?dialog=create")
    page.get_by_role("radio", name=re.compile("Discord")).check()
    page.get_by_label("Name").fill("#gauges")
    page.get_by_label("URL for incoming messages").fill("http://127.0.0.1:9/discord")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    page.locator("td.primary-cell", has_text="#gauges").wait_for()
    assert list_records("integration-channels")[-1]["provider"] == "discord"


def test_a_log_stream_shows_problems_at_their_fields_and_then_its_secret(open_tab, path, list_records):
    page = open_tab(user="maud").open(f"{path}/log-streams?dialog=create")
    url = page.get_by_label("URL")
    url.fill("nowhere")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    page.locator(".field", has=url).locator(".problem").wait_for()
    assert page.get_by_role("dialog").get_by_role("alert").count() == 0
    url.fill("https://siem.example.com/second")
    page.get_by_role("radio", name=re.compile("The whole log")).check()
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    assert page.locator(".secret code").inner_text().startswith("whsec_")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("heading", name="https://siem.example.com/second").wait_for()
    assert list_records("log-streams")[-1]["startSequence"] == 1


def test_a_merge_of_a_log_stream_never_shows_its_credential(open_tab, seeded_service, ids, path):
    caller = seeded_service.caller_for(person("maud"))
    streams = f"/organizations/{ids['organization']}/log-streams"
    destination = {"type": "splunk", "url": "https://splunk.example.com/services/collector/event", "token": "as-it-was"}
    stream_id = caller.post(streams, {"destination": destination})["id"]
    page = open_tab(user="maud").open(f"{path}/log-streams/{stream_id}?dialog=edit")
    page.get_by_label("Token").fill("my-secret")
    page.get_by_label("Index").fill("mine")
    assert page.get_by_role("radio", name="Datadog").count() == 0
    caller.patch(f"{streams}/{stream_id}", {"destination": {**destination, "index": "hers", "sourcetype": "atrium"}})
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    texts = page.locator(".merge .value").all_inner_texts()
    assert sorted(texts) == sorted(["A new one", "The current one", "The current one", "mine", "hers", "Empty"])
    for choice in page.get_by_role("radio", name="Yours").all():
        choice.check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("dialog").first.wait_for(state="detached")
    stored = caller.get(f"{streams}/{stream_id}")["destination"]
    assert (stored["index"], stored["sourcetype"]) == ("mine", "atrium")


def test_an_event_with_invalid_data_names_the_place_and_is_then_written(open_tab, path, list_records):
    page = open_tab(user="maud").open(f"{path}/event-types/gauge.inspected")
    page.get_by_text('"level"').first.wait_for()
    page.get_by_role("button", name="Send an event").click()
    page.get_by_label("Data").fill('{"level": "high"}')
    send = page.get_by_role("dialog").get_by_role("button", name="Send")
    send.click()
    page.locator(".problem", has_text="/data/level").wait_for()
    page.get_by_label("Data").fill('{"level": ')
    page.get_by_text("This is not a JSON object.").wait_for()
    assert send.is_disabled()
    page.get_by_label("Data").fill('{"level": 2.5}')
    page.get_by_label("Type of the target").fill("gauge")
    page.get_by_label("Id of the target").fill("g-1")
    page.get_by_label("Name of the target").fill("<i>Gauge 1</i>")
    send.click()
    page.get_by_role("cell", name="<i>Gauge 1</i>").wait_for()
    assert list_records("events")[0]["data"] == {"level": 2.5}


def test_the_reason_is_shown_why_a_name_of_a_type_is_not_possible(open_tab):
    page = open_tab(user=OPERATOR).open("/operate/event-types?dialog=declare")
    page.get_by_role("dialog").get_by_label("Name").fill("organization.approved")
    page.get_by_label("Description").fill("An organization was approved.")
    page.get_by_label("Sentence").fill("{actor} approved {target}.")
    page.get_by_role("dialog").get_by_role("button", name="Declare").click()
    page.get_by_role("alert").get_by_text("which the service itself uses").wait_for()


def test_an_operator_declares_a_type_and_changes_its_schema(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/event-types")
    page.get_by_role("button", name="Declare").click()
    page.get_by_label("Name").fill("invoice.approved")
    page.get_by_label("Description").fill("An invoice was approved.")
    page.get_by_label("Sentence").fill("{actor} approved {target}.")
    page.get_by_role("dialog").get_by_role("button", name="Declare").click()
    page.get_by_role("button", name="Edit: invoice.approved").click()
    page.get_by_label("Schema of the data").fill('{"type": "object", "properties": {"amount": {"type": "integer"}}}')
    page.get_by_role("button", name="Save").click()
    page.get_by_role("dialog").wait_for(state="detached")
    declared = seeded_service.caller_for(person(OPERATOR)).get("/event-types/invoice.approved")
    assert (declared["version"], declared["description"]) == (2, "An invoice was approved.")


def test_a_member_reads_event_types_and_is_told_who_sends_events(open_tab, path):
    tab = open_tab(user="hattie")
    page = tab.open(f"{path}/event-types")
    page.get_by_text("Needs admin; ask Maud Ellery").wait_for()
    page.get_by_role("link", name="gauge.inspected").wait_for()
    assert page.get_by_role("button", name="Send an event").count() == 0
    for name in ("channels", "log-streams"):
        tab.open(f"{path}/{name}").get_by_text("Needs admin; ask Maud Ellery").wait_for()
    assert not [each for each in tab.requested if re.search("channels|log-streams", each)]
