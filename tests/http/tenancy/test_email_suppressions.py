"""Test unsubscribing from invitation e-mails: with one click (RFC 8058), and not by opening a link."""

import json
import re
from email import message_from_string
from typing import Final
from urllib.parse import urlsplit

import pytest

from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE_PATH, create_unsubscribe_token
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.features.tenancy.logic.email_hashes import HASH_KEY_ITEM_KEY, email_hmac_bytes
from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.invitations import accept_invitation, create_invitation
from tests.harness.organizations import create_organization
from tests.harness.platforms import create_platform

EMAIL_ADDRESS: Final = "sophie@example.org"
ONE_CLICK_BODY: Final = b"List-Unsubscribe=One-Click"
FORM_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART: Final = b'--b0\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b0--\r\n'
HTML_HEADERS: Final = {"Accept": "text/html,application/xhtml+xml"}


def create_token(email_address: str = EMAIL_ADDRESS) -> str:
    return create_unsubscribe_token(email_hmac_bytes(email_address).hex())


def unsubscribe(
    api: ApiClient,
    unsubscribe_token: str,
    body: bytes = ONE_CLICK_BODY,
    content_type: str = FORM_HEADERS["Content-Type"],
    **headers: str,
) -> ApiResponse:
    return api.post(
        UNSUBSCRIBE_PATH,
        query={"token": unsubscribe_token},
        body=body,
        headers={"Content-Type": content_type, **headers},
    )


def get_page(api: ApiClient, unsubscribe_token: str, **headers: str) -> ApiResponse:
    return api.get(UNSUBSCRIBE_PATH, query={"token": unsubscribe_token}, headers=headers)


def is_unsubscribed(api: ApiClient, unsubscribe_token: str) -> bool:
    return bool(get_page(api, unsubscribe_token).json["unsubscribed"])


class TestInvitationEmail:
    @pytest.mark.parametrize("container_type", ["organization", "platform"])
    def test_contains_headers_and_a_link_for_unsubscribing(self, api, organization, mailbox, workers, container_type):
        container = organization if container_type == "organization" else create_platform(api, organization)
        create_invitation(api, container, EMAIL_ADDRESS, caller=organization.owner)
        workers.deliver()
        (email,) = mailbox.received_emails
        assert email.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        (url,) = re.fullmatch(r"<(http\S+)>", email.headers["List-Unsubscribe"]).groups()  # type: ignore[union-attr]
        assert url in email.email.text
        assert f'href="{url}"' in email.email.html
        assert EMAIL_ADDRESS not in url
        parts = urlsplit(url)
        assert parts.path == UNSUBSCRIBE_PATH
        unsubscribe_token = parts.query.removeprefix("token=")
        assert unsubscribe(api, unsubscribe_token).json == {"unsubscribed": True}
        create_invitation(api, create_organization(api, organization.owner), EMAIL_ADDRESS)
        workers.deliver()
        assert len(mailbox.received_emails) == 1

    def test_is_not_sent_if_the_recipient_unsubscribes_while_it_is_pending(self, api, organization, mailbox, workers):
        create_invitation(api, organization, EMAIL_ADDRESS)
        unsubscribe(api, create_token())
        workers.deliver()
        assert mailbox.received_emails == []


class TestOneClick:
    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            (FORM_HEADERS["Content-Type"], ONE_CLICK_BODY),
            ("application/x-www-form-urlencoded; charset=utf-8", ONE_CLICK_BODY),
            ("multipart/form-data; boundary=b0", MULTIPART),
            ("application/json", b'{"List-Unsubscribe": "One-Click"}'),
            ("application/json", b""),
        ],
    )
    def test_unsubscribes_without_a_credential(self, api, content_type, body):
        assert not is_unsubscribed(api, create_token())
        answer = unsubscribe(api, create_token(), body, content_type)
        assert (answer.status, answer.json) == (200, {"unsubscribed": True})
        assert is_unsubscribed(api, create_token())

    @pytest.mark.parametrize(
        ("content_type", "body", "code"),
        [
            (FORM_HEADERS["Content-Type"], b"List-Unsubscribe=Never", "422 validation_failed"),
            (FORM_HEADERS["Content-Type"], b"colour=green", "422 validation_failed"),
            (FORM_HEADERS["Content-Type"], b"{}", "422 validation_failed"),
            (FORM_HEADERS["Content-Type"], b"&".join([b"a%d=1" % n for n in range(50)]), "422 validation_failed"),
            ("multipart/form-data; boundary=other", MULTIPART, "422 validation_failed"),
            ("multipart/form-data", MULTIPART, "422 validation_failed"),
            ("text/plain", ONE_CLICK_BODY, "415 unsupported_media_type"),
        ],
    )
    def test_rejects_another_body(self, api, content_type, body, code):
        assert unsubscribe(api, create_token(), body, content_type).status_and_code == code
        assert not is_unsubscribed(api, create_token())

    def test_is_idempotent_and_writes_one_entry(self, api, operator):
        answers = [unsubscribe(api, create_token()) for _ in range(3)]
        assert [answer.json for answer in answers] == [{"unsubscribed": True}] * 3
        entries = api.get_items("/system/audit-log", caller=operator, query={"type": "mail.suppression.created"})
        assert len(entries) == 1
        assert EMAIL_ADDRESS not in json.dumps(entries)
        assert email_hmac_bytes(EMAIL_ADDRESS).hex() not in json.dumps(entries)

    def test_stores_no_email_address(self, api):
        unsubscribe(api, create_token())
        assert "sophie" not in str(snapshots.items_by_key()).lower()

    @pytest.mark.parametrize("unsubscribe_token", ["", "x", "A" * 100])
    def test_an_unknown_token_is_not_found(self, api, unsubscribe_token):
        items_before = snapshots.items_by_key()
        assert unsubscribe(api, unsubscribe_token).status_and_code == "404 not_found"
        assert get_page(api, unsubscribe_token).status_and_code == "404 not_found"
        assert snapshots.items_by_key() == items_before

    def test_rejects_a_token_of_another_kind(self, api, organization):
        assert (
            unsubscribe(api, create_invitation(api, organization, EMAIL_ADDRESS).token).status_and_code
            == "404 not_found"
        )

    def test_does_not_affect_other_addresses(self, api):
        unsubscribe(api, create_token())
        assert not is_unsubscribed(api, create_token("somebody@example.org"))


