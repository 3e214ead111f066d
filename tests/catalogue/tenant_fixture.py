"""The tenant in which the examples of all operations are called: an organization, and a rivals' organization."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item
from chalicelib.kernel.storage.writes import Write
from tests.harness import callers, research
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.channels import room
from tests.harness.clock import ago
from tests.harness.domains import came_to
from tests.harness.exports import begin_export
from tests.harness.invitations import Invited, accepts, invite
from tests.harness.leads import Inquiry, send
from tests.harness.menus import put_menu, to_page
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Room, Running, comes_in, furnish, make_space, run_platform, takes_part
from tests.harness.redirects import Signpost, redirect
from tests.harness.reference import load_few
from tests.harness.sites import Leaf, Published, edit, make_site, page_of
from tests.harness.stored_records import beginning
from tests.harness.taxonomy import Attached, Node, attach, plant_line
from tests.harness.webhooks import deliveries, hook
from tests.harness.workers import Workers


@dataclass(frozen=True)
class People:
    """The people of the tenant.

    `invited` has a pending invitation. `outsider` owns the rivals' organization and is a member of no other.
    """

    owner: Person
    admin: Person
    editor: Person
    member: Person
    invited: Person
    outsider: Person
    operator: Person
    issuer: Issuer

    def of_role(self, role: Role) -> Person:
        """Return the person who has a role in the organization."""
        person: Person = getattr(self, role.value)
        return person


@dataclass(frozen=True)
class Furnished(Founded):
    """An organization with one record for each path parameter."""

    api_key: callers.Caller
    invitation: Invited
    erasure_id: str
    export_id: str
    webhook_id: str
    delivery_id: str
    replay_id: str
    channel_id: str
    platform: Running
    space: Room
    club: Running
    node: Node
    attachment: Attached
    site: Published
    page: Leaf
    preview_token: str
    redirect: Signpost
    lead: Inquiry

    @classmethod
    def made(cls, api: Api, workers: Workers, owner: Person, name: str, invited: Person) -> "Furnished":
        """Create an organization and its records over HTTP."""
        created = found(api, owner, name=name)
        webhook = hook(api, created, "https://hooks.example.com/atrium", events=["organization.webhook.*"])
        channel = room(api, created, "https://hooks.slack.com/services/T0/B0/world", events=["organization.webhook.*"])
        workers.deliver()
        key = make_key(api, created, "api-keys:read", name="Inventory")
        invitation = invite(api, created, invited)
        erasure = api.post(f"{created.path}/erasures", as_=owner, json={"email": "long.gone@example.org"})
        (delivery,) = deliveries(api, webhook)
        replay = api.post(f"{webhook.path}/replay", as_=owner, json={"from": delivery["createdAt"]})
        platform = run_platform(api, created)
        came_to(platform, "failed", f"{name.lower()}.example.com")
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        site = make_site(api, created, slug=f"{created.record['slug']}-site")
        page = page_of(api, site, "Looms", below=page_of(api, site, "Welcome"))
        preview = api.get(f"{page.path}/preview", as_=owner)
        edit(api, page, title="All looms")
        organization = cls(
            created.record,
            owner,
            key,
            invitation,
            erasure.json["id"],
            begin_export(api, created).id,
            webhook.id,
            delivery["id"],
            replay.json["id"],
            channel.id,
            platform,
            make_space(api, platform),
            run_platform(api, created, published=True, name="Club", joinPolicy="open"),
            looms,
            attach(api, machines),
            site,
            page,
            preview.json["token"],
            redirect(api, site, "/old-looms/*", "/looms"),
            send(api, f"desk@{name.lower()}.example", message="Can it count to ten?"),
        )
        put_menu(api, site, to_page(page), menu=organization.navigation_id)
        furnish(
            api,
            organization.space,
            block=organization.project_block_id,
            capability=organization.capability_key,
            module=organization.module_id,
        )
        return organization

    @property
    def project_block_id(self) -> str:
        """The id of the project block of its platform."""
        return f"{self.record['slug']}-showcase"

    @property
    def capability_key(self) -> str:
        """The key of the capability of its space."""
        return f"{self.record['slug']}-chat"

    @property
    def module_id(self) -> str:
        """The id of the module that its space overrides."""
        return f"{self.record['slug']}-wiki"

    @property
    def navigation_id(self) -> str:
        """The id of the menu of its site."""
        return f"{self.record['slug']}-menu"

    @property
    def revision_id(self) -> str:
        """The id of the first revision of its page, which is published."""
        return self.page.draft_revision_id

    @property
    def webhook_path(self) -> str:
        """The path of its webhook."""
        return f"{self.path}/webhooks/{self.webhook_id}"

    @property
    def things(self) -> Mapping[str, str]:
        """The values of path parameters that name the organization and its records."""
        return {
            "organization_id": self.id,
            "slug": str(self.record["slug"]),
            "user_id": self.owner.id,
            "api_key_id": self.api_key.id,
            "invitation_id": self.invitation.id,
            "erasure_id": self.erasure_id,
            "export_id": self.export_id,
            "webhook_id": self.webhook_id,
            "delivery_id": self.delivery_id,
            "replay_id": self.replay_id,
            "channel_id": self.channel_id,
            "platform_id": self.platform.id,
            "space_id": self.space.id,
            "project_block_id": self.project_block_id,
            "capability_key": self.capability_key,
            "module_id": self.module_id,
            "taxonomy_node_id": self.node.id,
            "attachment_id": self.attachment.id,
            "site_id": self.site.id,
            "page_id": self.page.id,
            "revision_id": self.revision_id,
            "redirect_id": self.redirect.id,
            "navigation_id": self.navigation_id,
            "lead_id": self.lead.id,
        }


@dataclass
class World:
    """An organization with a member of each role, and a rivals' organization. Both were created some minutes ago."""

    api: Api
    workers: Workers
    people: People
    organization: Furnished
    rivals: Furnished

    @classmethod
    def made(cls, api: Api, workers: Workers, people: People) -> "World":
        """Create the organizations over HTTP, and process all their tasks."""
        with ago(minutes=3):
            organization = Furnished.made(api, workers, people.owner, "Bletchley", people.invited)
            rivals = Furnished.made(api, workers, people.outsider, "Rivals", people.invited)
            for role in (Role.ADMIN, Role.EDITOR, Role.MEMBER):
                person = people.of_role(role)
                accepts(api, invite(api, organization, person, role=role), person)
            takes_part(organization.platform, people.editor, Role.EDITOR)
            comes_in(organization.space, people.editor, Role.EDITOR)
            put(research.standing(people.owner))
            workers.settle()
        load_few()
        with ago(minutes=1):
            workers.settle()  # An erasure continues after a minute.
        return cls(api, workers, people, organization, rivals)

    @property
    def id(self) -> str:
        """The organization's id."""
        return self.organization.id

    @property
    def slug(self) -> str:
        """The organization's slug."""
        return self.organization.things["slug"]

    @property
    def api_key(self) -> callers.Caller:
        """The organization's API key."""
        return self.organization.api_key

    @property
    def invitation(self) -> Invited:
        """The organization's invitation."""
        return self.organization.invitation

    @property
    def platform(self) -> Running:
        """The organization's platform."""
        return self.organization.platform

    @property
    def club(self) -> Running:
        """Another platform of the organization, which all users can join."""
        return self.organization.club

    @property
    def space(self) -> Room:
        """The space in the platform."""
        return self.organization.space

    @property
    def site(self) -> Published:
        """The organization's published site."""
        return self.organization.site

    @property
    def page(self) -> Leaf:
        """A published page of the site, whose draft has changed since."""
        return self.organization.page

    @property
    def lead(self) -> Inquiry:
        """The lead that the organization sent to the operators."""
        return self.organization.lead

    def met(self) -> None:
        """Fill the caches of the process with the ancestors of all containers and of records with global ids."""
        nodes = (self.organization.node, self.organization.attachment.node)
        container_paths = (self.platform.path, self.space.path, self.club.path, self.site.path)
        for path in (*container_paths, *(node.path for node in nodes)):
            assert self.api.get(path, as_=self.people.owner).status == 200
        assert self.api.get("/sites/resolve", query={"host": self.site.record["host"]}).status == 200

    def rivals_own(self, parameter: str) -> str:
        """Return the value of a path parameter that names a record of the rivals."""
        assert parameter in self.rivals.things, f"add a record for {parameter} to tests/catalogue/tenant_fixture.py"
        return self.rivals.things[parameter]

    def entitled(self, operation: Operation) -> Person | None:
        """Return the least privileged caller of an operation, or None if it is anonymous."""
        if operation.allows_anonymous:
            return None
        if isinstance(operation.access, RequireRole):
            return self.people.of_role(operation.access.role or Role.MEMBER)
        return self.people.operator if operation.access is Caller.OPERATOR else self.people.owner

    def key(self, *scopes: str, **fields: Any) -> callers.Caller:
        """Create an API key of the organization."""
        return make_key(self.api, self.organization, *scopes, **fields)


def new(number: int) -> list[dict[str, Any]]:
    """Return the common fields of a number of new records."""
    timestamp = now()
    return [beginning(timestamp) for _ in range(number)]


def put(records: Iterable[Entity]) -> None:
    """Write records into the table without operations, as neighbours of the records that tests use."""
    put_items(record.item() for record in records)


def put_items(items: Iterable[Item]) -> None:
    """Write items into the table."""
    writes = [Write("Put", (item["pk"], item["sk"]), item=item) for item in items]
    for start in range(0, len(writes), _BATCH_SIZE):
        table.write_transaction(writes[start : start + _BATCH_SIZE])


_BATCH_SIZE: Final = table.MAX_TRANSACT_ITEMS
