"""Examples of the operations on a space's members."""

from typing import Final

from chalicelib.features.space_members.entities import SpaceMember
from tests.catalogue.examples.example import Example, Examples, example
from tests.catalogue.tenant_fixture import World, new, put


def _of_editor(world: World, body: dict[str, str] | None = None) -> Example:
    return example(body, space_id=world.space.id, user_id=world.people.editor.id)


EXAMPLES: Final[Examples] = {
    "join_space": lambda world: example(
        about=f"{world.space.path}/members/{world.people.member.id}", space_id=world.space.id
    ),
    "leave_space": lambda world: example(
        only=world.people.editor, about=f"{world.space.path}/members/{world.people.editor.id}", space_id=world.space.id
    ),
    "list_space_members": lambda world: example(space_id=world.space.id),
    "get_space_member": _of_editor,
    "update_space_member": lambda world: _of_editor(world, {"role": "member"}),
    "remove_space_member": _of_editor,
}


def crowd(world: World, number: int) -> None:
    """Let so many more people be members of the space."""
    people = [world.people.issuer.person(f"guest-{n}", f"Guest {n}").user() for n in range(number)]
    place = {"organization_id": world.id, "platform_id": world.platform.id, "space_id": world.space.id}
    put(SpaceMember.made(begun, user, "member", **place) for begun, user in zip(new(number), people, strict=True))
