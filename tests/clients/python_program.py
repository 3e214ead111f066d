"""A program whose types are those that editors show. mypy checks it in its strict mode."""

import asyncio
from typing import Literal, assert_type

from atrium_client import AsyncAtrium, AsyncPageIterator, Atrium, PageIterator, models
from atrium_client.models import Member, MemberList, Organization
from atrium_client.webhooks import verify_webhook


def read(client: Atrium, organization_id: str) -> None:
    """Read records and lists."""
    organization = client.organizations.get(organization_id)
    assert_type(organization, Organization)
    assert_type(organization.etag, str | None)
    members = client.organizations.members.list(organization_id, limit=2)
    assert_type(members, PageIterator[MemberList, Member])
    assert_type(next(iter(members)), Member)
    assert_type(members.first_page().next_cursor, str | None)
    assert_type(client.organizations.audit_log.export(organization_id), str)


def change(client: Atrium, organization_id: str) -> None:
    """Change records, with nested models and null."""
    changed = client.organizations.update(organization_id, name="Looms", if_match='"1"')
    assert_type(changed, Organization)
    client.organizations.delete(organization_id)
    event = models.EventIn(type="invoice.approved", data={"total": 3}, occurred_at=None)
    client.organizations.events.create_batch(organization_id, events=[event], idempotency_key="k")
    client.organizations.invitations.create(organization_id, email="a@example.com", message=None)
    client.organizations.invitations.create(organization_id, email="a@example.com", role="boss")  # type: ignore[arg-type]
    client.organizations.invitations.create(organization_id)  # type: ignore[call-arg]
    client.organizations.invite(organization_id)  # type: ignore[attr-defined]


async def read_later(client: AsyncAtrium, organization_id: str) -> None:
    """Read records and lists."""
    assert_type(await client.organizations.get(organization_id), Organization)
    members = client.organizations.members.list(organization_id)
    assert_type(members, AsyncPageIterator[MemberList, Member])
    async for member in members:
        assert_type(member, Member)
    async for page in members.pages():
        assert_type(page, MemberList)
    assert_type(await members.first_page(), MemberList)


def receive(body: bytes, headers: dict[str, str]) -> None:
    """Read the record of an event, which its type names."""
    event = verify_webhook(body, headers, "whsec_")
    if event.type == "organization.member.updated":
        assert_type(event.data, Member)
    if event.type == "organization.person_erased":
        assert_type(event.type, Literal["organization.person_erased"])
        assert_type(event.data, models.Erasure)


def show_blocks(page: models.Page) -> None:
    """Tell the types of blocks apart."""
    for block in page.blocks:
        if block.type == "heading":
            assert_type(block, models.HeadingBlock)


async def main() -> None:
    """Run the program."""
    async with AsyncAtrium("https://api.example.com", token="t") as client:
        await read_later(client, "o1")


if __name__ == "__main__":
    asyncio.run(main())
