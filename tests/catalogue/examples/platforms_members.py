"""Examples of the operations on a platform's members."""

from typing import Final

from chalicelib.features.platforms.members.entities import PlatformMember
from tests.catalogue.examples.example import Example, Examples, example
from tests.catalogue.tenant_fixture import World, new, put


def _editor_example(world: World, body: dict[str, str] | None = None) -> Example:
    return example(body, platform_id=world.platform.id, user_id=world.people.editor.id)


EXAMPLES: Final[Examples] = {
    "list_platform_members": lambda world: example(platform_id=world.platform.id),
    "get_platform_member": _editor_example,
    "get_platform_member_by_user": _editor_example,
    "get_platform_member_by_username": lambda world: example(
        platform_id=world.platform.id, username=world.people.editor.username.upper()
    ),
    "update_platform_member": lambda world: _editor_example(world, {"role": "member"}),
    "remove_platform_member": _editor_example,
    "invite_to_platform": lambda world: example(
        {"email": "sophie@example.org", "role": "editor", "message": "Come and join us.", "expiresInDays": 3},
        platform_id=world.platform.id,
    ),
    "join_platform": lambda world: example(
        about=f"{world.club.path}/members/{world.people.member.id}", everybodys=True, platform_id=world.club.id
    ),
    "leave_platform": lambda world: example(
        only=world.people.editor,
        about=f"{world.platform.path}/members/{world.people.editor.id}",
        platform_id=world.platform.id,
    ),
}


def add_neighbours(world: World, count: int) -> None:
    """Add members to both platforms."""
    people = [world.people.issuer.person(f"guest-{n}", f"Guest {n}").user() for n in range(count)]
    for platform in (world.platform, world.club):
        place = {"organization_id": world.id, "platform_id": platform.id}
        common_fields = zip(new(count), people, strict=True)
        put(PlatformMember.create(beginning, user, "member", **place) for beginning, user in common_fields)
