"""What is stored of a platform's member."""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.members.entities import WITH_MEMBER, Departure, Joined
from chalicelib.kernel.changes import guard_key
from chalicelib.kernel.entity import Collection, Facet, Key, Unique
from chalicelib.kernel.person import Person
from chalicelib.kernel.tokens import MOST_CHARACTERS

WITH_PLATFORM_MEMBER: Final = Facet("P#{platform_id}#U#{user_id}", "facet2")
"""All that goes with a member of a platform: what they are in its spaces, and whom they have invited to it."""


class PlatformMember(Joined):
    """A user's membership of a platform. Usernames are told apart by more than the case of their letters."""

    kind, parameter, named_by = "platform.member", "user_id", "user_id"
    pk, sk = "P#{platform_id}", "M#{user_id}"
    of_user = Collection("UP#{user_id}", "{platform_id}", index="index1")
    in_platform = Collection("P#{platform_id}#M", "{id}", index="index2")
    with_member = WITH_MEMBER
    by_email = Facet("P#{platform_id}#E#{email}", "facet2")
    by_username = Unique(
        "platform-username#{platform_id}", "{folded_username}", taken="already_exists", field="username",
        advice="Change that of one of the two where they sign in, and use a new token.",
        holds=lambda member: member.username is not None, refers="user_id",
    )  # fmt: skip

    platform_id: str

    @property
    def folded_username(self) -> str:
        """The username as it is compared."""
        return folded(self.username or "")

    def without(self, person: Person) -> Mapping[str, Any] | None:
        """Return None if it is the person's; of another a username that names them goes, so that it is nobody's."""
        changed = super().without(person)
        return {**changed, "username": None} if changed and changed.get("username") else changed


class PlatformDeparture(Departure):
    """That somebody has left a platform, and with it its spaces."""

    kind = "platform.departure"
    pk, sk = "P#{platform_id}", "G#{user_id}"

    platform_id: str

    @property
    def below(self) -> Facet:
        """The index of what goes with them."""
        return WITH_PLATFORM_MEMBER


def folded(username: str) -> str:
    """Return a username as it is compared with others (Unicode, default caseless matching)."""
    return username.casefold()


def username_key(platform_id: str, username: str) -> list[Key]:
    """Return where it stands whose a username is at a platform; nowhere if it is too long to be anybody's."""
    if len(username) > MOST_CHARACTERS:
        return []
    said = {"platform_id": platform_id, "folded_username": folded(username)}
    return [guard_key(PlatformMember.by_username, said)]
