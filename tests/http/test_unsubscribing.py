"""Unsubscribing from the mails of invitations: with one click (RFC 8058), and not by opening a link."""

import json
import re
from email import message_from_string
from typing import Final
from urllib.parse import urlsplit

import pytest

from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE_PATH, create_unsubscribe_token
from chalicelib.kernel.identity import email_hashes
from chalicelib.kernel.identity.email_hashes import HASH_KEY_ITEM_KEY, hash_email
from tests.harness import snapshots
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.invitations import accepts, invite
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, found
from tests.harness.platforms import run_platform
from tests.harness.workers import Workers

SOPHIE: Final = "sophie@example.org"
CLICK: Final = b"List-Unsubscribe=One-Click"
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART: Final = b'--b0\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b0--\r\n'
HTML: Final = {"Accept": "text/html,application/xhtml+xml"}


def token(address: str = SOPHIE) -> str:
    return create_unsubscribe_token(hash_email(address).hex())


def click(api: Api, said: str, body: bytes = CLICK, kind: str = FORM["Content-Type"], **headers: str) -> Answer:
    return api.post(UNSUBSCRIBE_PATH, query={"token": said}, body=body, headers={"Content-Type": kind, **headers})


def opened(api: Api, said: str, **headers: str) -> Answer:
    return api.get(UNSUBSCRIBE_PATH, query={"token": said}, headers=headers)


def unsubscribed(api: Api, said: str) -> bool:
    return bool(opened(api, said).json["unsubscribed"])


class TestEveryMailOfAnInvitation:
    @pytest.mark.parametrize("to", ["organization", "platform"])
    def test_carries_what_mail_programs_unsubscribe_by(
        self, api: Api, organization: Founded, mailbox: Mailbox, workers: Workers, to: str
    ) -> None:
        place = organization if to == "organization" else run_platform(api, organization)
        invite(api, place, SOPHIE, as_=organization.owner)
        workers.deliver()
        (received,) = mailbox.received
        assert received.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        (url,) = re.fullmatch(r"<(http\S+)>", received.headers["List-Unsubscribe"]).groups()  # type: ignore[union-attr]
        assert url in received.letter.text
        assert f'href="{url}"' in received.letter.html
        assert SOPHIE not in url
        parts = urlsplit(url)
        assert parts.path == UNSUBSCRIBE_PATH
        said = parts.query.removeprefix("token=")
        assert click(api, said).json == {"unsubscribed": True}
        invite(api, found(api, organization.owner), SOPHIE)
        workers.deliver()
        assert len(mailbox.received) == 1

    def test_is_not_sent_to_whoever_unsubscribed_while_it_waited(
        self, api: Api, organization: Founded, mailbox: Mailbox, workers: Workers
    ) -> None:
        invite(api, organization, SOPHIE)
        click(api, token())
        workers.deliver()
        assert mailbox.received == []


class TestOneClick:
    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            (FORM["Content-Type"], CLICK),
            ("application/x-www-form-urlencoded; charset=utf-8", CLICK),
            ("multipart/form-data; boundary=b0", MULTIPART),
            ("application/json", b'{"List-Unsubscribe": "One-Click"}'),
            ("application/json", b""),
        ],
    )
    def test_unsubscribes_without_a_credential(self, api: Api, kind: str, body: bytes) -> None:
        assert not unsubscribed(api, token())
        answer = click(api, token(), body, kind)
        assert (answer.status, answer.json) == (200, {"unsubscribed": True})
        assert unsubscribed(api, token())

    @pytest.mark.parametrize(
        ("kind", "body", "code"),
        [
            (FORM["Content-Type"], b"List-Unsubscribe=Never", "422 validation_failed"),
            (FORM["Content-Type"], b"colour=green", "422 validation_failed"),
            (FORM["Content-Type"], b"{}", "422 validation_failed"),
            (FORM["Content-Type"], b"&".join([b"a%d=1" % n for n in range(50)]), "422 validation_failed"),
            ("multipart/form-data; boundary=other", MULTIPART, "422 validation_failed"),
            ("multipart/form-data", MULTIPART, "422 validation_failed"),
            ("text/plain", CLICK, "415 unsupported_media_type"),
        ],
    )
    def test_says_what_is_wrong_with_another_body(self, api: Api, kind: str, body: bytes, code: str) -> None:
        assert click(api, token(), body, kind).code == code
        assert not unsubscribed(api, token())

    def test_repeated_is_the_same_and_makes_one_entry(self, api: Api, operator: Person) -> None:
        answers = [click(api, token()) for _ in range(3)]
        assert [answer.json for answer in answers] == [{"unsubscribed": True}] * 3
        entries = api.items("/system/audit-log", as_=operator, query={"type": "mail.suppression.created"})
        assert len(entries) == 1
        assert SOPHIE not in json.dumps(entries)
        assert hash_email(SOPHIE).hex() not in json.dumps(entries)

    def test_stores_no_address(self, api: Api) -> None:
        click(api, token())
        assert "sophie" not in str(snapshots.stored()).lower()

    @pytest.mark.parametrize("said", ["", "x", "A" * 100])
    def test_with_a_token_that_the_service_did_not_make_is_nothing(self, api: Api, said: str) -> None:
        before = snapshots.stored()
        assert click(api, said).code == "404 not_found"
        assert opened(api, said).code == "404 not_found"
        assert snapshots.stored() == before

    def test_takes_no_token_of_another_kind(self, api: Api, organization: Founded) -> None:
        assert click(api, invite(api, organization, SOPHIE).token).code == "404 not_found"

    def test_of_one_address_leaves_the_others(self, api: Api) -> None:
        click(api, token())
        assert not unsubscribed(api, token("somebody@example.org"))


