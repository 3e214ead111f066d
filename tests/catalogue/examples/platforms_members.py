"""Examples of the operations on a platform's members."""

from typing import Final

from chalicelib.features.platforms.members.entities import PlatformMember
from tests.catalogue.examples.example import Example, ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records


def _editor_example(world: TenantFixture, body: dict[str, str] | None = None) -> Example:
    return example(body, platform_id=world.platform.id, user_id=world.people.editor.id)


EXAMPLES: Final[ExampleFactories] = {
    "get_platform_member": _editor_example,
    "get_platform_member_by_user": _editor_example,
    "get_platform_member_by_username": lambda world: example(username=world.people.editor.username.upper()),
    "update_platform_member": lambda world: _editor_example(world, {"role": "member"}),
    "remove_platform_member": _editor_example,
    "invite_to_platform": lambda _: example(
        {"email": "sophie@example.org", "role": "editor", "message": "Come and join us.", "expiresInDays": 3}
    ),
    "join_platform": lambda world: example(
        subject_path=f"{world.open_platform.path}/members/{world.people.member.id}",
        is_open_to_all_users=True,
        platform_id=world.open_platform.id,
    ),
    "leave_platform": lambda world: example(
        only_caller=world.people.editor, subject_path=f"{world.platform.path}/members/{world.people.editor.id}"
    ),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add members to both platforms."""
    people = [world.people.issuer.create_person(f"guest-{n}", f"Guest {n}").to_user() for n in range(count)]
    for platform in (world.platform, world.open_platform):
        place = {"organization_id": world.id, "platform_id": platform.id}
        common_fields = zip(new_records_fields(count), people, strict=True)
        put_records(PlatformMember.create(beginning, user, "member", **place) for beginning, user in common_fields)
