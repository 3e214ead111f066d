"""Each secret is followed by another while requests go on: processes of before and after a deployment, side by side."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic.verify import main
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64, to_base64, to_base64url
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt, encrypt
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from local.tools.reencrypt import NotResealed, reseal
from local.tools.renew_seals import renew_seals
from tests.conftest import Configure
from tests.harness import logs, webhooks
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.calls import scanning
from tests.harness.channels import room, trial
from tests.harness.clock import Clock
from tests.harness.data_keys import forget, wrapped
from tests.harness.erasures import erased
from tests.harness.invitations import invite, opens
from tests.harness.leads import seen, send
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, joins
from tests.harness.receiver import Receiver
from tests.harness.sites import Published, write_page
from tests.harness.workers import Workers

Settings = dict[str, str]
Become = Callable[[Settings], None]

pytestmark = pytest.mark.usefixtures("private_targets")


@pytest.fixture(autouse=True)
def _scanning() -> Iterator[None]:
    """The command that seals anew finds what there is by a scan."""
    with scanning():
        yield


@pytest.fixture
def become(configure: Configure) -> Become:
    """Let this process be one that has started with some settings."""

    def started(known: Settings) -> None:
        configure(**({"audit_former_public_keys": ""} | known))
        forget()

    return started


def steps(purpose: KeyPurpose) -> list[Settings]:
    """Return the settings of a stage at rest, and those that it has after `begin`, `switch` and `finish`."""
    old, new = wrapped(purpose), wrapped(purpose)
    listed = [{purpose.setting: keys} for keys in (old, f"{old},{new}", f"{new},{old}", new)]
    if purpose is KeyPurpose.AUDIT_SIGNING_KEY:
        listed[-1]["audit_former_public_keys"] = public_half(old)
    return listed


def public_half(text: str) -> str:
    """Return what is kept of a signing key that is dropped."""
    ciphertext, context = from_base64(text.removeprefix("kms:")), KeyPurpose.AUDIT_SIGNING_KEY.context
    answer = aws.client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=context)
    return to_base64(public_key(answer["Plaintext"]))


def side_by_side(listed: list[Settings]) -> Iterator[tuple[Settings, Settings]]:
    """Yield who writes and who reads: at each deployment, those of before what those of after wrote, and back."""
    for before, after in pairwise(listed):
        yield before, after
        yield after, before


def test_cursors_and_tokens_hold_while_their_key_is_followed_by_another(
    api: Api, ada: Person, organization: Founded, site: Published, become: Become, mailbox: Mailbox, workers: Workers
) -> None:
    page = write_page(api, site, "Looms", blocks=[])
    for number, (writer, reader) in enumerate(side_by_side(steps(KeyPurpose.TOKEN_KEY))):
        become(writer)
        list_, query = f"{organization.path}/audit-log", {"limit": 1}
        cursor = api.get(list_, as_=ada, query=query).json["nextCursor"]
        inquiry = send(api, f"lead{number}@example.org")
        shown = api.get(f"{page.path}/preview", as_=ada).json["token"]
        invited = invite(api, organization, f"guest{number}@example.org")
        become(reader)
        assert api.get(list_, as_=ada, query={**query, "cursor": cursor}).json["items"]
        assert seen(api, inquiry)["id"] == inquiry.id
        assert api.get(f"{page.path}/preview-public", query={"token": shown}).status == 200
        assert opens(api, invited).status == 200
        workers.settle()  # The mail is made by another process than the invitation.
        assert invited.token in mailbox.letters[-1].text
    assert len(mailbox.letters) == 6


def test_a_mail_whose_link_nobody_can_make_any_more_is_not_sent(
    api: Api, organization: Founded, become: Become, mailbox: Mailbox, workers: Workers
) -> None:
    before, *_, after = steps(KeyPurpose.TOKEN_KEY)
    become(before)
    invite(api, organization, "guest@example.org")
    become(after)
    workers.settle()
    assert mailbox.letters == []


def test_what_is_sealed_opens_while_its_key_is_followed_by_another(
    api: Api,
    ada: Person,
    organization: Founded,
    become: Become,
    receiver: Receiver,
    workers: Workers,
    capsys: pytest.CaptureFixture[str],
    clock: Clock,
) -> None:
    workers.deliver()  # The log has a head, so that it is found; nothing more is delivered.
    made: list[tuple[Any, Any]] = []
    listed = steps(KeyPurpose.DATA_KEY)
    for number, (writer, reader) in enumerate(side_by_side(listed)):
        if number == 4:  # before `finish`
            become(listed[2])
            reseal(None)
            assert "6 webhooks and channels were sealed anew" in capsys.readouterr().out
            reseal(None)
            assert "0 webhooks and channels were sealed anew" in capsys.readouterr().out
        become(writer)
        asked: dict[str, Any] = {"as_": ada, "headers": {"Idempotency-Key": f"key-{number}"}}
        keys = f"{organization.path}/api-keys"
        answer = api.post(keys, json={"name": "Export"}, **asked)
        hook = webhooks.hook(api, organization, receiver)
        rotated = api.post(f"{hook.path}/rotate-secret", as_=ada, json={"graceHours": 100})
        assert rotated.status == 200
        made.append((hook, room(api, organization, receiver, provider="webhook")))
        become(reader)
        assert api.post(keys, json={"name": "Export"}, **asked).json == answer.json
        for webhook, channel in made:
            clock.shift(minutes=1)  # An organization tests 10 webhooks and channels a minute.
            assert api.post(f"{webhook.path}/test", as_=ada).json["delivered"]
            assert trial(api, channel)["delivered"]
            assert len(receiver.requests[-2].headers["webhook-signature"].split()) == 2


def test_what_is_not_sealed_anew_is_lost_with_its_key_and_that_is_said(
    api: Api, organization: Founded, become: Become, receiver: Receiver, workers: Workers
) -> None:
    old, _, both, new = steps(KeyPurpose.DATA_KEY)
    become(old)
    sealed = encrypt(b"secret", "a place")
    made = webhooks.hook(api, organization, receiver)
    workers.settle()
    become(new)
    with pytest.raises(DecryptionError, match="another key"):
        decrypt(sealed, "a place")
    with pytest.raises(NotResealed, match=f"{made.id}: the value was sealed with another key"):
        reseal(None)
    become(both)
    assert decrypt(sealed, "a place") == b"secret"
    reseal(None)
    become(new)
    assert api.post(f"{made.path}/test", as_=organization.owner).json["delivered"]


def test_logs_and_erasures_verify_while_their_key_is_followed_by_another(
    api: Api,
    organization: Founded,
    become: Become,
    workers: Workers,
    clock: Clock,
    issuer: Issuer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = [""]
    people = [issuer.person(f"guest{number}", "Gerty Cori") for number in range(6)]
    for number, (writer, reader) in enumerate(side_by_side(steps(KeyPurpose.AUDIT_SIGNING_KEY))):
        become(writer)
        joins(organization, people[number], "member")
        workers.deliver()
        logs.grow(api, workers, organization)
        if number % 2:
            erased(api, workers, clock, organization, userId=people[number].id)
        kept.append(logs.verify(api, organization)["checkpoint"])
        for process in (reader, writer):
            become(process)
            for checkpoint in kept:
                given = {"checkpoint": to_base64url(checkpoint.encode())} if checkpoint else {}
                assert logs.finding(api, organization, **given) == (None, None)
            export = api.get(f"{organization.path}/audit-log/export", as_=organization.owner)
            (tmp_path / "export").write_text(export.text, encoding="utf-8", newline="")
            (tmp_path / "checkpoint").write_text(kept[-1])
            keys = [word for key in api.get("/status").json["auditPublicKeys"] for word in ("--public-key", key)]
            assert main([str(tmp_path / "export"), "--checkpoint", str(tmp_path / "checkpoint"), *keys]) == 0
            assert "erased" in capsys.readouterr().out


def test_entries_are_told_from_altered_ones_while_the_key_of_their_seals_is_followed_by_another(
    api: Api, organization: Founded, become: Become, workers: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = steps(KeyPurpose.SEAL_KEY)
    become(listed[0])
    workers.deliver()
    for number, (writer, reader) in enumerate(side_by_side(listed)):
        if number == 4:  # before `finish`
            become(listed[2])
            renew_seals(None)
            assert "seals were made anew.\nNothing is left" in capsys.readouterr().out
        become(writer)
        logs.grow(api, workers, organization)
        for process in (reader, writer):
            become(process)
            assert logs.finding(api, organization) == (None, None)
    first = logs.entry(organization, 1)
    logs.alter(first, tree_size=first["tree_size"] + 1)
    assert logs.finding(api, organization) == ("modified", 1)