class TestOpeningTheLink:
    def test_changes_nothing(self, api):
        items_before = snapshots.items_by_key()
        for headers in ({}, HTML_HEADERS):
            assert get_page(api, create_token(), **headers).status == 200
        assert snapshots.items_by_key() == items_before
        assert not is_unsubscribed(api, create_token())

    def test_shows_a_page_with_a_working_button(self, api):
        page = get_page(api, create_token(), Accept=HTML_HEADERS["Accept"])
        assert page.headers["Content-Type"].startswith("text/html")
        assert '<form method="post">' in page.text
        assert 'name="List-Unsubscribe" value="One-Click"' in page.text
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["Cache-Control"] == "no-store"
        confirmation = unsubscribe(api, create_token(), Accept=HTML_HEADERS["Accept"])
        assert "You are unsubscribed" in confirmation.text
        assert "<form" not in get_page(api, create_token(), Accept=HTML_HEADERS["Accept"]).text


class TestUnsubscribedPerson:
    def test_is_invited_without_an_email_and_can_accept(self, api, organization, stranger, mailbox, workers):
        unsubscribe(api, create_token(str(stranger.email)))
        invitation = create_invitation(api, organization, stranger)
        assert (invitation.record["sentAt"], invitation.record["mailWithheld"]) == (None, True)
        workers.deliver()
        assert mailbox.received_emails == []
        assert accept_invitation(api, invitation, stranger)["status"] == "accepted"


class TestHashKey:
    def test_is_created_once_and_encrypted(self, aws):
        email_hashes.reset()
        first = email_hmac_bytes(EMAIL_ADDRESS)
        email_hashes.reset()
        assert email_hmac_bytes(EMAIL_ADDRESS) == first
        assert email_hmac_bytes(EMAIL_ADDRESS) != email_hmac_bytes("somebody@example.org")
        (item,) = snapshots.items_by_key().values()
        assert (item["pk"], item["sk"]) == HASH_KEY_ITEM_KEY
        assert email_hashes._cached_keys[HASH_KEY_ITEM_KEY] not in bytes(item["sealed"])  # noqa: SLF001 - what must not be read there

    def test_survives_a_rotation_of_its_data_key(
        self,
        api,
        monkeypatch,
    ):
        from base64 import b64encode

        from chalicelib.kernel.core.settings import settings
        from chalicelib.kernel.crypto import keyrings

        email_hashes.reset()
        hash_before, former_key, new_key = (
            email_hmac_bytes(EMAIL_ADDRESS),
            settings().data_key,
            b64encode(b"n" * 32).decode(),
        )
        assert not email_hashes.reencrypt_key_if_outdated()
        for keys in (f"{new_key},{former_key}", new_key):
            monkeypatch.setenv("DATA_KEY", keys)
            settings.cache_clear()
            keyrings._load_listed_key.cache_clear()  # noqa: SLF001 - as a new process
            email_hashes.reset()
            assert email_hmac_bytes(EMAIL_ADDRESS) == hash_before
            email_hashes.reencrypt_key_if_outdated()
        monkeypatch.undo()
        settings.cache_clear()


def test_email_headers_are_well_formed(api, organization, mailbox, workers):
    create_invitation(api, organization, EMAIL_ADDRESS)
    workers.deliver()
    headers = "".join(f"{name}: {value}\r\n" for name, value in mailbox.received_emails[0].headers.items())
    assert {"List-Unsubscribe", "List-Unsubscribe-Post"} <= {*message_from_string(headers + "\r\n").keys()}
