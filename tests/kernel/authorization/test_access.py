"""The records by which a caller is admitted, and the keys of memberships and of their revocations."""

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.authorization.memberships import MembershipView, membership_view_keys
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.access_epochs import EVERYONE
from chalicelib.kernel.permissions.roles import Role
from tests.harness.stored_records import new_id_and_time_fields

TIMESTAMP = "2026-11-20T09:30:00.000Z"
USER = User("4c1a2b5e-0000-4000-8000-000000000001", Profile("ada", "Ada"))


def create_organization(name):
    return Organization(**new_id_and_time_fields(TIMESTAMP), name=name, slug=name, owner_id=USER.id)


def test_a_caller_is_admitted_by_all_containers_and_their_own_memberships():
    outer, container, below = map(create_organization, ("outer", "container", "below"))
    member = Member(**new_id_and_time_fields(TIMESTAMP), organization_id=outer.id, user_id=USER.id, role=Role.MEMBER)
    access = Access(
        USER,
        container,
        memberships=MembershipView(memberships={Organization: member.item()}),
        ancestors={Organization: outer},
        descendants=(below,),
    )
    assert access.granting_records_by_subject == {EVERYONE: [outer, container, below, member], USER.id: [member]}
    assert access.outermost_container_pk == f"O#{outer.id}"
    assert (Access(USER).granting_records_by_subject, Access(USER).outermost_container_pk) == (
        {EVERYONE: [], USER.id: []},
        "",
    )


def test_memberships_and_revocations_are_in_the_partition_of_their_container():
    assert [*membership_view_keys("u", ("S#2", "#"), [("P#1", "#"), ("O#0", "#")])] == [
        ("S#2", "M#u"),
        ("P#1", "M#u"),
        ("P#1", "G#u"),
        ("O#0", "M#u"),
        ("O#0", "G#u"),
    ]
