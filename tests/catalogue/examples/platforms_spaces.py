"""Examples of the operations on spaces and on their members."""

from typing import Final

from chalicelib.features.platforms.spaces.entities import Space, SpaceMember
from tests.catalogue.examples.example import Example, ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records


def _editor_example(world: TenantFixture, body: dict[str, str] | None = None) -> Example:
    return example(body, space_id=world.space.id, user_id=world.people.editor.id)


EXAMPLES: Final[ExampleFactories] = {
    "create_space": lambda world: example({"platformId": world.platform.id, "name": "Mills", "slug": "mills"}),
    "update_space": lambda _: example({"name": "Jacquard looms", "position": 7}),
    "join_space": lambda world: example(subject_path=f"{world.space.path}/members/{world.people.member.id}"),
    "leave_space": lambda world: example(
        only_caller=world.people.editor, subject_path=f"{world.space.path}/members/{world.people.editor.id}"
    ),
    "get_space_member": _editor_example,
    "update_space_member": lambda world: _editor_example(world, {"role": "member"}),
    "remove_space_member": _editor_example,
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add spaces to the platform, and members to the space."""
    put_records(
        Space(
            **common_fields,
            organization_id=world.id,
            platform_id=world.platform.id,
            name=f"Room {n}",
            slug=f"room-{n}",
            position=n,
        )
        for n, common_fields in enumerate(new_records_fields(count))
    )
    people = [world.people.issuer.create_person(f"guest-{n}", f"Guest {n}").to_user() for n in range(count)]
    place = {"organization_id": world.id, "platform_id": world.platform.id, "space_id": world.space.id}
    put_records(
        SpaceMember.create(common_fields, user, "member", **place)
        for common_fields, user in zip(new_records_fields(count), people, strict=True)
    )
