"""Tokens and cursors of the service's own: each opens what it was made for, and with anything altered nothing."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64, to_base64url
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.conftest import Configure
from tests.harness.api import Answer
from tests.harness.invitations import invite

Opening = Callable[[World, str], Answer]


def previewed(world: World, token: str) -> Answer:
    return world.api.get(f"{world.page.path}/preview-public", query={"token": token})


def sent(world: World, token: str) -> Answer:
    return world.api.get(f"/public/leads/{world.lead.id}", headers={"Lead-Token": token})


def invited(world: World, token: str) -> Answer:
    return world.api.get("/organizations/invitations/acceptance", query={"token": token})


def listed(world: World, token: str) -> Answer:
    path = f"{world.organization.path}/members"
    return world.api.get(path, as_=world.people.owner, query={"limit": 1, "cursor": token})


OPENINGS: Final[dict[str, tuple[Opening, str]]] = {
    "preview": (previewed, "404 not_found"),
    "lead": (sent, "401 unauthenticated"),
    "invitation": (invited, "404 not_found"),
    "cursor": (listed, "400 invalid_cursor"),
}
"""What takes each kind of token, and what it says to one that is none."""
MALFORMED: Final = "422 validation_failed"
by_kind = pytest.mark.parametrize("kind", OPENINGS)


def tokens(world: World) -> dict[str, str]:
    """Give one of each kind."""
    owner, path = world.people.owner, f"{world.organization.path}/members"
    link = invite(world.api, world.organization, "kate@example.org").record["acceptUrl"]
    return {
        "preview": world.api.get(f"{world.page.path}/preview", as_=owner).json["token"],
        "lead": world.lead.token,
        "invitation": link.partition("token=")[2],
        "cursor": world.api.get(path, as_=owner, query={"limit": 1}).json["nextCursor"],
    }


def one_bit_each(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with one bit of one byte altered: each byte, and not always the same bit."""
    for at in range(len(data)):
        yield data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


@by_kind
class TestToken:
    def test_grants_access_to_its_record(self, kind: str, world: World, begin: Begin) -> None:
        token = begin(tokens)[kind]
        assert OPENINGS[kind][0](world, token).status == 200

    def test_token_with_any_altered_byte_is_rejected(self, kind: str, world: World, begin: Begin) -> None:
        token = begin(tokens)[kind]
        open_, refusal = OPENINGS[kind]
        assert {open_(world, to_base64url(each)).code for each in one_bit_each(from_base64url(token))} == {refusal}

    def test_truncated_and_extended_tokens_are_rejected(self, kind: str, world: World, begin: Begin) -> None:
        token = begin(tokens)[kind]
        open_, refusal = OPENINGS[kind]
        others = [token[:end] for end in range(1, len(token), 3)]
        others += [f"{token}A", f"{token}=", f"{token}.", f" {token[1:]}", token * 20]
        assert {open_(world, other).code for other in others} <= {refusal, MALFORMED}

    def test_token_of_another_kind_is_rejected(self, kind: str, world: World, begin: Begin) -> None:
        given = begin(tokens)
        open_, refusal = OPENINGS[kind]
        assert {open_(world, token).code for other, token in given.items() if other != kind} <= {refusal, MALFORMED}

    def test_token_is_not_a_credential(self, kind: str, world: World, begin: Begin) -> None:
        token = begin(tokens)[kind]
        for path in ("/organizations", "/status", world.page.path):
            assert world.api.get(path, as_=token).code == "401 unauthenticated"


# That of an invitation is known by its hash, which is stored.
@pytest.mark.parametrize("kind", ["preview", "lead", "cursor"])
def test_token_signed_with_another_key_is_rejected(
    kind: str, world: World, begin: Begin, configure: Configure
) -> None:
    token = begin(tokens)[kind]
    configure(token_key=to_base64(b"another key of thirty-two bytes."))
    open_, refusal = OPENINGS[kind]
    assert open_(world, token).code == refusal


class TestForeignToken:
    def test_token_of_another_tenant_is_rejected(self, world: World) -> None:
        other = world.rivals
        assert previewed(world, other.preview_token).code == "404 not_found"
        assert sent(world, other.lead.token).code == "404 not_found"
        theirs = world.api.get(f"{other.path}/audit-log", as_=other.owner, query={"limit": 1}).json["nextCursor"]
        mine = world.api.get(f"{world.organization.path}/audit-log", as_=world.people.owner, query={"cursor": theirs})
        assert mine.code == "400 invalid_cursor"

    def test_revoked_tokens_are_rejected(self, world: World, begin: Begin) -> None:
        given = begin(tokens)
        owner = world.people.owner
        assert world.api.patch(world.page.path, as_=owner, json={"revokePreviews": True}).status == 200
        assert previewed(world, given["preview"]).code == "404 not_found"
        pending = world.api.items(f"{world.organization.path}/invitations", as_=owner)
        (its_id,) = [each["id"] for each in pending if each["email"] == "kate@example.org"]
        assert world.api.delete(f"{world.organization.path}/invitations/{its_id}", as_=owner).status == 204
        assert invited(world, given["invitation"]).code == "410 invitation_revoked"
