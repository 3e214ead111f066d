"""What is stored of a space's member."""

from chalicelib.features.members.entities import WITH_MEMBER, Joined
from chalicelib.features.platform_members.entities import WITH_PLATFORM_MEMBER
from chalicelib.kernel.storage.entity import Collection


class SpaceMember(Joined):
    """A user's membership of a space."""

    kind, parameter, id_field = "space.member", "user_id", "user_id"
    pk, sk = "S#{space_id}", "M#{user_id}"
    of_user = Collection("US#{user_id}#{platform_id}", "{space_id}", index="index1")
    in_space = Collection("S#{space_id}#M", "{id}", index="index2")
    with_member = WITH_MEMBER
    with_platform_member = WITH_PLATFORM_MEMBER

    platform_id: str
    space_id: str
