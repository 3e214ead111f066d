"""Test unsubscribing from invitation e-mails: with one click (RFC 8058), and not by opening a link."""

import json
import re
from base64 import b64encode
from email import message_from_string
from urllib.parse import urlsplit

import pytest

from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE_PATH, create_unsubscribe_token
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.features.tenancy.logic.email_hashes import HASH_KEY_ITEM_KEY, email_hmac_bytes
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from tests.harness import snapshots
from tests.harness.invitations import accept_invitation, create_invitation
from tests.harness.organizations import create_organization
from tests.harness.platforms import create_platform

EMAIL_ADDRESS, OTHER_ADDRESS = "sophie@example.org", "somebody@example.org"
ONE_CLICK_BODY, FORM = b"List-Unsubscribe=One-Click", "application/x-www-form-urlencoded"
MULTIPART = b'--b0\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b0--\r\n'
MANY_FIELDS = b"&".join([b"a%d=1" % n for n in range(50)])
HTML = "text/html,application/xhtml+xml"
INVALID = "422 validation_failed"


def create_token(email_address=EMAIL_ADDRESS):
    return create_unsubscribe_token(email_hmac_bytes(email_address).hex())


def unsubscribe(api, token=None, body=ONE_CLICK_BODY, content_type=FORM, accept="*/*"):
    headers = {"Content-Type": content_type, "Accept": accept}
    return api.post(UNSUBSCRIBE_PATH, query={"token": token or create_token()}, body=body, headers=headers)


def get_page(api, token=None, accept="*/*"):
    return api.get(UNSUBSCRIBE_PATH, query={"token": token or create_token()}, headers={"Accept": accept})


def is_unsubscribed(api, token=None):
    return get_page(api, token).json["unsubscribed"]


@pytest.mark.parametrize("container_type", ["organization", "platform"])
def test_the_mail_contains_headers_and_a_link_for_unsubscribing(api, organization, mailbox, workers, container_type):
    container = organization if container_type == "organization" else create_platform(api, organization)
    create_invitation(api, container, EMAIL_ADDRESS)
    workers.deliver()
    (email,) = mailbox.received_emails
    assert email.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    headers = "".join(f"{name}: {value}\r\n" for name, value in email.headers.items())
    assert {"List-Unsubscribe", "List-Unsubscribe-Post"} <= {*message_from_string(headers + "\r\n").keys()}
    (url,) = re.findall(r"^<(http\S+)>$", email.headers["List-Unsubscribe"])
    assert url in email.email.text
    assert f'href="{url}"' in email.email.html
    parts = urlsplit(url)
    assert (parts.path, EMAIL_ADDRESS in url) == (UNSUBSCRIBE_PATH, False)
    assert unsubscribe(api, parts.query.removeprefix("token=")).json == {"unsubscribed": True}
    create_invitation(api, create_organization(api, organization.owner), EMAIL_ADDRESS)
    workers.deliver()
    assert len(mailbox.received_emails) == 1


def test_no_mail_is_sent_to_an_unsubscribed_person(api, organization, stranger, mailbox, workers):
    create_invitation(api, organization, EMAIL_ADDRESS)
    for address in (EMAIL_ADDRESS, stranger.email):
        unsubscribe(api, create_token(address))
    invitation = create_invitation(api, organization, stranger)
    assert (invitation.record["sentAt"], invitation.record["mailWithheld"]) == (None, True)
    workers.deliver()
    assert mailbox.received_emails == []
    assert accept_invitation(api, invitation, stranger)["status"] == "accepted"


class TestOneClick:
    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            (FORM, ONE_CLICK_BODY),
            (f"{FORM}; charset=utf-8", ONE_CLICK_BODY),
            ("multipart/form-data; boundary=b0", MULTIPART),
            ("application/json", b'{"List-Unsubscribe": "One-Click"}'),
            ("application/json", b""),
        ],
    )
    def test_unsubscribes_one_address_without_a_credential_once(self, api, operator, content_type, body):
        assert not is_unsubscribed(api)
        for _ in range(3):
            answer = unsubscribe(api, None, body, content_type)
            assert (answer.status, answer.json) == (200, {"unsubscribed": True})
        assert is_unsubscribed(api)
        assert not is_unsubscribed(api, create_token(OTHER_ADDRESS))
        (entry,) = api.get_items("/system/audit-log", caller=operator, query={"type": "mail.suppression.created"})
        for secret in (email_hmac_bytes(EMAIL_ADDRESS).hex(), EMAIL_ADDRESS):
            assert secret not in json.dumps(entry)
        assert "sophie" not in str(snapshots.items_by_key()).lower()

    @pytest.mark.parametrize(
        ("content_type", "body", "code"),
        [
            *[(FORM, body, INVALID) for body in (b"List-Unsubscribe=Never", b"colour=green", b"{}", MANY_FIELDS)],
            *[(f"multipart/form-data{suffix}", MULTIPART, INVALID) for suffix in ("; boundary=other", "")],
            ("text/plain", ONE_CLICK_BODY, "415 unsupported_media_type"),
        ],
    )
    def test_rejects_another_body(self, api, content_type, body, code):
        assert unsubscribe(api, None, body, content_type).status_and_code == code
        assert not is_unsubscribed(api)

    def test_an_unknown_token_is_not_found(self, api, organization):
        tokens = ["x", "A" * 100, create_invitation(api, organization, EMAIL_ADDRESS).token]
        items_before = snapshots.items_by_key()
        for token in tokens:
            unsubscribe(api, token).expect_problem("404 not_found", "The token in the link is not valid.")
            assert get_page(api, token).status_and_code == "404 not_found"
        for method in ("GET", "POST"):
            assert api.request(method, UNSUBSCRIBE_PATH, query={"token": ""}).status_and_code == "404 not_found"
        assert snapshots.items_by_key() == items_before


def test_the_link_shows_a_page_with_a_working_button_and_changes_nothing(api):
    create_token()
    items_before = snapshots.items_by_key()
    assert not is_unsubscribed(api)
    page = get_page(api, accept=HTML)
    assert snapshots.items_by_key() == items_before
    assert (page.status, page.headers["Content-Type"].partition(";")[0]) == (200, "text/html")
    assert '<form method="post">' in page.text
    assert 'name="List-Unsubscribe" value="One-Click"' in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
    assert "You are unsubscribed" in unsubscribe(api, accept=HTML).text
    assert "<form" not in get_page(api, accept=HTML).text


def test_the_hash_key_is_created_once_and_encrypted_and_survives_a_rotation_of_its_data_key(aws, configure):
    email_hashes.reset()
    first, former_key, new_key = email_hmac_bytes(EMAIL_ADDRESS), settings().data_key, b64encode(b"n" * 32).decode()
    email_hashes.reset()
    assert email_hmac_bytes(EMAIL_ADDRESS) == first != email_hmac_bytes(OTHER_ADDRESS)
    (item,) = snapshots.items_by_key().values()
    assert (item["pk"], item["sk"]) == HASH_KEY_ITEM_KEY
    assert email_hashes._cached_keys[HASH_KEY_ITEM_KEY] not in bytes(item["sealed"])  # noqa: SLF001 - what must not be read there
    assert not email_hashes.reencrypt_key_if_outdated()
    for keys in (f"{new_key},{former_key}", new_key):
        configure(data_key=keys)
        keyrings._load_listed_key.cache_clear()  # noqa: SLF001 - as a new process
        email_hashes.reset()
        assert email_hmac_bytes(EMAIL_ADDRESS) == first
        email_hashes.reencrypt_key_if_outdated()
