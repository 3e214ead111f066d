"""The pages that signed links open, in a browser: DNS setup and the webhook portal."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page

from local.seed.callers import Caller
from tests.console.conftest import OpenTab
from tests.console.tabs import HeldReads, Tab, person
from tests.harness.browser import accessibility_violations, content_width, save_screenshot
from tests.harness.domains import publish_dns_records
from tests.harness.memory_aws import discard_queued_messages
from tests.harness.receiver import Receiver, Reply

pytestmark = pytest.mark.xdist_group("browser")

LAST_ATTEMPT_ERROR = "<img src=x onerror=alert(1)>"


@pytest.fixture
def maud(seeded_service):
    return seeded_service.caller_for(person("maud"))


@pytest.fixture
def organization(maud):
    return f"/organizations/{maud.list_all('/organizations')[0]['id']}"


@pytest.fixture
def domain_path(maud, organization):
    """The path of a custom domain that is not verified."""
    domains = maud.list_all(f"{organization}/domains/inventory")
    (pending,) = [each for each in domains if each["verificationStatus"] == "pending"]
    return f"/platforms/{pending['platformId']}/custom-domain"


@pytest.fixture
def webhook(maud, organization, workers):
    """A webhook with one delivery, which its receiver has answered with an error that contains markup."""
    # Nobody waits for the messages of the sample company.
    discard_queued_messages()
    for name in ("integration-channels", "webhooks"):
        for each in maud.list_all(f"{organization}/{name}"):
            maud.delete(f"{organization}/{name}/{each['id']}")
    with Receiver() as receiver:
        receiver.default_reply = Reply(status=500, body=LAST_ATTEMPT_ERROR.encode())
        created = maud.post(f"{organization}/webhooks", {"url": receiver.url, "events": ["organization.webhook.*"]})
        maud.post(f"{organization}/webhooks", {"url": "https://hooks.example.com/other", "events": ["page.*"]})
        workers.try_deliver()
        yield {**created, "path": f"{organization}/webhooks/{created['id']}", "receiver": receiver}


def token_of(maud, path):
    return maud.post(f"{path}/links", {})["url"].partition("#token=")[2]


def open_domain_setup(open_tab: OpenTab, maud: Caller, domain_path: str, **options: Any) -> Page:
    token = token_of(maud, domain_path)
    page = open_tab(**options).open_hosted(f"/domain-setup#token={token}")
    page.get_by_role("heading", name=re.compile("Set up DNS for")).wait_for()
    assert token not in page.url
    return page


def open_portal(open_tab: OpenTab, maud: Caller, webhook: dict[str, Any], **options: Any) -> Tab:
    token = token_of(maud, webhook["path"])
    tab = open_tab(**options)
    page = tab.open_hosted(f"/webhook-portal#token={token}")
    page.get_by_role("heading", name="Webhook of Harrowmere Instruments").wait_for()
    assert token not in page.url
    return tab


def test_the_records_of_a_domain_are_checked_until_it_is_verified(open_tab, maud, domain_path, nameserver):
    page = open_domain_setup(open_tab, maud, domain_path)
    domain = maud.get(domain_path)
    names = page.locator(".record .copied code").all_inner_texts()
    assert names == [text for each in domain["records"] for text in (each["relativeName"], each["expected"])]
    assert "link from Maud Ellery" in page.locator(".banner").inner_text()
    publish_dns_records(nameserver, {"records": domain["records"][:1]})
    page.get_by_role("button", name="Check now").click()
    page.get_by_text("Checked. It is not verified yet.").wait_for()
    assert page.locator(".record .status").all_inner_texts()[0] == "Correct"
    assert page.locator(".record .status.warning").count() == len(domain["records"]) - 1
    publish_dns_records(nameserver, domain)
    page.get_by_role("button", name="Check now").click()
    page.get_by_text("The domain is verified. You can close this page.").wait_for()
    assert maud.get(domain_path)["status"] == "verified"


def test_the_domain_is_read_again_while_the_page_is_open(open_tab, maud, domain_path, nameserver):
    page = open_domain_setup(open_tab, maud, domain_path)
    publish_dns_records(nameserver, maud.get(domain_path))
    maud.post(f"{domain_path}/verify", {})
    page.get_by_text("The domain is verified. You can close this page.").wait_for()


def test_the_holder_of_a_webhook_link_reads_attempts_and_retries(open_tab, maud, webhook, workers):
    tab = open_portal(open_tab, maud, webhook)
    page = tab.page
    page.get_by_role("button", name="organization.webhook.created").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(LAST_ATTEMPT_ERROR).wait_for()
    assert page.locator("img").count() == 0
    dialog.get_by_text(f"POST {webhook['receiver'].url}").wait_for()
    webhook["receiver"].default_reply = Reply()
    dialog.get_by_role("button", name="Retry").click()
    page.get_by_text("The delivery is sent again.").wait_for()
    workers.deliver()
    dialog.get_by_text("Answer 200").first.wait_for()  # The dialog reads a pending delivery again.
    dialog.get_by_role("button", name="Close").click()
    page.locator("table .status.good").first.wait_for()
    assert all("/organizations/" in each or "/signed-link" in each for each in tab.requested)


def test_deliveries_are_filtered_by_their_status(open_tab, maud, webhook):
    page = open_portal(open_tab, maud, webhook).page
    page.locator("table").wait_for()
    page.get_by_label("Status").select_option("succeeded")
    page.get_by_role("heading", name="No delivery is succeeded").wait_for()


def test_the_secret_is_rotated_and_shown_once(open_tab, maud, webhook):
    page = open_portal(open_tab, maud, webhook).page
    page.get_by_role("button", name="Rotate secret").click()
    page.get_by_label("The former secret also signs").select_option("0")
    page.get_by_role("dialog").get_by_role("button", name="Rotate secret").click()
    secret = page.locator(".secret code").inner_text()
    assert secret.startswith("whsec_")
    assert secret != webhook["secret"]
    page.get_by_role("checkbox").check()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    assert secret not in page.content()
    log = f"{webhook['path'].rpartition('/webhooks')[0]}/audit-log"
    (entry,) = maud.list_all(log, type="organization.webhook.secret_rotated")
    assert entry["actor"]["type"] == "link"


def test_a_test_message_says_what_the_receiver_answered(open_tab, maud, webhook):
    page = open_portal(open_tab, maud, webhook).page
    page.get_by_role("button", name="Send test message").click()
    page.get_by_text("The test message failed").wait_for()
    webhook["receiver"].default_reply = Reply()
    page.get_by_role("button", name="Send test message").click()
    page.get_by_text("The test message was delivered").wait_for()


def test_deliveries_stay_but_cannot_be_opened_until_those_with_another_status_are_read(open_tab, maud, webhook):
    page = open_portal(open_tab, maud, webhook).page
    page.locator("table").wait_for()
    held = HeldReads(page, "**/deliveries?status=succeeded*")
    page.get_by_label("Status").select_option("succeeded")
    page.locator("table[inert]").wait_for()
    held.release()
    page.get_by_text("No delivery is succeeded").wait_for()


@pytest.mark.parametrize("token", ["wrong", "d2ViaG9vaw"])
def test_a_link_that_is_wrong_says_so(open_tab, token):
    page = open_tab().open_hosted(f"/webhook-portal#token={token}")
    page.get_by_role("heading", name="This link no longer works").wait_for()
    assert token not in page.url
    page.reload()
    page.get_by_role("heading", name="No link").wait_for()  # The token is forgotten.


def test_a_link_that_ends_while_the_page_is_open_says_so(open_tab, maud, webhook, api, seeded_service):
    page = open_portal(open_tab, maud, webhook).page
    headers = {"Authorization": f"Bearer {seeded_service.create_token(person('maud'))}"}
    api.request("DELETE", webhook["path"], headers=headers).expect(204)
    page.get_by_role("button", name="Send test message").click()
    page.get_by_role("heading", name="This link no longer works").wait_for()


def test_a_link_expires_while_the_page_is_open(open_tab, maud, domain_path):
    tab = open_tab()
    tab.page.clock.install()
    page = tab.open_hosted(f"/domain-setup#token={token_of(maud, domain_path)}")
    page.get_by_text("Works for").wait_for()
    page.clock.fast_forward("01:01:00")
    page.get_by_role("heading", name="This link has expired").wait_for()
    page.get_by_text("Ask Maud Ellery for a new one.").wait_for()


def test_a_link_leads_to_its_own_page(open_tab, maud, domain_path):
    page = open_tab().open_hosted(f"/webhook-portal#token={token_of(maud, domain_path)}")
    page.get_by_role("link", name="Open its page").click()
    page.get_by_role("heading", name=re.compile("Set up DNS for")).wait_for()


def test_another_link_can_be_pasted_into_the_same_tab(open_tab, maud, domain_path):
    page = open_tab().open_hosted("/domain-setup#token=wrong")
    page.get_by_role("heading", name="This link no longer works").wait_for()
    page.evaluate("token => location.hash = `token=${token}`", token_of(maud, domain_path))
    page.get_by_role("heading", name=re.compile("Set up DNS for")).wait_for()


def test_a_used_up_quota_is_counted_down(open_tab, maud, domain_path):
    tab = open_tab()
    headers = {"Content-Type": "application/problem+json", "Retry-After": "30"}
    body = json.dumps({"status": 429, "code": "rate_limited", "detail": "Too many requests."})
    tab.failures["GET /signed-link"] = (429, headers, body)
    page = tab.open_hosted(f"/domain-setup#token={token_of(maud, domain_path)}")
    page.get_by_role("button", name=re.compile("Try again in")).wait_for()


@pytest.mark.parametrize(("color_scheme", "width"), [("light", 1280), ("dark", 390), ("dark", 1280), ("light", 390)])
def test_the_pages_are_accessible_and_fit(open_tab, maud, domain_path, webhook, color_scheme, width):
    options = {"color_scheme": color_scheme, "width": width}
    setup = open_domain_setup(open_tab, maud, domain_path, **options)
    portal = open_portal(open_tab, maud, webhook, **options).page
    portal.locator("table").wait_for()
    ended = open_tab(**options).open_hosted("/webhook-portal#token=wrong")
    ended.get_by_role("heading", level=1).wait_for()
    for name, page in (("domain-setup", setup), ("webhook-portal", portal), ("ended-link", ended)):
        check(page, f"console-{name}-{color_scheme}-{width}", width)
    for button in ("Rotate secret", "organization.webhook.created"):
        portal.get_by_role("button", name=button).first.click()
        portal.get_by_role("dialog").locator(".skeleton").wait_for(state="detached")
        check(portal, f"console-webhook-portal-{button.split()[0]}-{color_scheme}-{width}", width)
        portal.get_by_role("dialog").get_by_role("button", name=re.compile("Cancel|Close")).click()


def check(page, name, width):
    assert accessibility_violations(page) == []
    assert content_width(page) <= width
    save_screenshot(page, name)