class TestOpeningTheLink:
    def test_changes_nothing(self, api: Api) -> None:
        before = snapshots.stored()
        for headers in ({}, HTML):
            assert opened(api, token(), **headers).status == 200
        assert snapshots.stored() == before
        assert not unsubscribed(api, token())

    def test_shows_people_a_page_with_a_button_that_does(self, api: Api) -> None:
        page = opened(api, token(), Accept=HTML["Accept"])
        assert page.headers["Content-Type"].startswith("text/html")
        assert '<form method="post">' in page.text
        assert 'name="List-Unsubscribe" value="One-Click"' in page.text
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["Cache-Control"] == "no-store"
        done = click(api, token(), Accept=HTML["Accept"])
        assert "You are unsubscribed" in done.text
        assert "<form" not in opened(api, token(), Accept=HTML["Accept"]).text


class TestWhoeverIsUnsubscribed:
    def test_is_invited_without_a_mail_and_can_accept(
        self, api: Api, organization: Founded, stranger: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        click(api, token(str(stranger.email)))
        invited = invite(api, organization, stranger)
        assert (invited.record["sentAt"], invited.record["mailWithheld"]) == (None, True)
        workers.deliver()
        assert mailbox.received == []
        assert accepts(api, invited, stranger)["status"] == "accepted"


class TestTheKeyThatHashes:
    def test_is_made_once_and_sealed(self, aws: None) -> None:  # noqa: ARG002 - an empty table
        email_hashes.reset()
        first = hash_email(SOPHIE)
        email_hashes.reset()
        assert hash_email(SOPHIE) == first
        assert hash_email(SOPHIE) != hash_email("somebody@example.org")
        (item,) = snapshots.stored().values()
        assert (item["pk"], item["sk"]) == HASH_KEY_ITEM_KEY
        assert email_hashes._known[HASH_KEY_ITEM_KEY] not in bytes(item["sealed"])  # noqa: SLF001 - what must not be read there

    def test_outlives_the_data_key_that_sealed_it(
        self,
        api: Api,  # noqa: ARG002 - an empty table
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        from base64 import b64encode

        from chalicelib.kernel.core.settings import settings
        from chalicelib.kernel.crypto import keyrings

        email_hashes.reset()
        first, former, new = hash_email(SOPHIE), settings().data_key, b64encode(b"n" * 32).decode()
        assert not email_hashes.reencrypt_key()
        for keys in (f"{new},{former}", new):
            monkeypatch.setenv("DATA_KEY", keys)
            settings.cache_clear()
            keyrings._key.cache_clear()  # noqa: SLF001 - as a new process
            email_hashes.reset()
            assert hash_email(SOPHIE) == first
            email_hashes.reencrypt_key()
        monkeypatch.undo()
        settings.cache_clear()


def test_a_header_of_the_mail_is_well_formed(
    api: Api, organization: Founded, mailbox: Mailbox, workers: Workers
) -> None:
    invite(api, organization, SOPHIE)
    workers.deliver()
    written = "".join(f"{name}: {value}\r\n" for name, value in mailbox.received[0].headers.items())
    assert {"List-Unsubscribe", "List-Unsubscribe-Post"} <= {*message_from_string(written + "\r\n").keys()}
