"""What is stored of a platform's member."""

from chalicelib.features.members.entities import Joined
from chalicelib.kernel.entity import Collection
from chalicelib.kernel.jobs import Job


class PlatformMember(Joined):
    """A user's membership of a platform."""

    kind, parameter, named_by = "platform.member", "user_id", "user_id"
    pk, sk = "P#{platform_id}", "M#{user_id}"
    of_user = Collection("UP#{user_id}", "{platform_id}", index="index1")
    in_platform = Collection("P#{platform_id}#M", "{id}", index="index2")

    platform_id: str


class PlatformDeparture(Job):
    """That somebody has left a platform: their memberships of its spaces from before hold no longer."""

    kind, task = "platform.departure", "platform_members.depart"
    pk, sk = "P#{platform_id}", "G#{user_id}"

    organization_id: str
    platform_id: str
    user_id: str
